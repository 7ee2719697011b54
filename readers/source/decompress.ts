import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { budgets } from '../../engine/core/budgets.js';
import { InputError } from '../../engine/core/errors.js';
import type { FileReader } from '../../engine/core/files.js';
import { decompressBzip2 } from './bzip2.js';
import type { Compression } from './compression.js';
import { toInputError, decompressedTooLargeError } from './input-errors.js';

/**
 * Decompresses a gzip, BGZF or bzip2 file of one or more members, in pieces; yields a plain file unchanged. `progress.read` counts the
 * bytes of the file that have been read. Throws InputError if the file is damaged, and AppError if the text exceeds the budget
 * `decompressedBytes`.
 */
export async function* decompressStream(
  file: FileReader,
  compression: Compression,
  name: string,
  progress = { read: 0 },
): AsyncGenerator<Uint8Array> {
  const input = readCountingBytes(file, progress);
  if (compression === 'plain') return yield* input;
  const pieces =
    compression === 'bzip2' ? decompressBzip2(input, name) : gunzipStream(file, input, name);
  let totalBytes = 0;
  for await (const piece of pieces) {
    totalBytes += piece.length;
    if (totalBytes > budgets.decompressedBytes) throw decompressedTooLargeError(name);
    yield piece;
  }
}

async function* gunzipStream(
  file: FileReader,
  compressedPieces: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: 1 << 20 });
  const input = Readable.from(compressedPieces);
  input.on('error', (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
    // zlib ignores bytes after the last member that do not begin another one, so they are checked here.
    if (gunzip.bytesWritten < file.bytes && !(await isZeroFrom(file, gunzip.bytesWritten)))
      throw new InputError(
        { file: name, byte: gunzip.bytesWritten },
        'something other than gzip data follows the last gzip member',
      );
  } catch (error) {
    throw toInputError(error, name);
  } finally {
    input.destroy();
    gunzip.destroy();
  }
}

async function* readCountingBytes(
  file: FileReader,
  progress: { read: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of file.stream()) {
    progress.read += piece.length;
    yield piece;
  }
}

/** Returns whether all bytes of the file from `from` on are zero. */
export async function isZeroFrom(file: FileReader, from: number): Promise<boolean> {
  for await (const piece of file.stream(from)) if (piece.some((byte) => byte !== 0)) return false;
  return true;
}

/** Joins pieces; `totalBytes` is their total size. */
export function concatenateBytes(
  pieces: readonly Uint8Array[],
  totalBytes: number,
): Uint8Array<ArrayBuffer> {
  const allBytes = new Uint8Array(totalBytes);
  let at = 0;
  for (const piece of pieces) {
    allBytes.set(piece, at);
    at += piece.length;
  }
  return allBytes;
}
