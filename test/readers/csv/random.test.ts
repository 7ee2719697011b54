import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from '@jest/globals';
import { seededRandom, type Random } from '../../random.js';
import { compressBgzf } from '../source/bgzf.js';
import { naiveRecordsOf, parseRowsByCsvParse } from './oracle.js';
import { byTier, caseCountByTier } from '../../tier.js';
import { importFile, type SourceImport } from '../import-source.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-csv-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** Number of random files, which STRANDLAKE_CASES can set. */
const fileCount = caseCountByTier(20, 2_000);

function randomBelow(next: Random, limit: number): number {
  return Math.floor(next() * limit);
}

function pickRandom<T>(next: Random, values: readonly T[]): T {
  return values[randomBelow(next, values.length)]!;
}

async function importText(
  text: Buffer,
  params: Record<string, unknown>,
  targetBytes: number,
  layer = 0,
) {
  const packings = [
    () => text,
    () => gzipSync(text),
    () => compressBgzf(text, 1 + (targetBytes % 3000)),
  ];
  writeFileSync(join(folder, 'random'), packings[layer]!());
  return importFile(join(folder, 'random'), 'random.csv', 'csv', { params, targetBytes });
}

const textCells = [
  'x',
  'abc',
  ' ',
  'é',
  '日本',
  '#',
  '# no',
  'a b',
  'NA',
  'nan',
  '-',
  '1-2',
  '"',
  '""',
];
const breakingCells = ['a,b', 'a\nb', 'a\r\nb', '\r', '\n', 'say "hi"', ',', ';', '|', 'a¦b'];
const numberCells = [
  '0',
  '-0',
  '007',
  '1.50',
  '12345678901234567890',
  '.5',
  '5.',
  '1e-7',
  '+3',
  '-2.25',
  ' 7 ',
];

interface RandomTable {
  readonly text: Buffer;
  readonly params: Record<string, unknown>;
  readonly delimiter: string;
  readonly rows: readonly string[][];
}

/** Returns a random well-formed table, about half of whose columns have mostly numbers; cells are written in any of the allowed ways. */
function randomTable(next: Random): RandomTable {
  const delimiter = pickRandom(next, [',', ',', ',', ';', '\t', '|', '¦']);
  const width = 1 + randomBelow(next, 6);
  const kinds = Array.from({ length: width }, () => next());
  const cell = (k: number): string => {
    const roll = next();
    if (roll < 0.15) return '';
    if (kinds[k]! < 0.5 && roll < 0.97) return pickRandom(next, numberCells);
    return pickRandom(next, roll < 0.5 ? numberCells : roll < 0.8 ? textCells : breakingCells);
  };
  const rows = Array.from({ length: 1 + randomBelow(next, 40) }, () =>
    Array.from({ length: width }, (_, k) => cell(k)),
  );
  const lineEnd = pickRandom(next, ['\n', '\r\n', '\r', 'any']);
  const pickLineEnd = () => (lineEnd === 'any' ? pickRandom(next, ['\n', '\r\n', '\r']) : lineEnd);
  let text = next() < 0.2 ? '\ufeff' : '';
  for (const [i, row] of rows.entries()) {
    if (next() < 0.1) text += pickLineEnd();
    if (next() < 0.1)
      text += `#${pickRandom(next, ['', ' "', `a${delimiter}"b`, ` it's`])}${pickLineEnd()}`;
    const line = row.map((one, k) => cellText(next, one, delimiter, width === 1 || k === 0));
    text += line.join(delimiter);
    if (i < rows.length - 1 || next() < 0.7) text += pickLineEnd();
  }
  return { text: Buffer.from(text), params: { delimiter, comment: '#' }, delimiter, rows };
}

