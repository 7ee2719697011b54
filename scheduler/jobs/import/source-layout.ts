import { readerNamed, detectReaderForContent } from '../../../readers/index.js';
import type { Header, Reader } from '../../../readers/reader.js';
import type { ChunkStream, Source } from '../../../readers/source/source.js';
import type { ImportSource } from './import-source.js';

/** How a source is read: its reader, its header, and the size of its chunks. */
export interface SourceLayout {
  readonly reader: Reader;
  /** The parameters, parsed by the reader. */
  readonly params: unknown;
  readonly header: Header<unknown>;
  readonly compression: Source['compression'];
  /** Warnings about the file as a whole; complete when all its chunks have been enumerated. */
  readonly warnings: readonly string[];
  readonly chunkBytes: number;
  /** Whether the estimated decoded size is less than two chunks of the usual size for each thread. */
  readonly isSmall: boolean;
}

/**
 * Reads the header of a source, with the reader that the request names or else the one that fits the content, and chooses the size of the
 * chunks for a pool of `threads` threads.
 */
export async function readLayout(
  { reader: name, isReaderNamed, readerParams }: ImportSource,
  source: Source,
  threads: number,
): Promise<SourceLayout> {
  const namedReader = readerNamed(name);
  const reader = isReaderNamed
    ? namedReader
    : await detectReaderForContent(namedReader, source.head);
  const params = reader.params(readerParams);
  const header = await reader.header(source.head, params);
  const { compression, warnings } = source;
  const chunkBytes = targetChunkBytes(source, threads, header.memoryPerByte);
  const isSmall = decodedBytes(source) < chunkSizeBytes.usual * threads * 2;
  const layout = { reader, params, header, compression, warnings, chunkBytes, isSmall };
  if (reader === namedReader) return layout;
  const warning = `the name suggests ${namedReader.name}, but the content is ${reader.name}: read as ${reader.name}; set reader_params.reader to choose`;
  return { ...layout, header: { ...header, warnings: [warning, ...header.warnings] } };
}

/** Returns the chunks of an open source. */
export function chunksOf(
  { reader, params, header, chunkBytes }: SourceLayout,
  source: Source,
  signal: AbortSignal,
): ChunkStream {
  const splitter = reader.splitter?.(header.header, params);
  return source.chunks(header.bodyOffset, chunkBytes, signal, splitter);
}

/**
 * Decoded bytes per chunk: large enough for good Parquet row groups, and small enough that memory depends only on the number of
 * threads. With 16 MB the worker peaked at 568 MB over five million records, with 8 MB at 478 MB, in the same time.
 */
const chunkSizeBytes = { least: 2 << 20, usual: 8 << 20, most: 32 << 20 };

/** Maximum memory of the columns of a chunk, in bytes, unless even a chunk of 64 kB needs more. */
const maxChunkMemoryBytes = 96 << 20;

/**
 * Returns the target size of the chunks of a source, in decoded bytes: a file has at least one chunk for each thread, unless the chunks
 * would be smaller than `chunkSizeBytes.least`, and the chunks of large files grow up to `chunkSizeBytes.most`, so that there are fewer
 * segments. `memoryPerByte` (`Header.memoryPerByte`) may reduce the size.
 */
export function targetChunkBytes(
  source: Pick<Source, 'bytes' | 'compression'>,
  threads: number,
  memoryPerByte = 1,
): number {
  const maxChunkBytes = Math.max(1 << 16, Math.floor(maxChunkMemoryBytes / memoryPerByte));
  return Math.min(usualChunkBytes(source, threads), maxChunkBytes);
}

function usualChunkBytes(source: Pick<Source, 'bytes' | 'compression'>, threads: number): number {
  const bytes = decodedBytes(source);
  const { least, usual, most } = chunkSizeBytes;
  if (bytes < usual * threads * 2) {
    // Fewer chunks have less overhead, because each has its own dictionaries and files. Most compressed files are decoded sequentially;
    // with more chunks, more of the decoding overlaps with the reading.
    const chunksPerThread =
      source.compression === 'plain' && bytes <= 1.5 * usual * threads ? 1 : 2;
    return Math.max(least, Math.ceil(bytes / (threads * chunksPerThread)));
  }
  return Math.min(most, Math.max(usual, Math.ceil(bytes / 500)));
}

/** Estimates the decoded size: gzip compresses VCF and JSON to between a sixth and a tenth of their size. */
function decodedBytes({ bytes, compression }: Pick<Source, 'bytes' | 'compression'>): number {
  return bytes * (compression === 'plain' ? 1 : 8);
}
