import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from '@jest/globals';
import { compressBgzf } from '../source/bgzf.js';
import { importFile } from '../import-source.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-csv-'));
afterAll(() => rmSync(folder, { recursive: true }));

const csvLines = Array.from({ length: 4000 }, (_, i) => `${i},"line ${i}\nand another"`);
const csvBytes = Buffer.from(`n,t\n${csvLines.join('\n')}\n`);

async function importBytes(bytes: Uint8Array) {
  writeFileSync(join(folder, 'it'), bytes);
  return importFile(join(folder, 'it'), 'it.csv.gz', 'csv', { targetBytes: 10_000 });
}

test('compressed files have the records of the uncompressed one', async () => {
  const plainRead = await importBytes(csvBytes);
  expect(plainRead.rows).toHaveLength(4000);
  for (const bytes of [gzipSync(csvBytes), compressBgzf(csvBytes, 5000)]) {
    const packedRead = await importBytes(bytes);
    expect([packedRead.error, packedRead.warnings]).toEqual([null, []]);
    expect(packedRead.rows).toEqual(plainRead.rows);
  }
});

test('a missing BGZF end block is a warning, a truncated file an error (F2)', async () => {
  const importWithoutEndBlock = await importBytes(compressBgzf(csvBytes, 5000, false));
  expect([importWithoutEndBlock.error, importWithoutEndBlock.rows.length]).toEqual([null, 4000]);
  expect(importWithoutEndBlock.warnings).toEqual([expect.stringContaining('end block is missing')]);
  for (const bytes of [gzipSync(csvBytes), compressBgzf(csvBytes, 5000)]) {
    const { error } = await importBytes(bytes.subarray(0, bytes.length - 60));
    expect(error).toMatch(/ends early|damaged/);
  }
});
