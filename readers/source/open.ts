import { InputError } from '../../engine/core/errors.js';
import { openFile, type FileReader } from '../../engine/core/files.js';
import type { HeaderSource } from '../reader.js';
import { compressionOf, hasByteOrderMark, type Compression } from './compression.js';
import { concat, decompressed } from './decompress.js';
import { blockChunks, decompressedLineChunks, rangeChunks } from './line-chunks.js';
import { decompressedRecordChunks, recordRangeChunks } from './record-chunks.js';
import type { ChunkOptions, Chunks, Source } from './source.js';
import type { Splitter } from './splitter.js';

/** Opens a file of the data folder as a source; its compression is found from its content. */
export async function openSource(path: string, name: string): Promise<Source> {
  const file = await openFile(path);
  try {
    const compression = compressionOf(await file.read(0, 64), name);
    const head = new FileStart(file, compression, name);
    const markBytes = hasByteOrderMark((await head.raw(4)).bytes) ? 3 : 0;
    if (compression !== 'plain') refuseSecondCompression((await head.raw(64)).bytes, name);
    head.skip(markBytes);
    const warnings: string[] = [];
    if (compression === 'plain' && /\.(?:gz|bgz|bgzf|bz2)$/i.test(name))
      warnings.push(
        'the name says compressed and the content is not compressed: read as plain text',
      );
    return {
      name,
      compression,
      bytes: file.bytes,
      head,
      warnings,
      chunks(offset, targetBytes, signal, splitter) {
        const options = { name, bodyOffset: offset + markBytes, targetBytes, signal };
        if (splitter) return recordChunks(file, compression, options, splitter, warnings);
        if (compression === 'plain') return rangeChunks(file, options);
        if (compression === 'bgzf') return blockChunks(file, options, warnings);
        return decompressedLineChunks(file, compression, options);
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

function refuseSecondCompression(text: Uint8Array, name: string): void {
  if (compressionOf(text, name) !== 'plain') {
    throw new InputError({ file: name, byte: 0 }, 'compressed twice: unpack one layer first');
  }
}

/** Chunks of whole records, as the splitter finds them. */
async function* recordChunks(
  file: FileReader,
  compression: Compression,
  options: ChunkOptions,
  splitter: Splitter,
  warnings: string[],
): Chunks {
  if (compression === 'plain') {
    yield* recordRangeChunks(file, options, splitter);
    return;
  }
  const text = (progress?: { read: number }) =>
    decompressed(file, compression, options.name, progress);
  yield* decompressedRecordChunks(text, options, splitter);
  if (compression !== 'bgzf') return;
  // The file was read as plain gzip; the blocks are checked here for what only they show, such as a missing end block.
  for await (const _ of blockChunks(file, { ...options, targetBytes: Infinity }, warnings));
}

/** The decompressed start of a file, read on demand. */
class FileStart implements HeaderSource {
  readonly name: string;
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #bytes: Uint8Array = new Uint8Array(0);
  #isWhole = false;
  #skip = 0;

  constructor(file: FileReader, compression: Compression, name: string) {
    this.name = name;
    this.#pieces = compression === 'plain' ? file.stream() : decompressed(file, compression, name);
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
