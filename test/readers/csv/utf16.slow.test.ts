import { describe, expect, test } from '@jest/globals';
import { readerNamed } from '../../../readers/index.js';
import { detectUtf16, utf16ToUtf8, type Utf16ByteOrder } from '../../../readers/source/utf16.js';
import { seededRandom } from '../../random.js';
import { importSource, importErrorMessage } from '../import-source.js';
import { seed } from '../../seed.js';

const compressionLayers = ['plain', 'gzip', 'bgzf'] as const;
const byteOrders: readonly Utf16ByteOrder[] = ['utf-16le', 'utf-16be'];
const utf16Warning = 'the text is UTF-16 and was decoded: reader_params.encoding declares it';

function encodeText(text: string, order: Utf16ByteOrder): Buffer {
  const bytes = Buffer.from(text, 'utf16le');
  return order === 'utf-16le' ? bytes : bytes.swap16();
}

const tableText =
  'name,n,note\r\n' +
  Array.from({ length: 300 }, (_, i) => `café ${i},${i / 4},"日本 😀\r\n${i}"\r\n`).join('');

describe.each(byteOrders)('%s', (order) => {
  test.each<[string, string, Record<string, unknown>, readonly string[]]>([
    ['a byte order mark', '\ufeff', {}, [utf16Warning]],
    ['its zeros', '', {}, [utf16Warning]],
    ['the request', '', { encoding: order }, []],
    [
      'the request, in another notation',
      '\ufeff',
      { encoding: order.toUpperCase().replace('-', '') },
      [],
    ],
    ['a mark and the request', '\ufeff', { encoding: 'UTF-16' }, []],
  ])(
    'text told by %s is read as UTF-8 is, however it is packed and split',
    async (_, mark, params, warnings) => {
      const expectedRead = await importSource(tableText, 'csv');
      expect(expectedRead.rows[7]).toEqual({ name: 'café 7', n: 1.75, note: '日本 😀\r\n7' });
      const bytes = encodeText(mark + tableText, order);
      for (const layer of compressionLayers)
        for (const targetBytes of [1, 777, 1 << 20]) {
          const utf16Read = await importSource(bytes, 'csv', { params, layer, targetBytes });
          expect([utf16Read.error, utf16Read.warnings]).toEqual([null, warnings]);
          expect([utf16Read.rows, utf16Read.columns, utf16Read.findings]).toEqual([
            expectedRead.rows,
            expectedRead.columns,
            expectedRead.findings,
          ]);
        }
    },
  );

  test('text larger than the pieces in which it is read is split', async () => {
    const rows = Array.from(
      { length: 40_000 },
      (_, i) => `é${i},"😀\r\n${i}${'x'.repeat(i % 60)}"\n`,
    );
    const text = `a,b\n${rows.join('')}`;
    const expectedRead = await importSource(text, 'csv');
    for (const layer of compressionLayers) {
      const utf16Read = await importSource(encodeText(text, order), 'csv', {
        layer,
        targetBytes: 100_000,
      });
      expect(utf16Read.chunks).toBeGreaterThan(2);
      expect([utf16Read.error, utf16Read.findings]).toEqual([null, expectedRead.findings]);
      expect(JSON.stringify(utf16Read.rows) === JSON.stringify(expectedRead.rows)).toBe(true);
    }
  });

  test('what is not UTF-16 becomes U+FFFD, with a warning', async () => {
    const bytesWithLoneSurrogate = Buffer.concat([
      encodeText('a,b\nx', order),
      encodeText('\ud83d', order),
      encodeText('y,2\n', order),
    ]);
    const cutBytes = Buffer.concat([encodeText('a,b\nx,y', order), Buffer.of(0x41)]);
    for (const [bytes, cell] of [
      [bytesWithLoneSurrogate, { a: 'x\ufffdy', b: 2 }],
      [cutBytes, { a: 'x', b: 'y\ufffd' }],
    ] as const) {
      const { rows, warnings, error } = await importSource(bytes, 'csv');
      expect([error, rows, warnings]).toEqual([
        null,
        [cell],
        [utf16Warning, 'bytes that are not UTF-16 were replaced by U+FFFD'],
      ]);
    }
  });

  test(`is decoded the same in any pieces (seed ${seed})`, async () => {
    const next = seededRandom(seed);
    const bytes = encodeText('a😀é\n'.repeat(50), order);
    for (let round = 0; round < 200; round++) {
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length;) {
        const size = Math.floor(next() * 6);
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      const decodedPieces: Uint8Array[] = [];
      const source = (async function* () {
        yield* pieces;
      })();
      for await (const piece of utf16ToUtf8(source, order, () => expect('damaged').toBe('')))
        decodedPieces.push(piece);
      expect(Buffer.concat(decodedPieces).toString()).toBe('a😀é\n'.repeat(50));
    }
  });

  test('a quote that nothing closes is an error with its line', async () => {
    const { error } = await importSource(encodeText('\ufeffa,b\n1,2\n3,"x\n', order), 'csv');
    expect(error).toContain('line 3: a quote that is opened here is never closed');
  });

  test('readers of other formats refuse it', async () => {
    for (const reader of ['json', 'vcf', 'gff3', 'bed'])
      expect(await importErrorMessage(encodeText('\ufeff##x\n', order), reader)).toContain(
        'this is UTF-16 text',
      );
  });
});

test('UTF-8 is not taken for UTF-16, nor UTF-16 for Latin-1 when that is declared', async () => {
  for (const text of [
    '',
    'a',
    'a\0',
    'a\nx\0y\n',
    '日本,語\n'.repeat(99),
    'a,b\n' + '1,\0\n'.repeat(50),
    '\0'.repeat(40),
  ])
    expect([text, detectUtf16(Buffer.from(text))]).toEqual([text, undefined]);
  expect(detectUtf16(encodeText('name,日本\nx,年\n', 'utf-16be'))).toBe('utf-16be');
  expect(
    await importErrorMessage(encodeText('\ufeffa,b\n', 'utf-16le'), 'csv', { encoding: 'latin-1' }),
  ).toContain('this is UTF-16 text');
  expect(() => readerNamed('csv').params({ encoding: 'utf-16xe' })).toThrow('encoding: expected');
  expect(await importErrorMessage(Buffer.of(0xff, 0xfe, 0, 0, 0x61, 0, 0, 0), 'csv')).toContain(
    'UTF-32',
  );
});
