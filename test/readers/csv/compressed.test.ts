import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from '@jest/globals';
import { bgzf } from '../source/bgzf.js';
import { importFile } from '../import-source.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-csv-'));
afterAll(() => rmSync(folder, { recursive: true }));

const rows = Array.from({ length: 4000 }, (_, i) => `${i},"line ${i}\nand another"`);
const text = Buffer.from(`n,t\n${rows.join('\n')}\n`);

async function read(bytes: Uint8Array) {
  writeFileSync(join(folder, 'it'), bytes);
  return importFile(join(folder, 'it'), 'it.csv.gz', 'csv', { targetBytes: 10_000 });
}

test('compressed files have the records of the uncompressed one', async () => {
  const plain = await read(text);
  expect(plain.rows).toHaveLength(4000);
  for (const bytes of [gzipSync(text), bgzf(text, 5000)]) {
    const packed = await read(bytes);
    expect([packed.error, packed.warnings]).toEqual([null, []]);
    expect(packed.rows).toEqual(plain.rows);
  }
});

test('a missing BGZF end block is a warning, a truncated file an error (F2)', async () => {
  const open = await read(bgzf(text, 5000, false));
  expect([open.error, open.rows.length]).toEqual([null, 4000]);
  expect(open.warnings).toEqual([expect.stringContaining('end block is missing')]);
  for (const bytes of [gzipSync(text), bgzf(text, 5000)]) {
    const { error } = await read(bytes.subarray(0, bytes.length - 60));
    expect(error).toMatch(/ends early|damaged/);
  }
});
