import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { acquireBuffer, releaseBuffer } from '../core/buffers.js';

/*
 * Compression of pages, which have about 32 KiB, with zstd. Each call of Node's synchronous functions creates a stream and a zstd context,
 * which takes 20 µs: as long as zstd itself takes for a page of 8 KiB. So each thread keeps one context per direction, and calls Node's
 * internal zlib handle directly. The handle is not documented: where it is absent or behaves unexpectedly, the documented function is
 * called.
 */

/**
 * Compression level 1: higher levels take at least twice the time and save a few percent. Tables that fit in the processor's first-level
 * cache save 15 % of the time and cost 1 % of the size.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
};

/** The handle that Node's `processChunkSync` uses (lib/zlib.js). */
interface ZstdHandle {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputFrom: number,
    inputBytes: number,
    output: Uint8Array,
    outputFrom: number,
    outputBytes: number,
  ): void;
}

/**
 * A zlib stream of Node. After `writeSync`, its state holds the number of bytes of output and input that remain; after an error, the state
 * is unchanged.
 */
interface ZstdStream {
  readonly _handle?: ZstdHandle;
  readonly _writeState?: Uint32Array;
}

/** A zstd context that is reused for one frame after the other. */
class ZstdContext {
  readonly #make: () => ZstdStream;
  readonly #flush: number;
  #handle: ZstdHandle | undefined;
  #state: Uint32Array = new Uint32Array(2);
  #isMissing = false;

  constructor(make: () => unknown, flush: number) {
    this.#make = make as () => ZstdStream;
    this.#flush = flush;
  }

  /**
   * Compresses or decompresses a whole input into `output`, beginning at `at`. Returns the end of the result; undefined if that is not
   * before the end of `output`, if the input is not zstd, or if Node has no such handle. A context left in the middle of a frame refuses
   * the next frame, because that begins with a magic number, which is not a valid block header.
   */
  write(input: Uint8Array, output: Uint8Array, at: number): number | undefined {
    const handle = this.#open();
    if (handle === undefined) return undefined;
    const state = this.#state;
    let from = 0;
    let to = at;
    do {
      const unread = input.length - from;
      const room = output.length - to;
      state.fill(failedState);
      handle.writeSync(this.#flush, input, from, unread, output, to, room);
      const roomLeft = state[0]!;
      const unreadLeft = state[1]!;
      const hasFailed = roomLeft === failedState || (unreadLeft > 0 && unreadLeft === unread);
      if (hasFailed) return this.#close();
      from += unread - unreadLeft;
      to += room - roomLeft;
    } while (from < input.length);
    return to < output.length ? to : this.#close();
  }

  /** Drops a context that has failed; the next input gets a new one. */
  #close(): undefined {
    this.#handle = undefined;
  }

  #open(): ZstdHandle | undefined {
    if (this.#handle !== undefined || this.#isMissing) return this.#handle;
    const { _handle: handle, _writeState: state } = this.#make();
    this.#isMissing = typeof handle?.writeSync !== 'function' || !ArrayBuffer.isView(state);
    if (this.#isMissing) return undefined;
    // Node's own error handler would destroy the stream.
    Object.assign(handle!, { onerror: () => {} });
    this.#state = state!;
    return (this.#handle = handle);
  }
}

const failedState = 0xffff_ffff;

const compressor = new ZstdContext(
  () => createZstdCompress({ params: zstdParams }),
  constants.ZSTD_e_end,
);
const decompressor = new ZstdContext(() => createZstdDecompress(), constants.ZSTD_e_continue);

/** Compresses a page to a zstd frame. */
export function compressFrame(plain: Uint8Array): Uint8Array {
  // The maximum size of the result by zstd (ZSTD_COMPRESSBOUND), and a margin.
  const output = acquireBuffer(Uint8Array, plain.length + (plain.length >> 8) + 128);
  try {
    const end = compressor.write(plain, output, 0);
    if (end !== undefined) return output.slice(0, end);
  } finally {
    releaseBuffer(output);
  }
  return zstdCompressSync(plain, { pledgedSrcSize: plain.length, params: zstdParams });
}

/**
 * Decompresses zstd frames to exactly `plainBytes` bytes in total. Throws a `RangeError` if that fails. The result is a view of `output`,
 * which, if given, must have at least one byte more. If Node's documented function has to be called, the result is in new memory.
 */
export function decompressFrames(
  frames: readonly Uint8Array[],
  plainBytes: number,
  // Has one byte more than needed: if that byte is written, the frame is longer than expected.
  output: Uint8Array = Buffer.allocUnsafeSlow(plainBytes + 1),
): Uint8Array {
  let end: number | undefined = 0;
  for (const frame of frames) {
    end = decompressor.write(frame, output, end);
    if (end === undefined) break;
  }
  return end === plainBytes
    ? output.subarray(0, end)
    : decompressWithNewContext(frames, plainBytes);
}

/** Decompresses frames by one call of Node: concatenated, they are a valid stream (RFC 8878, section 3.1). */
function decompressWithNewContext(frames: readonly Uint8Array[], plainBytes: number): Uint8Array {
  // The buffer is one byte larger than needed, so that zlib does not allocate a second one.
  const chunkSize = Math.max(64, plainBytes + 1);
  const options = { maxOutputLength: chunkSize, chunkSize };
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(Buffer.concat(frames), options);
  } catch (error) {
    throw new RangeError('a page cannot be decompressed', { cause: error });
  }
  if (plain.length !== plainBytes)
    throw new RangeError('a page does not have the uncompressed length that its header gives');
  return plain;
}
