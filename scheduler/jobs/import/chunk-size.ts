import type { Source } from '../../../readers/source/source.js';

/**
 * Decoded bytes per chunk: large enough for good Parquet row groups, small enough for memory to depend on threads alone.
 * With 16 MB the worker peaked at 568 MB over five million records, with 8 MB at 478 MB, in no more time.
 */
const chunkBytes = { least: 2 << 20, usual: 8 << 20, most: 32 << 20 };

/** What the columns of a chunk may come to in memory. */
const memoryBytes = 96 << 20;

/**
 * More pieces than threads even for a small file, and not too many segments for a huge one. `growth` is what a byte of text
 * becomes in memory (`Header.memoryPerByte`).
 */
export function targetBytes(
  source: Pick<Source, 'bytes' | 'compression'>,
  threads: number,
  growth = 1,
): number {
  return Math.min(usualBytes(source, threads), Math.max(1 << 16, Math.floor(memoryBytes / growth)));
}

function usualBytes(source: Pick<Source, 'bytes' | 'compression'>, threads: number): number {
  // VCF and JSON in gzip are a tenth to a sixth of their size.
  const decodedBytes = source.bytes * (source.compression === 'plain' ? 1 : 8);
  const { least, usual, most } = chunkBytes;
  if (decodedBytes < usual * threads * 2) {
    return Math.max(least, Math.ceil(decodedBytes / (threads * 2)));
  }
  return Math.min(most, Math.max(usual, Math.ceil(decodedBytes / 500)));
}
