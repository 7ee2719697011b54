import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { loadChunk, releaseChunk } from '../../../readers/source/load-chunk.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import { openSource } from '../../../readers/source/open-source.js';
import { compressBgzf } from './bgzf.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-source-'));
afterAll(() => rmSync(folder, { recursive: true }));

function writeSourceFile(bytes: string | Uint8Array): string {
  const path = join(folder, 'source');
  writeFileSync(path, bytes);
  return path;
}

/** Returns the bytes of a chunk, whose buffer is released for the next one. */
async function readChunk(ref: ChunkRef): Promise<Buffer> {
  const bytes = await loadChunk(ref);
  const copy = Buffer.from(bytes);
  releaseChunk(ref, bytes);
  return copy;
}

/** Returns the decompressed text after `bodyOffset` as Latin-1, whole and by chunk, and the compression and warnings of the source. */
async function readBody(path: string, bodyOffset = 0, targetBytes = 1000) {
  const source = await openSource(path, 'it.vcf');
  try {
    const pieces: string[] = [];
    for await (const { ref } of source.chunks(bodyOffset, targetBytes)) {
      const text = (await readChunk(ref)).toString('latin1');
      if (text !== '') pieces.push(text);
    }
    return { text: pieces.join(''), pieces, layer: source.compression, warnings: source.warnings };
  } finally {
    await source.close();
  }
}

/** Number of random splits, which STRANDLAKE_CASES can set. */
const splitCount = Number(process.env['STRANDLAKE_CASES'] ?? 10_000);
/** Number of positions at which each real file is cut. */
const cutCount = 150;
let randomState = seed;
function randomBelow(limit: number): number {
  randomState = (Math.imul(randomState, 1664525) + 1013904223) >>> 0;
  return Math.floor((randomState / 2 ** 32) * limit);
}

describe('chunks', () => {
  test(`are whole lines and together the body, for any chunk size (seed ${seed}) (F6)`, async () => {
    for (let round = 0; round < splitCount; round++) {
      const lines = Array.from({ length: randomBelow(60) }, () =>
        'x'.repeat(randomBelow(10) === 0 ? randomBelow(4000) : randomBelow(40)),
      );
      const text = lines.join('\n') + (randomBelow(2) === 0 ? '\n' : '');
      const header = randomBelow(2) === 0 ? '' : '##'.repeat(randomBelow(500)) + '\n';
      const wholeFile = Buffer.from(header + text);
      const compressionLayers = [
        () => wholeFile,
        () => gzipSync(wholeFile),
        () => compressBgzf(wholeFile, 1 + randomBelow(3000)),
      ];
      const body = await readBody(
        writeSourceFile(compressionLayers[randomBelow(3)]!()),
        header.length,
        1 + randomBelow(5000),
      );
      expect(body.text).toBe(text);
      for (const piece of body.pieces.slice(0, -1)) expect(piece.endsWith('\n')).toBe(true);
    }
  });

  // The text has damaged bytes and multi-byte characters at every position where a chunk may end; chunks end only at line ends, so no
  // character is split.
  test('split at any offset contain every line unchanged (F5)', async () => {
    const line = (i: number) =>
      Buffer.from([0x69, 0x20, 0xe2, 0x82, 0xac, 0xff, 48 + (i % 10), 10]);
    const text = Buffer.concat(Array.from({ length: 9_000 }, (_, i) => line(i)));
    const path = writeSourceFile(text);
    const common = { kind: 'range', name: 'it', file: path, skip: 0 } as const;
    // The step between the tested offsets is coprime to the length of a line, so that every offset within a line occurs.
    const step = 7;
    for (let at = 1; at < 65_536; at += step) {
      const firstChunk = await readChunk({ ...common, from: 0, to: at, isFirst: true });
      const secondChunk = await readChunk({ ...common, from: at, to: text.length, isFirst: false });
      expect([at, firstChunk.at(-1)]).toEqual([at, 10]);
      if (!Buffer.concat([firstChunk, secondChunk]).equals(text)) throw new Error(`cut at ${at}`);
    }
  });

  // A chunk is read together with up to 64 kB that follow it. The chunk's last line may end before, at or after the end of these bytes, or
  // with the file.
  test.each([65_534, 65_535, 65_536, 65_537, 300_000])(
    'a line that goes on for %i bytes behind its piece is whole',
    async (tail) => {
      for (const rest of ['\nnext\n', '\n', '']) {
        const text = `first\n${'x'.repeat(10 + tail)}${rest}`;
        const path = writeSourceFile(text);
        const common = { kind: 'range', name: 'it', file: path, skip: 0 } as const;
        const firstChunk = await readChunk({ ...common, from: 0, to: 16, isFirst: true });
        const secondChunk = await readChunk({
          ...common,
          from: 16,
          to: text.length,
          isFirst: false,
        });
        expect(firstChunk.length).toBe(16 + tail + Math.min(1, rest.length));
        expect(Buffer.concat([firstChunk, secondChunk]).toString()).toBe(text);
      }
    },
  );

  test('are the same when requested again', async () => {
    const text = Buffer.from('a line of text\n'.repeat(5000));
    for (const bytes of [text, gzipSync(text), compressBgzf(text)]) {
      const source = await openSource(writeSourceFile(bytes), 'it.vcf');
      const firstRefs = [];
      const secondRefs = [];
      for await (const { ref } of source.chunks(15, 5000)) firstRefs.push(ref);
      for await (const { ref } of source.chunks(15, 5000)) secondRefs.push(ref);
      expect(secondRefs).toEqual(firstRefs);
      await source.close();
    }
  });

  test('many gzip members are one text, including empty ones (F3)', async () => {
    const members = Array.from({ length: 50 }, (_, i) =>
      gzipSync(i % 3 === 0 ? '' : `line ${i}\n`),
    );
    const expectedText = Array.from({ length: 50 }, (_, i) =>
      i % 3 === 0 ? '' : `line ${i}\n`,
    ).join('');
    expect((await readBody(writeSourceFile(Buffer.concat(members)))).text).toBe(expectedText);
  });

  test('a byte order mark is dropped (F4)', async () => {
    const text = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('a\nb\n')]);
    for (const bytes of [text, gzipSync(text), compressBgzf(text)])
      expect((await readBody(writeSourceFile(bytes))).text).toBe('a\nb\n');
  });

  test('an empty file has no chunks (F4)', async () => {
    expect((await readBody(writeSourceFile(''))).pieces).toEqual([]);
  });
});

