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
  const common = { kind: 'records', name, file: file.path } as const;
  let window = new Uint8Array(0);
  let size = targetBytes;
  for (let from = bodyOffset; from < file.bytes;) {
    signal?.throwIfAborted();
    if (window.length < size) window = new Uint8Array(size);
    const filledBytes = await file.readInto(window.subarray(0, size), from);
    if (filledBytes === 0) throw new InputError({ file: name, byte: from }, 'the file ends early');
    const isLast = from + filledBytes >= file.bytes;
    const split = splitter.next(window.subarray(0, filledBytes), isLast);
    if (split.kind === 'fault') throw await errorOfSplitFault(split, name, from, file.stream());
    if (split.end === 0) {
      if (size > budgets.lineBytes) throw recordTooLongError(name);
      size *= 2;
      continue;
    }
    const to = from + split.end;
    const { dropped, start } = split;
    yield { ref: { ...common, from, to, dropped, ...(start && { start }) }, sourceBytes: to };
    from = to;
    size = targetBytes;
  }
}

/** Yields whole records of a file that one thread decompresses or decodes; each call of `text` begins at the start of the file. */
export async function* decompressedRecordChunks(
  text: (progress?: { read: number }) => AsyncIterable<Uint8Array>,
  { name, bodyOffset, targetBytes, signal }: ChunkOptions,
  splitter: Splitter,
): ChunkStream {
  let toSkip = bodyOffset;
  let from = bodyOffset;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let wantedBytes = targetBytes;
  const progress = { read: 0 };

  const split = async (isLast: boolean): Promise<ChunkRef | undefined> => {
    if (pendingBytes === 0) return undefined;
    const all = concatenateBytes(pending, pendingBytes);
    const found = splitter.next(all, isLast);
    if (found.kind === 'fault') throw await errorOfSplitFault(found, name, from, text());
    pending = [all.subarray(found.end)];
    pendingBytes -= found.end;
    from += found.end;
    if (found.end > 0) {
      wantedBytes = targetBytes;
      const bytes = removeDroppedRanges(all.slice(0, found.end), found.dropped);
      return { kind: 'bytes', name, bytes, ...(found.start && { start: found.start }) };
    }
    if (pendingBytes > budgets.lineBytes) throw recordTooLongError(name);
    wantedBytes = pendingBytes * 2;
    return undefined;
  };

  for await (const piece of text(progress)) {
    signal?.throwIfAborted();
    const skipped = Math.min(toSkip, piece.length);
    toSkip -= skipped;
    if (skipped === piece.length) continue;
    pending.push(piece.subarray(skipped));
    pendingBytes += piece.length - skipped;
    if (pendingBytes < wantedBytes) continue;
    const ref = await split(false);
    if (ref) yield { ref, sourceBytes: progress.read };
  }
  for (let ref; (ref = await split(true)) !== undefined;) yield { ref, sourceBytes: progress.read };
}

/** Returns the InputError for a fault. Reads the source again from its start, to count the lines before the fault. */
async function errorOfSplitFault(
  { at, message }: SplitFault,
  name: string,
  from: number,
  text: AsyncIterable<Uint8Array>,
): Promise<InputError> {
  const faultOffset = from + at;
  let bytesLeft = faultOffset;
  let line = 1;
  let previous = 0;
  for await (const piece of text) {
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
