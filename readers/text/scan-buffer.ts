import { kernels } from './scan-kernels.js';
import { instantiate, type Kernel } from '../../engine/core/wasm-assembler.js';

/*
 * Text is searched and copied 16 bytes at a time in WebAssembly. For a CSV file of 30 columns, examining each byte in JavaScript
 * took a third of the reader's time, and copying the cells one by one a sixth (docs/decisions/0014-scan-buffer.md).
 */

/** Bytes of text scanned at once: small enough for the second-level cache of the processor. */
export const scanBytes = 256 << 10;
/** Ranges that can be gathered at once. */
export const scanCells = 64 << 10;

const slack = 64; // kernels read and write whole vectors beyond the end
const set = slack;
const text = set + 32 + slack;
const positions = text + scanBytes + slack;
const fromAddress = positions + 4 * (scanBytes + slack);
const toAddress = fromAddress + 4 * scanCells;
const outAddress = toAddress + 4 * scanCells;
const endsAddress = outAddress + scanBytes + slack;
const endAddress = endsAddress + 4 * scanCells;

/** The addresses of the text and of the ranges, for further kernels, and the end of the memory that `ScanBuffer` uses itself. */
export const scanAddresses = {
  text,
  from: fromAddress,
  to: toAddress,
  end: endAddress,
} as const;

/** A set of up to eight bytes to search for. */
export class ByteSet {
  readonly tables: Uint8Array = new Uint8Array(32);

  constructor(bytes: readonly number[]) {
    for (const [i, byte] of bytes.entries()) {
      this.tables[byte & 15]! |= 1 << i;
      this.tables[16 + (byte >> 4)]! |= 1 << i;
    }
  }
}

interface ScanExports {
  search(...of: readonly number[]): number;
  gather(...of: readonly number[]): number;
}

/**
 * A part of a text in which bytes are searched and from which ranges are copied at memory speed. A thread has one instance, whose
 * content is valid until the next `open`. `E` are the functions of further kernels.
 */
export class ScanBuffer<E = object> {
  protected readonly exports: E &
    ScanExports & { readonly memory: { readonly buffer: ArrayBuffer } };
  /** The text in the first `length` bytes; the bytes after it are undefined. */
  readonly bytes: Uint8Array;
  /** Positions of the bytes found by `search`, ascending. */
  readonly positions: Int32Array;
  /** Starts and ends of the ranges for `gather`. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** The gathered ranges, one after the other, and the end of each range; `offsets` has these ends after a leading 0. */
  readonly gathered: Uint8Array;
  readonly ends: Int32Array;
  readonly offsets: Int32Array;
  length = 0;
  readonly #set: Uint8Array;

  /** `more` are further kernels for the same text, which use the memory from `scanAddresses.end` to `memoryEnd`. */
  constructor(more: readonly Kernel[] = [], memoryEnd: number = endAddress) {
    this.exports = instantiate<E & ScanExports>(
      [...kernels, ...more],
      Math.ceil(memoryEnd / 65_536),
    );
    const { buffer } = this.exports.memory;
    this.bytes = new Uint8Array(buffer, text, scanBytes + slack);
    this.#set = new Uint8Array(buffer, set, 32);
    this.positions = new Int32Array(buffer, positions, scanBytes + slack);
    this.from = new Int32Array(buffer, fromAddress, scanCells);
    this.to = new Int32Array(buffer, toAddress, scanCells);
    this.gathered = new Uint8Array(buffer, outAddress, scanBytes + slack);
    this.ends = new Int32Array(buffer, endsAddress, scanCells);
    this.offsets = new Int32Array(buffer, endsAddress - 4, scanCells + 1);
  }

  /** Copies `source` from `at` on into the buffer, as far as there is room. */
  open(source: Uint8Array, at: number): void {
    this.length = Math.min(scanBytes, source.length - at);
    this.bytes.set(source.subarray(at, at + this.length));
  }

  /** Fills `positions` with the positions of the set's bytes in the text; returns their number. */
  search({ tables }: ByteSet): number {
    this.#set.set(tables);
    const end = this.exports.search(text, text + this.length, positions, set);
    let count = (end - positions) / 4;
    while (count > 0 && this.positions[count - 1]! >= this.length) count--;
    return count;
  }

  /** Gathers `count` ranges from `from[first]` on; returns their total length. */
  gather(first: number, count: number): number {
    return this.exports.gather(
      text,
      fromAddress + 4 * first,
      toAddress + 4 * first,
      count,
      outAddress,
      endsAddress,
    );
  }
}

let instance: ScanBuffer | undefined;

/** The buffer of this thread. */
export function scanBuffer(): ScanBuffer {
  return (instance ??= new ScanBuffer());
}
