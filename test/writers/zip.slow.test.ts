import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';
import { deflateBlock, combineCrc32, ZipWriter } from '../../writers/zip.js';
import { seededRandom } from '../random.js';
import { seed } from '../seed.js';

test(`the checksum of pieces is that of the whole (STRANDLAKE_SEED=${seed})`, () => {
  const next = seededRandom(seed);
  for (let round = 0; round < 200; round++) {
    const whole = Uint8Array.from({ length: Math.floor(next() ** 3 * 5_000) }, () => Math.floor(next() * 256)); // prettier-ignore
    const cutAt = Math.floor(next() * (whole.length + 1));
    const [firstPart, secondPart] = [whole.subarray(0, cutAt), whole.subarray(cutAt)];
    expect(combineCrc32(crc32(firstPart), crc32(secondPart), secondPart.length)).toBe(crc32(whole));
  }
});

test('pieces after one another are one deflate stream', () => {
  const texts = ['a'.repeat(1000), '', 'b', 'a'.repeat(100_000)];
  const zip = new ZipWriter();
  zip.beginEntry('x');
  const stream = Buffer.concat(texts.map((text) => zip.addPiece(deflateBlock(Buffer.from(text)))));
  const end = zip.endEntry();
  const inflatedBytes = inflateRawSync(Buffer.concat([stream, end.subarray(0, -16)]));
  expect(inflatedBytes.toString()).toBe(texts.join(''));
});

const hasPython = ((): boolean => {
  try {
    execFileSync('python3', ['-c', 'import zipfile'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Python's zipfile is the independent implementation that reads the files. */
(hasPython ? test : test.skip)(
  'an entry of more than 4 GiB, and those behind it, are read back',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'strandlake-zip-'));
    try {
      const piece = deflateBlock(Buffer.alloc(1 << 20, 7));
      const count = 4_100;
      const zip = new ZipWriter();
      const bytes = [zip.wholeEntry('first.txt', Buffer.from('before')), zip.beginEntry('large')];
      for (let i = 0; i < count; i++) bytes.push(zip.addPiece(piece));
      bytes.push(
        zip.endEntry(),
        zip.wholeEntry('last é.txt', Buffer.from('behind')),
        zip.endArchive(),
      );
      const path = join(folder, 'large.zip');
      writeFileSync(path, Buffer.concat(bytes));
      const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    assert file.testzip() is None
    print(file.getinfo("large").file_size, file.read("first.txt").decode(), file.read("last é.txt").decode())`;
      expect(execFileSync('python3', ['-c', script, path]).toString().trim()).toBe(
        `${count * (1 << 20)} before behind`,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
