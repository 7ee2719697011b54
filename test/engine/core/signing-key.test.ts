import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { openDataFolder } from '../../../engine/core/files.js';
import { openSigningKey } from '../../../engine/core/signing-key.js';

let folder: string;
let data: DataFolder;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'strandlake-key-'));
  data = await openDataFolder(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('creates one key, readable by its owner only, and reuses it', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => openSigningKey(data)));
  expect(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size).toBe(1);
  expect(keys[0]?.byteLength).toBe(32);
  expect(statSync(data.signingKey).mode & 0o077).toBe(0);
});

test('does not create a new key for an existing catalogue', async () => {
  writeFileSync(data.catalog, '');
  await expect(openSigningKey(data)).rejects.toThrow(/signing\.key is missing .* restore it/);
});

test('refuses a truncated key', async () => {
  await openSigningKey(data);
  truncateSync(data.signingKey, 5);
  await expect(openSigningKey(data)).rejects.toThrow(/has 5 bytes instead of 32/);
});
