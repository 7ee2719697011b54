import { budgets } from '../../engine/core/budgets.js';
import { InputError } from '../../engine/core/errors.js';
import type { FileReader } from '../../engine/core/files.js';
import type { ChunkRef } from './chunks.js';
import { withoutDropped, type CutFault, type Cutter } from './splitter.js';
import type { Source } from './open.js';

/**
 * Pieces of a plain file between records. One thread looks for the borders, which for most text is a search for quotes;
 * the pool's threads read the pieces themselves.
 */
export async function* recordRanges(
  file: FileReader,
  name: string,
  bodyOffset: number,
  targetBytes: number,
  cutter: Cutter,
  signal?: AbortSignal,
): ReturnType<Source['chunks']> {
  const common = { kind: 'records', name, file: file.path } as const;
  let window = new Uint8Array(0);
  let size = targetBytes;
  for (let from = bodyOffset; from < file.bytes;) {
    signal?.throwIfAborted();
    if (window.length < size) window = new Uint8Array(size);
    const filled = await file.readInto(window.subarray(0, size), from);
    if (filled === 0) throw new InputError({ file: name, byte: from }, 'the file ends early');
    const isLast = from + filled >= file.bytes;
    const cut = cutter.next(window.subarray(0, filled), isLast);
    if (cut.kind === 'fault') throw await faultError(cut, name, from, file.stream());
    if (cut.end === 0) {
      if (size > budgets.lineBytes) throw recordTooLong(name);
      size *= 2;
      continue;
    }
    const to = from + cut.end;
    const { dropped, start } = cut;
    yield { ref: { ...common, from, to, dropped, ...(start && { start }) }, sourceBytes: to };
    from = to;
    size = targetBytes;
  }
}

/** The same of a packed file: one thread decodes it and hands out the pieces. `decoded` begins it anew each time. */
export async function* decodedRecords(
  decoded: (progress?: { read: number }) => AsyncIterable<Uint8Array>,
  name: string,
  bodyOffset: number,
  targetBytes: number,
  cutter: Cutter,
  signal?: AbortSignal,
): ReturnType<Source['chunks']> {
  let toSkip = bodyOffset;
  let from = bodyOffset;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let wanted = targetBytes;
  const progress = { read: 0 };

  const cut = async (isLast: boolean): Promise<ChunkRef | undefined> => {
    if (pendingBytes === 0) return undefined;
    const all = joined(pending, pendingBytes);
    const found = cutter.next(all, isLast);
    if (found.kind === 'fault') throw await faultError(found, name, from, decoded());
    pending = [all.subarray(found.end)];
    pendingBytes -= found.end;
    from += found.end;
    if (found.end > 0) {
      wanted = targetBytes;
      const bytes = withoutDropped(all.slice(0, found.end), found.dropped);
      return { kind: 'bytes', name, bytes, ...(found.start && { start: found.start }) };
    }
    if (pendingBytes > budgets.lineBytes) throw recordTooLong(name);
    wanted = pendingBytes * 2;
    return undefined;
  };

  for await (const piece of decoded(progress)) {
    signal?.throwIfAborted();
    const skipped = Math.min(toSkip, piece.length);
    toSkip -= skipped;
    if (skipped === piece.length) continue;
    pending.push(piece.subarray(skipped));
    pendingBytes += piece.length - skipped;
    if (pendingBytes < wanted) continue;
    const ref = await cut(false);
    if (ref) yield { ref, sourceBytes: progress.read };
  }
  for (let ref; (ref = await cut(true)) !== undefined;) yield { ref, sourceBytes: progress.read };
}

/** The fault as an error that names its line, for which the source is read once more: it is the last thing done with it. */
async function faultError(
  { at, message }: CutFault,
  name: string,
  from: number,
  text: AsyncIterable<Uint8Array>,
): Promise<InputError> {
  const byte = from + at;
  let left = byte;
  let line = 1;
  let previous = 0;
  for await (const piece of text) {
    const end = Math.min(left, piece.length);
    for (let i = 0; i < end; i++) {
      const c = piece[i]!;
      if (c === 13 || (c === 10 && previous !== 13)) line++;
      previous = c;
    }
    left -= end;
    if (left === 0) break;
  }
  return new InputError({ file: name, line, byte }, message);
}

function recordTooLong(name: string): InputError {
  return new InputError(
    { file: name },
    `a record is longer than ${budgets.lineBytes} bytes (budget lineBytes)`,
  );
}

function joined(pieces: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