describe('damage', () => {
  const text = Buffer.from(
    Array.from({ length: 20_000 }, (_, i) => `line ${i} ${i * 7919}\n`).join(''),
  );

  test(`every truncation of a gzip file is an error, never fewer lines (seed ${seed}) (F2)`, async () => {
    for (const bytes of [gzipSync(text), compressBgzf(text)]) {
      for (let round = 0; round < 40; round++) {
        const cutAt = 20 + randomBelow(bytes.length - 60);
        const shortBytes = bytes.subarray(0, cutAt);
        // If a BGZF file is cut exactly between two blocks, only the missing end block shows it.
        const outcome = await readBody(writeSourceFile(shortBytes), 0, 50_000).then(
          ({ warnings }) => warnings.join(),
          (error: Error) => error.message,
        );
        expect(outcome).toMatch(/ends early|damaged|end block is missing/);
      }
    }
  });

  const realFiles = [
    ...[
      'clinvar_grch37_2019',
      'clinvar_grch38',
      'trio_str',
      'trio_sv_csq',
      'exac_csq',
      'gnomad_csq',
    ].map((name) => `vcf/${name}.vcf.gz`),
    ...['ensembl_grch37_head', 'example_comments', 'comments_between_rows'].map(
      (name) => `gtf/${name}.gtf.gz`,
    ),
    'csv/tcga_brca.maf.gz',
  ];

  test.each(realFiles)(
    `%s, truncated at ${cutCount} positions, never loses a line without an error (F2)`,
    async (name) => {
      const bytes = readFileSync(`test/fixtures/${name}`);
      const { text: wholeText } = await readBody(writeSourceFile(bytes));
      for (let i = 0; i < cutCount; i++) {
        const cutAt = Math.max(20, Math.floor((bytes.length * i) / cutCount));
        const outcome = await readBody(writeSourceFile(bytes.subarray(0, cutAt)), 0, 50_000).catch(
          (error: Error) => error.message,
        );
        if (typeof outcome === 'string') expect(outcome).toMatch(/^it\.vcf: /);
        else if (outcome.text !== wholeText || outcome.layer !== 'bgzf')
          expect([cutAt, outcome.warnings.join()]).toEqual([
            cutAt,
            expect.stringContaining('end block is missing'),
          ]);
      }
    },
  );

  test('a flipped bit is an error, but in bytes that no checksum covers and that mean nothing (F2)', async () => {
    let errors = 0;
    for (const bytes of [gzipSync(text), compressBgzf(text)]) {
      for (let round = 0; round < 40; round++) {
        const damagedBytes = Buffer.from(bytes);
        const at = 30 + randomBelow(bytes.length - 80);
        damagedBytes[at]! ^= 1 << randomBelow(8);
        // Some bits do not affect the text, such as those of the time in a block's header.
        const outcome = await readBody(writeSourceFile(damagedBytes), 0, 50_000).catch(
          (error: unknown) => error as Error,
        );
        if (outcome instanceof Error) expect(outcome.message).toMatch(/^it\.vcf: /);
        else expect(outcome.text === text.toString()).toBe(true);
        errors += outcome instanceof Error ? 1 : 0;
      }
    }
    expect(errors).toBeGreaterThan(70);
  });

  test('zero padding is accepted, other bytes after the end are not (F2)', async () => {
    for (const bytes of [gzipSync(text), compressBgzf(text)]) {
      const zeros = Buffer.concat([bytes, Buffer.alloc(5000)]);
      expect((await readBody(writeSourceFile(zeros), 0, 50_000)).text).toBe(text.toString());
      const rubbish = Buffer.concat([bytes, Buffer.from('rubbish at the end of the file')]);
      await expect(readBody(writeSourceFile(rubbish), 0, 50_000)).rejects.toThrow(/it\.vcf: /);
    }
  });

  test('a missing BGZF end block is a warning (F2)', async () => {
    const body = await readBody(writeSourceFile(compressBgzf(text, 60_000, false)), 0, 50_000);
    expect(body.text).toBe(text.toString());
    expect(body.warnings).toEqual([expect.stringContaining('end block is missing')]);
    expect((await readBody(writeSourceFile(compressBgzf(text)), 0, 50_000)).warnings).toEqual([]);
  });

  test('the error of a real truncated file names the file and the cause (F2)', async () => {
    const bytes = readFileSync('test/fixtures/vcf/vcf_truncated_bgzf.vcf.gz');
    await expect(readBody(writeSourceFile(bytes))).rejects.toThrow(
      'it.vcf: the compressed file ends early',
    );
  });
});

