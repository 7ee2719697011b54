import { gunzipSync } from 'node:zlib';
import { budgets } from '../../engine/budgets.js';
import { InputError } from '../../engine/errors.js';
import { openFile, type FileReader } from '../../engine/files.js';
import type { ChunkRef } from './chunks.js';
import { withoutDropped } from './cutter.js';
import { bgzfBlockBytes } from './layer.js';
import { asInputError, lineTooLong, truncated } from './open.js';

/** The whole lines that a piece owns, decoded (see `ChunkRef`); runs in a pool thread. */
export async function loadChunk(ref: ChunkRef): Promise<Uint8Array> {
  if (ref.kind === 'bytes') return ref.bytes;
  const file = await openFile(ref.file);
  try {
    if (ref.kind === 'records') return await loadRecords(file, ref);
    const own = await file.read(ref.from, ref.to - ref.from);
    const isPlain = ref.kind === 'range';
    const text = isPlain ? own : inflate(own, ref.name, ref.from);
    const start = ref.isFirst ? ref.skip : text.indexOf(10) + 1;
    if (start === 0 && !ref.isFirst) return text.subarray(0, 0);
    // What the last line has in this piece counts, too.
    const room = budgets.lineBytes - (text.length - Math.max(start, text.lastIndexOf(10) + 1));
    const tail = isPlain
      ? await restOfLine(file, ref.to, ref.name, room)
      : await restOfLineInBlocks(file, ref.to, ref.name, room);
    if (tail.length === 0) return text.subarray(start);
    const lines = new Uint8Array(text.length - start + tail.length);
    lines.set(text.subarray(start));
    lines.set(tail, text.length - start);
    return lines;
  } finally {
    await file.close();
  }
}

async function loadRecords(
  file: FileReader,
  { name, from, to, dropped }: Extract<ChunkRef, { kind: 'records' }>,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(to - from);
  if ((await file.readInto(bytes, from)) < bytes.length)
    throw new InputError({ file: name, byte: from }, 'the file ends early');
  return withoutDropped(bytes, dropped);
}

/** The bytes from `from` to the first line end, that one included, which must come within `room` bytes. */
async function restOfLine(
  file: FileReader,
  from: number,
  name: string,
  room: number,
): Promise<Uint8Array> {
  for (let size = 64 << 10; ; size *= 4) {
    const bytes = await file.read(from, Math.min(size, room + 1));
    const end = bytes.indexOf(10);
    if (end >= 0) return bytes.subarray(0, end + 1);
    if (bytes.length > room) throw lineTooLong(name);
    if (from + bytes.length >= file.bytes) return bytes;
  }
}

/** The same in decoded bytes, from the BGZF block that begins at `from` on. */
async function restOfLineInBlocks(
  file: FileReader,
  from: number,
  name: string,
  room: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let window: Uint8Array = new Uint8Array(0);
  let windowFrom = from;
  for (let at = from; at < file.bytes;) {
    // Blocks can be tiny and the line long, so bytes are not read once for each block.
    if (at + 65_536 > windowFrom + window.length && windowFrom + window.length < file.bytes) {
      window = await file.read(at, at === from ? 65_536 : 1 << 20);
      windowFrom = at;
    }
    const block = window.subarray(at - windowFrom);
    const size = bgzfBlockBytes(block, 0);
    if (size === 0) break; // zero padding: whoever cut the file into pieces has checked it
    if (size > block.length) throw truncated(name, at);
    const text = inflate(block.subarray(0, size), name, at);
    const end = text.indexOf(10);
    pieces.push(end < 0 ? text : text.subarray(0, end + 1));
    bytes += pieces.at(-1)!.length;
    if (bytes > room + (end < 0 ? 0 : 1)) throw lineTooLong(name);
    if (end >= 0) break;
    at += size;
  }
  return Buffer.concat(pieces, bytes);
}

/** Inflates whole BGZF blocks; zlib checks each block's CRC and length. */
function inflate(blocks: Uint8Array, name: string, byte: number): Uint8Array {
  let decodedBytes = 0;
  for (let at = 0; at < blocks.length;) {
    const size = bgzfBlockBytes(blocks, at);
    if (size === 0 || at + size > blocks.length) throw truncated(name, byte + at);
    const end = at + size;
    decodedBytes +=
      (blocks[end - 4]! |
        (blocks[end - 3]! << 8) |
        (blocks[end - 2]! << 16) |
        (blocks[end - 1]! << 24)) >>>
      0;
    at = end;
  }
  // A block decodes to 64 KiB at most, so a length field that lies cannot ask for more than that.
  const most = Math.ceil(blocks.length / 28) * 65_536;
  if (decodedBytes > most)
    throw new InputError(
      { file: name, byte },
      'a BGZF block names an impossible length: the file is damaged',
    );
  try {
    // One output buffer of the known size: no growing, no joining.
    return gunzipSync(blocks, { chunkSize: Math.max(64, decodedBytes + 1) });
  } catch (error) {
    throw asInputError(error, name, byte);
  }
}
