import { gunzipSync } from 'node:zlib';
import { budgets } from '../../engine/core/budgets.js';
import { freeMemory } from '../../engine/core/buffers.js';
import { InputError } from '../../engine/core/errors.js';
import { openFile, type FileReader } from '../../engine/core/files.js';
import type { ChunkRef } from './chunks.js';
import { bgzfBlockBytes } from './compression.js';
import { toInputError, lineTooLongError, truncatedInputError } from './input-errors.js';
import { removeDroppedRanges } from './splitter.js';

/** Loads the whole lines or records of a chunk, decompressed (see `ChunkRef`). */
export async function loadChunk(ref: ChunkRef): Promise<Uint8Array> {
  if (ref.kind === 'bytes') return ref.bytes;
  const file = await openFile(ref.file);
  try {
    if (ref.kind === 'records') return await loadRecords(file, ref);
    if (ref.kind === 'range') return await loadRange(file, ref);
    return await loadBlocks(file, ref);
  } finally {
    await file.close();
  }
}

/** Releases the memory of a loaded chunk; the bytes must not be used afterwards. */
export function releaseChunk(ref: ChunkRef, bytes: Uint8Array): void {
  if (ref.kind === 'bgzf') freeMemory(bytes.buffer);
  else if (ref.kind !== 'bytes') releaseChunkBuffer(bytes);
}

type FileRange = Extract<ChunkRef, { kind: 'range' | 'bgzf' }>;

/** Number of bytes after a chunk for which its buffer has room; most last lines end within them. */
const readAheadBytes = 64 << 10;

/** Loads the lines of a range of BGZF blocks. The rest of the last line, if it is short, is added to the decompressed bytes without a copy. */
async function loadBlocks(
  file: FileReader,
  { name, from, to, isFirst, skip }: FileRange,
): Promise<Uint8Array> {
  const blocks = await file.read(from, to - from);
  const text = inflateBlocks(blocks, name, from, readAheadBytes);
  freeMemory(blocks.buffer);
  const start = isFirst ? skip : text.indexOf(10) + 1;
  if (start === 0 && !isFirst) {
    freeMemory(text.buffer);
    return new Uint8Array(0);
  }
  const restOfLine = await readRestOfLineInBlocks(file, to, name, lineBytesLeft(text, start));
  const { buffer, byteOffset, length } = text;
  if (byteOffset + length + restOfLine.length > buffer.byteLength) {
    const joinedBytes = new Uint8Array(length - start + restOfLine.length);
    joinedBytes.set(text.subarray(start));
    joinedBytes.set(restOfLine, length - start);
    freeMemory(text.buffer);
    return joinedBytes;
  }
  const lines = new Uint8Array(buffer, byteOffset, length + restOfLine.length);
  lines.set(restOfLine, length);
  return lines.subarray(start);
}

/** Loads the lines of a range. A last line that ends soon after the range is read with it, without a copy. */
async function loadRange(
  file: FileReader,
  { name, from, to, isFirst, skip }: FileRange,
): Promise<Uint8Array> {
  const buffer = acquireChunkBuffer(to - from + readAheadBytes);
  let isReturned = false;
  try {
    const readBytes = buffer.subarray(0, await file.readInto(buffer, from));
    const ownBytes = readBytes.subarray(0, to - from);
    const start = isFirst ? skip : ownBytes.indexOf(10) + 1;
    if (start === 0 && !isFirst) return acquireChunkBuffer(0);
    const maxBytes = lineBytesLeft(ownBytes, start);
    const end = readBytes.indexOf(10, ownBytes.length);
    const isLastLineWhole =
      end >= 0 ? end - ownBytes.length <= maxBytes : from + readBytes.length >= file.bytes;
    if (isLastLineWhole && readBytes.length - ownBytes.length <= maxBytes + 1) {
      isReturned = true;
      return readBytes.subarray(start, end < 0 ? readBytes.length : end + 1);
    }
    return joinBytes(ownBytes.subarray(start), await readRestOfLine(file, to, name, maxBytes));
  } finally {
    if (!isReturned) releaseChunkBuffer(buffer);
  }
}

/** Returns how many bytes the last line may extend beyond this chunk, within the budget for lines. */
function lineBytesLeft(text: Uint8Array, start: number): number {
  return budgets.lineBytes - (text.length - Math.max(start, text.lastIndexOf(10) + 1));
}

function joinBytes(lines: Uint8Array, restOfLine: Uint8Array): Uint8Array {
  const joinedBytes = acquireChunkBuffer(lines.length + restOfLine.length);
  joinedBytes.set(lines);
  joinedBytes.set(restOfLine, lines.length);
  return joinedBytes;
}

/** Maximum size of a buffer that is reused for the next chunk. */
const maxReusedBytes = 16 << 20;