/** Writes a cell: in quotes if they are required, and sometimes if they are not. */
function cellText(next: Random, cell: string, delimiter: string, isFirst: boolean): string {
  const mustQuote =
    cell.includes(delimiter) || /["\r\n]/.test(cell) || (isFirst && /^(?:#|$)/.test(cell));
  return mustQuote || next() < 0.2 ? `"${cell.replaceAll('"', '""')}"` : cell;
}

// F8: for well-formed files, there are no differences from csv-parse.
test(`well-formed files are read as csv-parse reads them, however they are split (seed ${seed})`, async () => {
  const next = seededRandom(seed);
  for (let round = 0; round < fileCount; round++) {
    const { text, params, delimiter, rows } = randomTable(next);
    const parsedRows = parseRowsByCsvParse(text, delimiter);
    expect(parsedRows).toEqual(rows.filter((row) => row.length > 0));
    const expectedRecords = naiveRecordsOf(parsedRows[0] ?? [], parsedRows.slice(1));
    const { error, ...importResult } = await importText(
      text,
      params,
      1 + randomBelow(next, 300),
      randomBelow(next, 3),
    );
    expect([error, JSON.stringify(text.toString())]).toEqual([null, expect.anything()]);
    expect(importResult.rows.map((row) => ({ ...row }))).toEqual(expectedRecords);
    expect(importResult.findings.examples.filter(({ code }) => code !== 304)).toEqual([]);
  }
});

function comparableImport(read: SourceImport): unknown {
  return { ...read, chunks: 0, rewritten: 0 };
}

/** Number of random texts, which may be malformed. */
const randomTextCount = byTier(10, 600);

// F6, F15: any text, split anywhere and compressed in any way, gives the same records, errors and warnings.
test(`any split of any text gives the same records (seed ${seed})`, async () => {
  const next = seededRandom(seed + 1);
  const pieces = [
    '"',
    '"',
    '"',
    ',',
    ',',
    '\n',
    '\n',
    '\r',
    '\r\n',
    '#',
    'a',
    '1',
    '2.5',
    '""',
    '\n"',
    '",',
    '§',
  ];
  const oddBytes = [Buffer.from([0xff]), Buffer.from([0xe2, 0x82]), Buffer.from('€')];
  let rejectedCount = 0;
  // While fewer than a twelfth of `randomTextCount` texts are rejected, further texts are generated, up to 500 in all.
  const leastRejected = Math.ceil(randomTextCount / 12);
  for (
    let round = 0;
    round < randomTextCount || (rejectedCount < leastRejected && round < 500);
    round++
  ) {
    const parts = Array.from({ length: randomBelow(next, 120) }, () =>
      next() < 0.04 ? pickRandom(next, oddBytes) : Buffer.from(pickRandom(next, pieces)),
    );
    const text = Buffer.concat(parts);
    const params: Record<string, unknown> = {
      ...(next() < 0.2 && { delimiter: '§' }),
      ...(next() < 0.1 && { quotechar: '§', delimiter: ',' }),
      ...(next() < 0.1 && { quotechar: '' }),
      ...(next() < 0.2 && { comment: pickRandom(next, ['', '"', 'a', '##']) }),
      ...(next() < 0.3 && { header: pickRandom(next, [null, 0, 1]) }),
      ...(next() < 0.3 && {
        skiprows: Array.from({ length: randomBelow(next, 9) }, () => randomBelow(next, 30)),
      }),
      ...(next() < 0.2 && { skipcols: [randomBelow(next, 3)] }),
    };
    const wholeRead = await importText(text, params, 1 << 20);
    if (wholeRead.findings.errors > 0) rejectedCount++;
    for (const targetBytes of [1, 1 + randomBelow(next, 60)]) {
      const cutRead = await importText(text, params, targetBytes, randomBelow(next, 3));
      const caseText = JSON.stringify([text.toString('latin1'), params, targetBytes]);
      expect([caseText, comparableImport(cutRead)]).toEqual([
        caseText,
        comparableImport(wholeRead),
      ]);
    }
  }
  expect(rejectedCount).toBeGreaterThanOrEqual(leastRejected);
});

// F5: tests bytes that are not UTF-8, at every position in a chunk.
test('invalid bytes give the same records for every split', async () => {
  const line = (i: number) =>
    Buffer.concat([Buffer.from(`${i},caf`), damagedSequences[i % 5]!, Buffer.from('x,é€𝄞\n')]);
  const damagedSequences = [
    [0xe9],
    [0xe2, 0x82],
    [0xf0, 0x9d, 0x84],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
  ].map((bytes) => Buffer.from(bytes));
  const text = Buffer.concat([
    Buffer.from('n,t,u\n'),
    ...Array.from({ length: 60 }, (_, i) => line(i)),
  ]);
  const wholeRead = await importText(text, {}, 1 << 20);
  expect(wholeRead.rows[1]).toEqual({ n: 1, t: 'cafâ‚x', u: 'é€𝄞' });
  expect(wholeRead.findings).toMatchObject({
    warnings: 60,
    examples: [{ line: 2, field: 't', count: 60 }],
  });
  for (let targetBytes = 1; targetBytes < 400; targetBytes += byTier(31, 1))
    expect(comparableImport(await importText(text, {}, targetBytes))).toEqual(
      comparableImport(wholeRead),
    );
});
