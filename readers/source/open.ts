import { createGunzip } from 'node:zlib';
import { Readable } from 'node:stream';
import { budgets } from '../../engine/core/budgets.js';
import { AppError, InputError } from '../../engine/core/errors.js';
import { openFile, type FileReader } from '../../engine/core/files.js';
import type { HeadSource } from '../reader.js';
import { bunzip2 } from './bzip2.js';
import type { ChunkRef } from './chunks.js';
import type { Cutter } from './splitter.js';
import { bgzfBlockBytes, hasByteOrderMark, layerOf, type Layer } from './compression.js';
import { decodedRecords, recordRanges } from './record-chunks.js';

/** A file to import: its decoded head, and its pieces for the pool. Close it in `finally`. */
export interface Source {
  /** The file's name to people. */
  readonly name: string;
  readonly layer: Layer;
  /** Bytes on disk. */
  readonly bytes: number;
  readonly head: HeadSource;
  /** What is unusual but no error, such as a missing BGZF end block; complete once `chunks` has ended. */
  readonly warnings: readonly string[];
  /**
   * The pieces behind the first `bodyOffset` decoded bytes, about `targetBytes` of decoded text each, in order; asked for
   * again (with a new cutter, if there is one), the same pieces come again. Without a cutter lines are cut at line feeds. `sourceBytes` counts the bytes on disk up to the piece's end, for progress.
   */
  chunks(
    bodyOffset: number,
    targetBytes: number,
    signal?: AbortSignal,
    cutter?: Cutter,
  ): AsyncGenerator<{ readonly ref: ChunkRef; readonly sourceBytes: number }>;
  close(): Promise<void>;
}

