import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { bgzfBlock, bgzfEofBlock } from './bgzf.js';
import type { RandomGenerator } from './random.js';

/** Folder of generated files, which later runs reuse. It may be deleted at any time. */
export const cacheFolder = join('benchmarks', '.cache');

/** Writes a text to a file in the cache unless the file exists; returns its path. */
export async function generateFile(
  name: string,
  pieces: () => Iterable<string>,
  compression: 'plain' | 'gzip' | 'bgzf' = 'plain',
): Promise<string> {
  const file = join(cacheFolder, name);
  if (existsSync(file)) return file;
  mkdirSync(cacheFolder, { recursive: true });
  process.stderr.write(`Generating ${file} …\n`);
  const fileStream = createWriteStream(`${file}.part`);
  const out = compression === 'gzip' ? createGzip() : fileStream;
  if (out !== fileStream) out.pipe(fileStream);
  for (const block of splitIntoBlocks(pieces(), compression === 'bgzf' ? 65_280 : 1 << 18))
    if (!out.write(compression === 'bgzf' ? bgzfBlock(block) : block)) await once(out, 'drain');
  if (compression === 'bgzf') out.write(bgzfEofBlock);
  out.end();
  await once(fileStream, 'close');
  renameSync(`${file}.part`, file);
  return file;
}

/** Replaces the digits of a text by random ones. A 0 at the beginning of a number stays, and no other number gets one. */
export function randomizeDigits(text: string, random: RandomGenerator): string {
  return text.replace(/\d+/g, (digits) => {
    let number = '';
    for (let i = 0; i < digits.length; i++) {
      if (i > 0) number += random.below(10);
      else number += digits[0] === '0' ? '0' : 1 + random.below(9);
    }
    return number;
  });
}

/** Cuts a text into blocks of `size` bytes; the last block may be smaller. */
function* splitIntoBlocks(pieces: Iterable<string>, size: number): Generator<Uint8Array> {
  let restOfPiece: Uint8Array = new Uint8Array(0);
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < size) continue;
    let bytes: Uint8Array = Buffer.concat([restOfPiece, Buffer.from(text)]);
    text = '';
    for (; bytes.length >= size; bytes = bytes.subarray(size)) yield bytes.subarray(0, size);
    restOfPiece = bytes;
  }
  let bytes: Uint8Array = Buffer.concat([restOfPiece, Buffer.from(text)]);
  for (; bytes.length > 0; bytes = bytes.subarray(size)) yield bytes.subarray(0, size);
}
