import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { acquire, release } from '../core/buffers.js';

/*
 * zstd for pages, which are about 32 KiB. Node's synchronous functions make a stream and a context of zstd for each call; that takes 20 µs,
 * as long as zstd takes for a page of 8 KiB. So each thread keeps a context for each direction, and calls the handle that these functions
 * call. The handle is not documented: without it, and whenever it does not do exactly what is asked, the documented function is called.
 */

/**
 * Level 1: higher levels take twice the time or more and save a few percent. Tables that fit in the first cache of the processor save
 * 15 % of the time and cost 1 % of the size.
 */
const params = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
};

/** The handle that Node's `processChunkSync` uses (lib/zlib.js). */
interface Handle {
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

/** A stream of Node. After `writeSync`, its state holds the bytes of output and input that remain; after an error, what it held before. */
interface Stream {
  readonly _handle?: Handle;
  readonly _writeState?: Uint32Array;
}

/** A context of zstd that is used for one frame after the other. */
class Context {
  readonly #make: () => Stream;
  readonly #flush: number;
  #handle: Handle | undefined;
  #state: Uint32Array = new Uint32Array(2);
  #isMissing = false;

  constructor(make: () => unknown, flush: number) {
    this.#make = make as () => Stream;
    this.#flush = flush;
  }

  /** Whether this runtime has the handle. */
  get isThere(): boolean {
    return this.#open() !== undefined;
  }

  /**
   * Writes the result for a whole input to `output`, beginning at `at`, and returns where it ends; undefined if that is not before
   * the end of `output`, or if the input is no zstd. A context that was left in the middle of a frame refuses the next frame, because
   * its magic number is not a valid block header.
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
      state.fill(failed);
      handle.writeSync(this.#flush, input, from, unread, output, to, room);
      const roomLeft = state[0]!;
      const unreadLeft = state[1]!;
      const hasFailed = roomLeft === failed || (unreadLeft > 0 && unreadLeft === unread);
      if (hasFailed) return this.#close();
      from += unread - unreadLeft;
      to += room - roomLeft;
    } while (from < input.length);
    return to < output.length ? to : this.#close();
  }

  /** Forgets a context that has failed; the next input gets a new one. */
  #close(): undefined {
    this.#handle = undefined;
  }

  #open(): Handle | undefined {
    if (this.#handle !== undefined || this.#isMissing) return this.#handle;
    const { _handle: handle, _writeState: state } = this.#make();
    this.#isMissing = typeof handle?.writeSync !== 'function' || !ArrayBuffer.isView(state);
    if (this.#isMissing) return undefined;
    // Node's own handler would destroy the stream.
    Object.assign(handle!, { onerror: () => {} });
    this.#state = state!;
    return (this.#handle = handle);
  }
}

const failed = 0xffff_ffff;

const compressor = new Context(() => createZstdCompress({ params }), constants.ZSTD_e_end);
const decompressor = new Context(() => createZstdDecompress(), constants.ZSTD_e_continue);

/** Whether compression contexts are reused. */
export function keepsContexts(): boolean {
  return compressor.isThere && decompressor.isThere;
}

/** Compresses a page to a zstd frame. */
export function compressFrame(plain: Uint8Array): Uint8Array {
  // The bound of zstd (ZSTD_COMPRESSBOUND), and more.
  const output = acquire(Uint8Array, plain.length + (plain.length >> 8) + 128);
  try {
    const end = compressor.write(plain, output, 0);
    if (end !== undefined) return output.slice(0, end);
  } finally {
    release(output);
  }
  return zstdCompressSync(plain, { pledgedSrcSize: plain.length, params });
}

/**
 * The content of zstd frames, concatenated: `plainBytes` bytes, or a `RangeError`. It is a part of `output`, which has one byte more at least, if that is
 * given.
 */
export function decompressFrames(
  frames: readonly Uint8Array[],
  plainBytes: number,
  // Has one byte more than needed, which shows whether the frame has more.
  output: Uint8Array = Buffer.allocUnsafeSlow(plainBytes + 1),
): Uint8Array {
  let end: number | undefined = 0;
  for (const frame of frames) {
    end = decompressor.write(frame, output, end);
    if (end === undefined) break;
  }
  return end === plainBytes ? output.subarray(0, end) : decompressAnew(frames, plainBytes);
}

/** Concatenated frames are a stream (RFC 8878, section 3.1). */
function decompressAnew(frames: readonly Uint8Array[], plainBytes: number): Uint8Array {
  // Is one byte larger than needed, so that zlib does not allocate a second buffer.
  const chunkSize = Math.max(64, plainBytes + 1);
  const plain = zstdDecompressSync(Buffer.concat(frames), {
    maxOutputLength: chunkSize,
    chunkSize,
  });
  if (plain.length !== plainBytes)
    throw new RangeError('a page does not have the uncompressed length that its header gives');
  return plain;
}
