import { InputError } from '../../engine/core/errors.js';
import { openFile, type FileReader } from '../../engine/core/files.js';
import { detectCompression, hasByteOrderMark, removeCompressionExtension } from './compression.js';
import { concatenateBytes, decompressStream } from './decompress.js';
import { blockChunks, decompressedLineChunks, rangeChunks } from './line-chunks.js';
import { decompressedRecordChunks, recordRangeChunks } from './record-chunks.js';
import type { ChunkOptions, ChunkStream, HeaderSource, Source } from './source.js';
import {
  detectUtf16,
  utf16ToUtf8,
  utf16SampleBytes,
  type DeclaredEncoding,
  type Utf16ByteOrder,
} from './utf16.js';

/**
 * Opens a file of the data folder as a source, and determines its compression from its content. `encoding` is the encoding that the request
 * declares; null if UTF-16 is to be detected (it is decoded while the file is decompressed); undefined for readers without
 * `Reader.encodingOf`, for which nothing is decoded.
 */
export async function openSource(
  path: string,
  name: string,
  encoding?: DeclaredEncoding,
): Promise<Source> {
  const file = await openFile(path);
  try {
    const decodesUtf16 = encoding === null || encoding?.startsWith('utf-16') === true;
    const compression = detectCompression(await file.read(0, 64), name, decodesUtf16);
    const warnings: string[] = [];
    const readDecompressed = (progress?: { read: number }) =>
      decompressStream(file, compression, name, progress);
    const decompressedStart = new DecompressedFileStart(name, readDecompressed());
    if (compression !== 'plain')
      refuseSecondCompression(
        (await decompressedStart.firstBytesOfFile(64)).bytes,
        name,
        decodesUtf16,
      );
    const byteOrder = decodesUtf16
      ? utf16ByteOrder((await decompressedStart.firstBytesOfFile(utf16SampleBytes)).bytes, encoding)
      : undefined;
    if (byteOrder !== undefined && encoding === null)
      warnings.push('the text is UTF-16 and was decoded: reader_params.encoding declares it');
    const onDamage = () => {
      if (!warnings.includes(invalidUtf16Warning)) warnings.push(invalidUtf16Warning);
    };
    const readText: typeof readDecompressed =
      byteOrder === undefined
        ? readDecompressed
        : (progress) => utf16ToUtf8(readDecompressed(progress), byteOrder, onDamage);
    if (byteOrder !== undefined) await decompressedStart.close();
    const head =
      byteOrder === undefined ? decompressedStart : new DecompressedFileStart(name, readText());
    const byteOrderMarkBytes = hasByteOrderMark((await head.firstBytesOfFile(4)).bytes) ? 3 : 0;
    head.skip(byteOrderMarkBytes);
    if (compression === 'plain' && removeCompressionExtension(name) !== name)
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
        const options = { name, bodyOffset: offset + byteOrderMarkBytes, targetBytes, signal };
        // Pool threads can read chunks from the file directly if no decoding is needed.
        const isDirect = byteOrder === undefined;
        if (isDirect && compression === 'plain')
          return splitter ? recordRangeChunks(file, options, splitter) : rangeChunks(file, options);
        if (isDirect && compression === 'bgzf' && !splitter)
          return blockChunks(file, options, warnings);
        const chunks = splitter
          ? decompressedRecordChunks(readText, options, splitter)
          : decompressedLineChunks(readText, file.bytes, options);
        return compression === 'bgzf' ? checkBgzfBlocks(chunks, file, options, warnings) : chunks;
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

const invalidUtf16Warning = 'bytes that are not UTF-16 were replaced by U+FFFD';

/** Returns the byte order of UTF-16 text, according to the request, its byte order mark or its first bytes; undefined for other text. */
function utf16ByteOrder(start: Uint8Array, encoding: DeclaredEncoding): Utf16ByteOrder | undefined {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return encoding;
  return detectUtf16(start) ?? (encoding === 'utf-16' ? 'utf-16le' : undefined);
}

function refuseSecondCompression(text: Uint8Array, name: string, decodesUtf16: boolean): void {
  if (detectCompression(text, name, decodesUtf16) !== 'plain') {
    throw new InputError({ file: name, byte: 0 }, 'compressed twice: unpack one layer first');
  }
}

/** Yields chunks of a BGZF file that is decompressed as plain gzip, and then checks the structure of its blocks, such as the end block. */
async function* checkBgzfBlocks(
  chunks: ChunkStream,
  file: FileReader,
  options: ChunkOptions,
  warnings: string[],
): ChunkStream {
  yield* chunks;
  for await (const _ of blockChunks(file, { ...options, targetBytes: Infinity }, warnings));
}

/** The decompressed start of a file, read on demand. */
class DecompressedFileStart implements HeaderSource {
  readonly name: string;
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #bytes: Uint8Array = new Uint8Array(0);
  #isWhole = false;
  #skippedBytes = 0;

  constructor(name: string, pieces: AsyncGenerator<Uint8Array>) {
    this.name = name;
    this.#pieces = pieces;
  }

  async firstBytes(atLeast: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const { bytes, isWhole } = await this.firstBytesOfFile(atLeast + this.#skippedBytes);
    return { bytes: bytes.subarray(this.#skippedBytes), isWhole };
  }

  /** Returns at least this many bytes from the start of the file, or all, including those that `skip` has set aside. */
  async firstBytesOfFile(atLeast: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const pieces = [this.#bytes];
    let byteCount = this.#bytes.length;
    while (byteCount < atLeast && !this.#isWhole) {
      const { value, done } = await this.#pieces.next();
      if (done) this.#isWhole = true;
      else {
        pieces.push(value);
        byteCount += value.length;
      }
    }
    if (pieces.length > 1) this.#bytes = concatenateBytes(pieces, byteCount);
    return { bytes: this.#bytes, isWhole: this.#isWhole };
  }

  /** Makes `firstBytes` leave out the first `bytes` bytes. */
  skip(bytes: number): void {
    this.#skippedBytes = bytes;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}