/** The buffer of the chunk before, for the next one: chunks of a file have about the same size. */
let spareBuffer = new ArrayBuffer(0);

function acquireChunkBuffer(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes > spareBuffer.byteLength) return new Uint8Array(bytes);
  const buffer = spareBuffer;
  spareBuffer = new ArrayBuffer(0);
  return new Uint8Array(buffer, 0, bytes);
}

function releaseChunkBuffer({ buffer }: Uint8Array): void {
  if (buffer.byteLength > maxReusedBytes || buffer.byteLength <= spareBuffer.byteLength)
    return freeMemory(buffer);
  freeMemory(spareBuffer);
  spareBuffer = buffer as ArrayBuffer;
}

async function loadRecords(
  file: FileReader,
  { name, from, to, dropped }: Extract<ChunkRef, { kind: 'records' }>,
): Promise<Uint8Array> {
  const bytes = acquireChunkBuffer(to - from);
  try {
    if ((await file.readInto(bytes, from)) < bytes.length)
      throw new InputError({ file: name, byte: from }, 'the file ends early');
  } catch (error) {
    releaseChunkBuffer(bytes);
    throw error;
  }
  return removeDroppedRanges(bytes, dropped);
}

/**
 * Returns the bytes from `from` up to and including the first line feed, or up to the end of the file. The line feed must come after at
 * most `maxBytes` bytes.
 */
async function readRestOfLine(
  file: FileReader,
  from: number,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  for (let wantedBytes = 64 << 10; ; wantedBytes *= 4) {
    const bytes = await file.read(from, Math.min(wantedBytes, maxBytes + 1));
    const end = bytes.indexOf(10);
    if (end >= 0) return bytes.subarray(0, end + 1);
    if (bytes.length > maxBytes) throw lineTooLongError(name);
    if (from + bytes.length >= file.bytes) return bytes;
  }
}

/** Returns the decompressed bytes up to the end of a line, beginning with the BGZF block at `from`. */
async function readRestOfLineInBlocks(
  file: FileReader,
  from: number,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let textBytes = 0;
  let window: Uint8Array = new Uint8Array(0);
  let windowFrom = from;
  for (let at = from; at < file.bytes;) {
    // A long line may span many small blocks, so several blocks are read at once.
    if (at + 65_536 > windowFrom + window.length && windowFrom + window.length < file.bytes) {
      window = await file.read(at, at === from ? 65_536 : 1 << 20);
      windowFrom = at;
    }
    const block = window.subarray(at - windowFrom);
    const blockBytes = bgzfBlockBytes(block, 0);
    if (blockBytes === 0) break; // zero padding, which `blockChunks` checks
    if (blockBytes > block.length) throw truncatedInputError(name, at);
    const text = inflateBlocks(block.subarray(0, blockBytes), name, at);
    const end = text.indexOf(10);
    pieces.push(end < 0 ? text : text.subarray(0, end + 1));
    textBytes += pieces.at(-1)!.length;
    if (textBytes > maxBytes + (end < 0 ? 0 : 1)) throw lineTooLongError(name);
    if (end >= 0) break;
    at += blockBytes;
  }
  return Buffer.concat(pieces, textBytes);
}

/**
 * Decompresses whole BGZF blocks; zlib checks the CRC and the length of each. The buffer of the result has room for `spareBytes` more bytes
 * after it.
 */
function inflateBlocks(
  blocks: Uint8Array,
  name: string,
  blockOffset: number,
  spareBytes = 0,
): Uint8Array {
  let decodedBytes = 0;
  for (let at = 0; at < blocks.length;) {
    const blockBytes = bgzfBlockBytes(blocks, at);
    if (blockBytes === 0 || at + blockBytes > blocks.length)
      throw truncatedInputError(name, blockOffset + at);
    const end = at + blockBytes;
    decodedBytes +=
      (blocks[end - 4]! |
        (blocks[end - 3]! << 8) |
        (blocks[end - 2]! << 16) |
        (blocks[end - 1]! << 24)) >>>
      0;
    at = end;
  }
  // A block has at least 28 bytes and at most 64 KiB of text, so a wrong length field cannot request more memory than this.
  const maxDecodedBytes = Math.ceil(blocks.length / 28) * 65_536;
  if (decodedBytes > maxDecodedBytes)
    throw new InputError(
      { file: name, byte: blockOffset },
      'a BGZF block names an impossible length: the file is damaged',
    );
  try {
    // The size is known, so zlib allocates a single output buffer.
    return gunzipSync(blocks, { chunkSize: Math.max(64, decodedBytes + 1 + spareBytes) });
  } catch (error) {
    throw toInputError(error, name, blockOffset);
  }
}
