import { budgets } from '../../engine/core/budgets.js';
import { InputError } from '../../engine/core/errors.js';
import type { FileReader } from '../../engine/core/files.js';
import { bgzfBlockBytes } from './compression.js';
import { concatenateBytes, isZeroFrom } from './decompress.js';
import {
  lineTooLongError,
  decompressedTooLargeError,
  truncatedInputError,
} from './input-errors.js';
import type { ChunkOptions, ChunkStream } from './source.js';

/** Yields ranges of an uncompressed file; the threads that load a range find its line ends. */
export async function* rangeChunks(
  file: FileReader,
  { name, bodyOffset, targetBytes }: ChunkOptions,
): ChunkStream {
  const commonRef = { kind: 'range', name, file: file.path, skip: 0 } as const;
  for (let from = bodyOffset; from < file.bytes;) {
    const to = Math.min(from + targetBytes, file.bytes);
    yield { ref: { ...commonRef, from, to, isFirst: from === bodyOffset }, sourceBytes: to };
    from = to;
  }
}

/**
 * Yields runs of BGZF blocks (SAM specification, section 4.1). The header of a block has its size, and its last four bytes the size of its
 * text, so no block is decompressed.
 */
export async function* blockChunks(
  file: FileReader,
  { name, bodyOffset, targetBytes, signal }: ChunkOptions,
  warnings: string[],
): ChunkStream {
  const commonRef = { kind: 'bgzf', name, file: file.path } as const;
  let from = 0;
  let decodedBytes = 0;
  let wantedOffset = bodyOffset + targetBytes;
  let at = 0;
  let lastDecodedBytes = -1;
  let isFirst = true;
  let window: Uint8Array = new Uint8Array(0);
  let windowFrom = 0;
  while (at < file.bytes) {
    if (at + 65_536 > windowFrom + window.length && windowFrom + window.length < file.bytes) {
      signal?.throwIfAborted();
      window = await file.read(at, 4 << 20);
      windowFrom = at;
    }
    const blockBytes = bgzfBlockBytes(window, at - windowFrom);
    if (blockBytes === 0) {
      if (await isZeroFrom(file, at)) break;
      throw new InputError(
        { file: name, byte: at },
        'no BGZF block begins at this compressed byte: the file is damaged or has something appended',
      );
    }
    const end = at + blockBytes;
    if (end > file.bytes) throw truncatedInputError(name, at);
    lastDecodedBytes = littleEndian32(window, end - 4 - windowFrom);
    decodedBytes += lastDecodedBytes; // this size is verified later, when the block is decompressed
    if (decodedBytes > budgets.decompressedBytes) throw decompressedTooLargeError(name);
    at = end;
    if (decodedBytes >= wantedOffset) {
      yield {
        ref: { ...commonRef, from, to: at, isFirst, skip: isFirst ? bodyOffset : 0 },
        sourceBytes: at,
      };
      from = at;
      isFirst = false;
      wantedOffset = decodedBytes + targetBytes;
    }
  }
  if (at > from)
    yield {
      ref: { ...commonRef, from, to: at, isFirst, skip: isFirst ? bodyOffset : 0 },
      sourceBytes: at,
    };
  const warning = 'the BGZF end block is missing: the file may have been cut at a block border';
  if (lastDecodedBytes !== 0 && !warnings.includes(warning)) warnings.push(warning);
}

/** Yields whole lines of a text that one thread decompresses or decodes; the file has `fileBytes` bytes. */
export async function* decompressedLineChunks(
  readText: (progress: { read: number }) => AsyncIterable<Uint8Array>,
  fileBytes: number,
  { name, bodyOffset, targetBytes, signal }: ChunkOptions,
): ChunkStream {
  let bytesToSkip = bodyOffset;
  let pendingPieces: Uint8Array[] = [];
  let pendingBytes = 0;
  let openLineBytes = 0;
  const progress = { read: 0 };
  for await (const piece of readText(progress)) {
    signal?.throwIfAborted();
    const skippedBytes = Math.min(bytesToSkip, piece.length);
    bytesToSkip -= skippedBytes;
    if (skippedBytes === piece.length) continue;
    const restOfPiece = piece.subarray(skippedBytes);
    const end = restOfPiece.lastIndexOf(10) + 1;
    pendingPieces.push(restOfPiece);
    pendingBytes += restOfPiece.length;
    // The last `openLineBytes` bytes so far belong to a line that has not ended yet.
    if (
      openLineBytes + (end > 0 ? restOfPiece.indexOf(10) : restOfPiece.length) >
      budgets.lineBytes
    )
      throw lineTooLongError(name);
    openLineBytes = end > 0 ? restOfPiece.length - end : openLineBytes + restOfPiece.length;
    if (pendingBytes < targetBytes || openLineBytes === pendingBytes) continue;
    const pendingText = concatenateBytes(pendingPieces, pendingBytes);
    const wholeBytes = pendingBytes - openLineBytes;
    pendingPieces = openLineBytes === 0 ? [] : [pendingText.slice(wholeBytes)];
    pendingBytes = openLineBytes;
    const bytes = openLineBytes === 0 ? pendingText : pendingText.slice(0, wholeBytes);
    yield { ref: { kind: 'bytes', name, bytes }, sourceBytes: progress.read };
  }
  if (pendingBytes > 0)
    yield {
      ref: { kind: 'bytes', name, bytes: concatenateBytes(pendingPieces, pendingBytes) },
      sourceBytes: fileBytes,
    };
}

function littleEndian32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  );
}
