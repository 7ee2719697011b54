import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { decompressBzip2 } from '../../../readers/source/bzip2.js';
import { seededRandom } from '../../random.js';
import { importSource } from '../import-source.js';
import { seed } from '../../seed.js';

const fixtureFolder = 'test/fixtures/bzip2';

function readFixture(name: string): Buffer {
  return readFileSync(`${fixtureFolder}/${name}.bz2`);
}

/** Yields the bytes in pieces, as a file is read. */
async function* splitIntoPieces(bytes: Uint8Array, size = 7_001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function decompress(bytes: Uint8Array, size?: number): Promise<Buffer> {
  const decompressedPieces: Uint8Array[] = [];
  for await (const piece of decompressBzip2(splitIntoPieces(bytes, size), 'it.bz2'))
    decompressedPieces.push(piece);
  return Buffer.concat(decompressedPieces);
}

/** Returns the decompressed text, or the error message. */
async function bytesOrError(bytes: Uint8Array): Promise<Buffer | string> {
  return decompress(bytes).catch((error: Error) => error.message);
}

describe('decompression', () => {
  const fixtureRows = readFileSync(`${fixtureFolder}/SOURCES.md`, 'utf8')
    .split('\n')
    .map((line) => /^\| (\w+)\.bz2 \|.*\| (\d+) \| (\w{64}) \|$/.exec(line)?.slice(1))
    .filter((row) => row !== undefined) as [name: string, bytes: string, digest: string][];

  test.each(fixtureRows)(
    '%s.bz2 decompresses to %s bytes with the digest that another tool computes',
    async (name, bytes, digest) => {
      const hash = createHash('sha256');
      let count = 0;
      for await (const piece of decompressBzip2(splitIntoPieces(readFixture(name)), name)) {
        hash.update(piece);
        count += piece.length;
        expect(piece.length).toBeLessThanOrEqual(1 << 20);
      }
      expect([String(count), hash.digest('hex')]).toEqual([bytes, digest]);
    },
  );

  test('many streams are one text, including empty ones (F3)', async () => {
    const streams = ['runs', 'empty', 'lines', 'empty', 'bytes'];
    const expectedBytes = Buffer.concat(
      await Promise.all(streams.map((name) => decompress(readFixture(name)))),
    );
    for (const size of [1, 997, 1 << 20])
      expect(
        (await decompress(Buffer.concat(streams.map(readFixture)), size)).equals(expectedBytes),
      ).toBe(true);
  });
});

describe('damage', () => {
  const wholeStream = Buffer.concat([readFixture('runs'), readFixture('bytes')]);

  test('every truncation is an error, never a shorter text, except between two streams (F2)', async () => {
    const firstLength = readFixture('runs').length;
    const step = Math.ceil(wholeStream.length / 500);
    for (let cut = 4; cut < wholeStream.length; cut += cut < 40 ? 1 : step) {
      if (cut === firstLength) continue;
      expect([cut, await bytesOrError(wholeStream.subarray(0, cut))]).toEqual([
        cut,
        expect.stringMatching(
          /^it\.bz2: the compressed file ends early|something other than bzip2/,
        ),
      ]);
    }
  });

  test(`a flipped bit is an error or changes nothing (seed ${seed}) (F2)`, async () => {
    const next = seededRandom(seed);
    const text = await decompress(wholeStream);
    let refusedCount = 0;
    for (let round = 0; round < 400; round++) {
      const damagedStream = Buffer.from(wholeStream);
      damagedStream[4 + Math.floor(next() * (wholeStream.length - 4))]! ^=
        1 << Math.floor(next() * 8);
      const outcome = await bytesOrError(damagedStream);
      if (typeof outcome === 'string') {
        expect(outcome).toMatch(
          /^it\.bz2: the compressed (?:data is damaged|file ends early)|other than bzip2/,
        );
        refusedCount++;
      } else expect(outcome.equals(text)).toBe(true);
    }
    expect(refusedCount).toBeGreaterThan(390); // a few bits after the end of a stream have no meaning
  });

  test('zero padding is accepted, other bytes after the end are not (F2)', async () => {
    const text = await decompress(wholeStream);
    expect((await decompress(Buffer.concat([wholeStream, Buffer.alloc(5_000)]))).equals(text)).toBe(
      true,
    );
    expect(await bytesOrError(Buffer.concat([wholeStream, Buffer.from('rubbish')]))).toBe(
      'it.bz2: something other than bzip2 data follows the last bzip2 stream',
    );
  });
});

describe('as a source', () => {
  const options = { name: 'it.csv.bz2', params: { header: null } };

  test('has the records of the uncompressed file, however it is split (F3)', async () => {
    const text = await decompress(readFixture('lines'));
    const expectedRead = await importSource(text, 'csv', { ...options, name: 'it.csv' });
    expect(expectedRead.rows).toHaveLength(6_000);
    for (const targetBytes of [3_000, 100_000, 1 << 20]) {
      const {
        chunks: _,
        rewritten: __,
        ...found
      } = await importSource(readFixture('lines'), 'csv', {
        ...options,
        targetBytes,
      });
      expect({ ...expectedRead, ...found }).toEqual(expectedRead);
    }
  });

  test('a decompression bomb stops at the budget for lines, in little memory (F1)', async () => {
    const rssBefore = process.memoryUsage.rss();
    await expect(importSource(readFixture('zeros'), 'csv', options)).rejects.toThrow(
      /no row ends within the first 64 MiB/,
    );
    expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(500 << 20);
  });

  test('a truncated file is refused with its name (F2)', async () => {
    const cutStream = readFixture('lines').subarray(0, 40_000);
    await expect(importSource(cutStream, 'csv', options)).rejects.toThrow(
      'it.csv.bz2: the compressed file ends early',
    );
  });

  test('a file compressed twice is refused (F1)', async () => {
    const { gzipSync } = await import('node:zlib');
    await expect(importSource(gzipSync(readFixture('lines')), 'csv', options)).rejects.toThrow(
      'compressed twice',
    );
  });
});
