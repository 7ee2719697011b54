import { readers } from './index.js';
import type { HeadSource, Reader } from './reader.js';

/** So much of a file tells its format. */
const startBytes = 64 << 10;

/**
 * The reader for a file whose name stands for `named`: that one, unless its content certainly is of another format
 * (a VCF called `.txt`, GTF called `.gff`). Not for files whose reader was asked for.
 */
export async function readerOfContent(named: Reader, head: HeadSource): Promise<Reader> {
  const { bytes } = await head.bytes(startBytes);
  const start = Buffer.from(bytes.subarray(0, startBytes)).toString();
  if (named.recognizes?.(start)) return named;
  return readers.find((reader) => reader.recognizes?.(start)) ?? named;
}