describe('decompression bombs', () => {
  /** Returns the largest growth of the process's resident memory while `read` runs, in MB. */
  async function measureGrowthMb(read: () => Promise<unknown>): Promise<number> {
    const rssBefore = process.memoryUsage().rss;
    let mostBytes = rssBefore;
    const timer = setInterval(
      () => (mostBytes = Math.max(mostBytes, process.memoryUsage().rss)),
      5,
    );
    try {
      await read();
    } finally {
      clearInterval(timer);
    }
    return (Math.max(mostBytes, process.memoryUsage().rss) - rssBefore) / 2 ** 20;
  }

  test('a gzip file of one endless line stops at the line budget (F1)', async () => {
    const zeros = gzipSync(Buffer.alloc(300 << 20), { level: 9 });
    const growth = await measureGrowthMb(async () => {
      await expect(readBody(writeSourceFile(zeros), 0, 8 << 20)).rejects.toThrow(
        /a line is longer than 64 MiB/,
      );
    });
    expect(growth).toBeLessThan(400);
  });

  test('the same as BGZF (F1)', async () => {
    await expect(
      readBody(writeSourceFile(compressBgzf(Buffer.alloc(200 << 20))), 0, 8 << 20),
    ).rejects.toThrow(/a line is longer than 64 MiB/);
  });

  test(`a million empty gzip members are an empty file (F1)`, async () => {
    const member = gzipSync('');
    const members = Buffer.concat(Array.from({ length: 1_000_000 }, () => member));
    expect((await readBody(writeSourceFile(members))).text).toBe('');
  });
});

describe('files that no reader can use (F4)', () => {
  const cases: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['zip', Buffer.from('PK\u0003\u0004rest'), /zip archive/],
    ['bzip2 that ends', Buffer.from('BZh91AY&SY'), /ends early/],
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), /xz/],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]), /zstd/],
    ['UTF-16 little-endian', Buffer.from([0xff, 0xfe, 0x41, 0]), /UTF-16/],
    ['UTF-16 big-endian', Buffer.from([0xfe, 0xff, 0, 0x41]), /UTF-16/],
    ['gzip in gzip', gzipSync(gzipSync('a\n')), /compressed twice/],
    ['BAM', Buffer.from('BAM\u0001'), /a BAM file/],
    ['CRAM', Buffer.from('CRAM\u0003\u0001'), /a CRAM file/],
    ['zip in gzip', gzipSync('PK\u0003\u0004rest'), /zip archive/],
  ];
  test.each(cases)('%s', async (_name, bytes, message) => {
    await expect(openSource(writeSourceFile(bytes), 'it.vcf')).rejects.toThrow(message);
  });
});
