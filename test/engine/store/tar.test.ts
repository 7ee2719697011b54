import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tarEndBlocks, parseTarEntries, tarHeader, tarPadding } from '../../../engine/store/tar.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-tar-'));
});
afterAll(() => rm(folder, { recursive: true }));

const tarFiles: readonly (readonly [string, string])[] = [
  ['_delta_log/00000000000000000000.json', '{"a":1}\n'],
  ['empty', ''],
  ['x'.repeat(100), 'y'.repeat(512)],
  ['z.parquet', 'z'.repeat(1_000)],
];

function createTar(): Buffer {
  const time = Date.UTC(2026, 1, 3, 4, 5, 6);
  const pieces = tarFiles.flatMap(([path, text]) => {
    const bytes = Buffer.from(text);
    return [tarHeader(path, bytes.length, time), bytes, tarPadding(bytes.length)];
  });
  return Buffer.concat([...pieces, tarEndBlocks]);
}

/** Yields the bytes in pieces of a fixed length, so that headers are cut at many positions. */
async function* splitIntoPieces(bytes: Uint8Array, length = 300): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function readTarEntries(bytes: Uint8Array): Promise<readonly (readonly [string, number])[]> {
  const entries: [string, number][] = [];
  for await (const { path, bytes: size, content } of parseTarEntries(
    splitIntoPieces(bytes),
    'read.tar',
  )) {
    if (entries.length % 2 === 0) {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      expect(Buffer.concat(pieces).length).toBe(size);
    }
    entries.push([path, size]); // the content of every other entry is skipped
  }
  return entries;
}

test('what it writes, it reads', async () => {
  expect(await readTarEntries(createTar())).toEqual(
    tarFiles.map(([path, text]) => [path, text.length]),
  );
});

const testWithTar = spawnSync('tar', ['--version']).status === 0 ? test : test.skip;
testWithTar('the program tar lists and unpacks what it writes', async () => {
  const path = join(folder, 'written.tar');
  await writeFile(path, createTar());
  const tarListing = spawnSync('tar', ['-tf', path], { encoding: 'utf8' });
  expect([tarListing.status, tarListing.stdout.split('\n').slice(0, -1)]).toEqual([0, tarFiles.map(([path]) => path)]); // prettier-ignore
  expect(spawnSync('tar', ['-xf', path, '-C', folder]).status).toBe(0);
  for (const [name, text] of tarFiles)
    expect(await readFile(join(folder, name), 'utf8')).toBe(text);
});

testWithTar('it reads what the program tar writes, in both formats', async () => {
  for (const [name, text] of tarFiles.slice(1)) await writeFile(join(folder, name), text);
  const names = tarFiles.slice(1).map(([name]) => name);
  for (const format of ['ustar', 'pax']) {
    const path = join(folder, `${format}.tar`);
    expect(spawnSync('tar', [`--format=${format}`, '-cf', path, '-C', folder, ...names]).status).toBe(0); // prettier-ignore
    expect(await readTarEntries(await readFile(path))).toEqual(tarFiles.slice(1).map(([name, text]) => [name, text.length])); // prettier-ignore
  }
});

testWithTar(
  'a file of more than 8 GiB has its size in a pax header, for it and for the program tar',
  async () => {
    const bytes = 9 * 1024 ** 3 + 5;
    const head = Buffer.from(tarHeader('huge.parquet', bytes, 0));
    const { value } = await parseTarEntries(splitIntoPieces(head), 'huge.tar').next();
    expect(value).toMatchObject({ path: 'huge.parquet', bytes });
    const tarListing = spawnSync('tar', ['-tvf', '-'], { input: head, encoding: 'utf8' });
    expect(tarListing.stdout).toContain(` ${bytes} `);
  },
);

describe('a damaged file', () => {
  test('that ends early, or in a header, is refused', async () => {
    const bytes = createTar();
    const end = bytes.length - tarEndBlocks.length;
    for (const length of [0, 100, 512, 700, end])
      await expect(readTarEntries(bytes.subarray(0, length))).rejects.toThrow('ends early');
  });

  test.each([0, 3, 130, 148, 156])('with another byte %s of a header is refused', async (at) => {
    const bytes = createTar();
    bytes[at]! ^= 1;
    await expect(readTarEntries(bytes)).rejects.toThrow('damaged header');
  });
});

test('paths that ustar cannot hold are a mistake of the caller', () => {
  for (const path of ['', 'x'.repeat(101), 'ü', 'a b']) expect(() => tarHeader(path, 0, 0)).toThrow('no path'); // prettier-ignore
});
