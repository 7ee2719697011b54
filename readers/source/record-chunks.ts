import { budgets } from '../../engine/core/budgets.js';
import { InputError } from '../../engine/core/errors.js';
import type { FileReader } from '../../engine/core/files.js';
import type { ChunkRef } from './chunks.js';
import { concatenateBytes } from './decompress.js';
import { recordTooLongError } from './input-errors.js';
import type { ChunkOptions, ChunkStream } from './source.js';
import { removeDroppedRanges, type SplitFault, type Splitter } from './splitter.js';

/**
 * Yields ranges of whole records of an uncompressed file. One thread finds the boundaries by the splitter of the format; pool threads read
 * the ranges themselves.
 */
export async function* recordRangeChunks(
  file: FileReader,
  { name, bodyOffset, targetBytes, signal }: ChunkOptions,
  splitter: Splitter,
): ChunkStream {
  const commonRef = { kind: 'records', name, file: file.path } as const;
  let window = new Uint8Array(0);
  let wantedBytes = targetBytes;
  for (let from = bodyOffset; from < file.bytes;) {
    signal?.throwIfAborted();
    if (window.length < wantedBytes) window = new Uint8Array(wantedBytes);
    const filledBytes = await file.readInto(window.subarray(0, wantedBytes), from);
    if (filledBytes === 0) throw new InputError({ file: name, byte: from }, 'the file ends early');
    const isLast = from + filledBytes >= file.bytes;
    const boundary = splitter.next(window.subarray(0, filledBytes), isLast);
    if (boundary.kind === 'fault')
      throw await errorOfSplitFault(boundary, name, from, file.stream());
    if (boundary.end === 0) {
      if (wantedBytes > budgets.lineBytes) throw recordTooLongError(name);
      wantedBytes *= 2;
      continue;
    }
    const to = from + boundary.end;
    const { dropped, start } = boundary;
    yield { ref: { ...commonRef, from, to, dropped, ...(start && { start }) }, sourceBytes: to };
    from = to;
    wantedBytes = targetBytes;
  }
}

/** Yields whole records of a file that one thread decompresses or decodes; each call of `readText` begins at the start of the file. */
export async function* decompressedRecordChunks(
  readText: (progress?: { read: number }) => AsyncIterable<Uint8Array>,
  { name, bodyOffset, targetBytes, signal }: ChunkOptions,
  splitter: Splitter,
): ChunkStream {
  let bytesToSkip = bodyOffset;
  let from = bodyOffset;
  let pendingPieces: Uint8Array[] = [];
  let pendingBytes = 0;
  let wantedBytes = targetBytes;
  const progress = { read: 0 };

  const splitPending = async (isLast: boolean): Promise<ChunkRef | undefined> => {
    if (pendingBytes === 0) return undefined;
    const pendingText = concatenateBytes(pendingPieces, pendingBytes);
    const boundary = splitter.next(pendingText, isLast);
    if (boundary.kind === 'fault') throw await errorOfSplitFault(boundary, name, from, readText());
    pendingPieces = [pendingText.subarray(boundary.end)];
    pendingBytes -= boundary.end;
    from += boundary.end;
    if (boundary.end > 0) {
      wantedBytes = targetBytes;
      const bytes = removeDroppedRanges(pendingText.slice(0, boundary.end), boundary.dropped);
      return { kind: 'bytes', name, bytes, ...(boundary.start && { start: boundary.start }) };
    }
    if (pendingBytes > budgets.lineBytes) throw recordTooLongError(name);
    wantedBytes = pendingBytes * 2;
    return undefined;
  };

  for await (const piece of readText(progress)) {
    signal?.throwIfAborted();
    const skippedBytes = Math.min(bytesToSkip, piece.length);
    bytesToSkip -= skippedBytes;
    if (skippedBytes === piece.length) continue;
    pendingPieces.push(piece.subarray(skippedBytes));
    pendingBytes += piece.length - skippedBytes;
    if (pendingBytes < wantedBytes) continue;
    const ref = await splitPending(false);
    if (ref) yield { ref, sourceBytes: progress.read };
  }
  for (let ref; (ref = await splitPending(true)) !== undefined;)
    yield { ref, sourceBytes: progress.read };
}

/** Returns the InputError for a fault. Reads the source again from its start, to count the lines before the fault. */
async function errorOfSplitFault(
  { at, message }: SplitFault,
  name: string,
  from: number,
  pieces: AsyncIterable<Uint8Array>,
): Promise<InputError> {
  const faultOffset = from + at;
  let bytesLeft = faultOffset;
  let line = 1;
  let previous = 0;
  for await (const piece of pieces) {
    const end = Math.min(bytesLeft, piece.length);
    for (let i = 0; i < end; i++) {
      const c = piece[i]!;
      if (c === 13 || (c === 10 && previous !== 13)) line++;
      previous = c;
    }
    bytesLeft -= end;
    if (bytesLeft === 0) break;
  }
  return new InputError({ file: name, line, byte: faultOffset }, message);
}