/** Opens a file of the data folder as a source; its layer is found from its content. */
export async function openSource(path: string, name: string): Promise<Source> {
  const file = await openFile(path);
  try {
    const layer = layerOf(await file.read(0, 64), name);
    const head = new DecodedHead(file, layer, name);
    const markBytes = hasByteOrderMark((await head.raw(4)).bytes) ? 3 : 0;
    if (layer !== 'plain') refuseSecondLayer((await head.raw(64)).bytes, name);
    head.skip(markBytes);
    const warnings: string[] = [];
    if (layer === 'plain' && /\.(?:gz|bgz|bgzf|bz2)$/i.test(name))
      warnings.push(
        'the name says compressed and the content is not compressed: read as plain text',
      );
    return {
      name,
      layer,
      bytes: file.bytes,
      head,
      warnings,
      chunks(bodyOffset, targetBytes, signal, cutter) {
        const from = bodyOffset + markBytes;
        if (cutter) return records(file, layer, name, from, targetBytes, cutter, warnings, signal);
        if (layer === 'plain') return ranges(file, name, from, targetBytes);
        if (layer === 'bgzf') return blocks(file, name, from, targetBytes, warnings, signal);
        return decodedLines(file, layer, name, from, targetBytes, signal);
      },
      async close() {
        await head.close();
        await file.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function refuseSecondLayer(decoded: Uint8Array, name: string): void {
  if (layerOf(decoded, name) !== 'plain') {
    throw new InputError({ file: name, byte: 0 }, 'compressed twice: unpack one layer first');
  }
}

/** The decoded start of a file, read on demand. */
class DecodedHead implements HeadSource {
  readonly name: string;
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #bytes: Uint8Array = new Uint8Array(0);
  #isWhole = false;
  #skip = 0;

  constructor(file: FileReader, layer: Layer, name: string) {
    this.name = name;
    this.#pieces = layer === 'plain' ? file.stream() : decoded(file, layer, name);
  }

  async bytes(atLeast: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const { bytes, isWhole } = await this.raw(atLeast + this.#skip);
    return { bytes: bytes.subarray(this.#skip), isWhole };
  }

  async raw(atLeast: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const pieces = [this.#bytes];
    let bytes = this.#bytes.length;
    while (bytes < atLeast && !this.#isWhole) {
      const { value, done } = await this.#pieces.next();
      if (done) this.#isWhole = true;
      else {
        pieces.push(value);
        bytes += value.length;
      }
    }
    if (pieces.length > 1) this.#bytes = concat(pieces, bytes);
    return { bytes: this.#bytes, isWhole: this.#isWhole };
  }

  skip(bytes: number): void {
    this.#skip = bytes;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}

/** Pieces between records, whatever the layer. */
async function* records(
  file: FileReader,
  layer: Layer,
  name: string,
  from: number,
  targetBytes: number,
  cutter: Cutter,
  warnings: string[],
  signal?: AbortSignal,
): ReturnType<Source['chunks']> {
  if (layer === 'plain') {
    yield* recordRanges(file, name, from, targetBytes, cutter, signal);
    return;
  }
  const text = (progress?: { read: number }) => decoded(file, layer, name, progress);
  yield* decodedRecords(text, name, from, targetBytes, cutter, signal);
  if (layer !== 'bgzf') return;
  // A BGZF file is read as the gzip file that it also is; its blocks are walked for what only they tell.
  for await (const _ of blocks(file, name, from, Infinity, warnings, signal));
}

async function* ranges(
  file: FileReader,
  name: string,
  bodyOffset: number,
  targetBytes: number,
): ReturnType<Source['chunks']> {
  const common = { kind: 'range', name, file: file.path, skip: 0 } as const;
  for (let from = bodyOffset; from < file.bytes;) {
    const to = Math.min(from + targetBytes, file.bytes);
    yield { ref: { ...common, from, to, isFirst: from === bodyOffset }, sourceBytes: to };
    from = to;
  }
}

/** Walks the block headers, which name their size, and cuts by decoded bytes, which each block's last four bytes name. */
async function* blocks(
  file: FileReader,
  name: string,
  bodyOffset: number,
  targetBytes: number,
  warnings: string[],
  signal?: AbortSignal,
): ReturnType<Source['chunks']> {
  const common = { kind: 'bgzf', name, file: file.path } as const;
  let from = 0;
  let decodedBytes = 0;
  let wanted = bodyOffset + targetBytes;
  let at = 0;
  let lastDecoded = -1;
  let isFirst = true;
  let window: Uint8Array = new Uint8Array(0);
  let windowFrom = 0;
  while (at < file.bytes) {
    if (at + 65_536 > windowFrom + window.length && windowFrom + window.length < file.bytes) {
      signal?.throwIfAborted();
      window = await file.read(at, 4 << 20);
      windowFrom = at;
    }
    const size = bgzfBlockBytes(window, at - windowFrom);
    if (size === 0) {
      if (await isZeroFrom(file, at)) break;
      throw new InputError(
        { file: name, byte: at },
        'no BGZF block begins at this compressed byte: the file is damaged or has something appended',
      );
    }
    const end = at + size;
    if (end > file.bytes) throw truncated(name, at);
    lastDecoded = littleEndian32(window, end - 4 - windowFrom);
    decodedBytes += lastDecoded; // what a block claims is compared with what it gives when it is inflated
    if (decodedBytes > budgets.decompressedBytes) throw tooMuchDecoded(name);
    at = end;
    if (decodedBytes >= wanted) {
      yield {
        ref: { ...common, from, to: at, isFirst, skip: isFirst ? bodyOffset : 0 },
        sourceBytes: at,
      };
      from = at;
      isFirst = false;
      wanted = decodedBytes + targetBytes;
    }
  }
  if (at > from)
    yield {
      ref: { ...common, from, to: at, isFirst, skip: isFirst ? bodyOffset : 0 },
      sourceBytes: at,
    };
  const warning = 'the BGZF end block is missing: the file may have been cut at a block border';
  if (lastDecoded !== 0 && !warnings.includes(warning)) warnings.push(warning);
}

/** A plain gzip or bzip2 stream: one thread decodes it and hands out whole lines. */
async function* decodedLines(
  file: FileReader,
  layer: Layer,
  name: string,
  bodyOffset: number,
  targetBytes: number,
  signal?: AbortSignal,
): ReturnType<Source['chunks']> {
  let toSkip = bodyOffset;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let open = 0;
  const progress = { read: 0 };
  for await (const piece of decoded(file, layer, name, progress)) {
    signal?.throwIfAborted();
    const skipped = Math.min(toSkip, piece.length);
    toSkip -= skipped;
    if (skipped === piece.length) continue;
    const rest = piece.subarray(skipped);
    const end = rest.lastIndexOf(10) + 1;
    pending.push(rest);
    pendingBytes += rest.length;
    // `open` bytes belong to a line that has not ended yet.
    if (open + (end > 0 ? rest.indexOf(10) : rest.length) > budgets.lineBytes)
      throw lineTooLong(name);
    open = end > 0 ? rest.length - end : open + rest.length;
    if (pendingBytes < targetBytes || open === pendingBytes) continue;
    const all = concat(pending, pendingBytes);
    const whole = pendingBytes - open;
    pending = open === 0 ? [] : [all.slice(whole)];
    pendingBytes = open;
    const bytes = open === 0 ? all : all.slice(0, whole);
    yield { ref: { kind: 'bytes', name, bytes }, sourceBytes: progress.read };
  }
  if (pendingBytes > 0)
    yield {
      ref: { kind: 'bytes', name, bytes: concat(pending, pendingBytes) },
      sourceBytes: file.bytes,
    };
}

/** The decoded pieces of a packed file with one or many members. Bytes are counted as they appear. */
async function* decoded(
  file: FileReader,
  layer: Layer,
  name: string,
  progress = { read: 0 },
): AsyncGenerator<Uint8Array> {
  const input = countedInput(file, progress);
  const pieces = layer === 'bzip2' ? bunzip2(input, name) : gunzip(file, input, name);
  let total = 0;
  for await (const piece of pieces) {
    total += piece.length;
    if (total > budgets.decompressedBytes) throw tooMuchDecoded(name);
    yield piece;
  }
}

async function* gunzip(
  file: FileReader,
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: 1 << 20 });
  const input = Readable.from(bytes);
  input.on('error', (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
    // zlib stops in silence at bytes behind the last member that do not begin another one.
    if (gunzip.bytesWritten < file.bytes && !(await isZeroFrom(file, gunzip.bytesWritten)))
      throw new InputError(
        { file: name, byte: gunzip.bytesWritten },
        'something other than gzip data follows the last gzip member',
      );
  } catch (error) {
    throw asInputError(error, name);
  } finally {
    input.destroy();
    gunzip.destroy();
  }
}

async function* countedInput(
  file: FileReader,
  progress: { read: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of file.stream()) {
    progress.read += piece.length;
    yield piece;
  }
}

/** An error of zlib in words: what is wrong with the file. */
export function asInputError(error: unknown, name: string, byte?: number): unknown {
  const code = (error as { code?: unknown }).code;
  const position = byte === undefined ? { file: name } : { file: name, byte };
  if (code === 'Z_BUF_ERROR') return truncated(name, byte);
  if (code === 'Z_DATA_ERROR')
    return new InputError(
      position,
      `the compressed data is damaged (${(error as Error).message})`,
      error,
    );
  return error;
}

/** A compressed file that ends in the middle. */
export function truncated(name: string, byte?: number): InputError {
  const position = byte === undefined ? { file: name } : { file: name, byte };
  return new InputError(position, 'the compressed file ends early: it was cut off, fetch it again');
}

/** A line beyond the budget. */
export function lineTooLong(name: string): InputError {
  return new InputError(
    { file: name },
    `a line is longer than ${budgets.lineBytes} bytes (budget lineBytes)`,
  );
}

function tooMuchDecoded(name: string): AppError {
  return new AppError(
    'budget',
    `${name}: more than ${budgets.decompressedBytes} decompressed bytes (budget decompressedBytes)`,
  );
}

async function isZeroFrom(file: FileReader, from: number): Promise<boolean> {
  for await (const piece of file.stream(from)) if (piece.some((byte) => byte !== 0)) return false;
  return true;
}

function littleEndian32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  );
}

function concat(pieces: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
