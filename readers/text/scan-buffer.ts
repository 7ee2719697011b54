import { scanKernels } from './scan-kernels.js';
import { instantiate, type Kernel } from '../../engine/core/wasm-assembler.js';

/*
 * Searches and copies text 16 bytes at a time in WebAssembly. For a CSV file of 30 columns, examining each byte in JavaScript took a third
 * of the reader's time, and copying the cells one by one a sixth (docs/decisions/0014-scan-buffer.md).
 */

/** Number of bytes of text that are scanned at once: small enough for the second-level cache of the processor. */
export const maxScannedBytes = 256 << 10;
/** Maximum number of ranges that can be gathered at once. */
export const maxGatheredRanges = 64 << 10;

const vectorSlackBytes = 64; // kernels read and write whole vectors beyond the end of the text
const byteSetAddress = vectorSlackBytes;
const textAddress = byteSetAddress + 32 + vectorSlackBytes;
const positionsAddress = textAddress + maxScannedBytes + vectorSlackBytes;
const rangeStartsAddress = positionsAddress + 4 * (maxScannedBytes + vectorSlackBytes);
const rangeEndsAddress = rangeStartsAddress + 4 * maxGatheredRanges;
const gatheredBytesAddress = rangeEndsAddress + 4 * maxGatheredRanges;
const gatheredEndsAddress = gatheredBytesAddress + maxScannedBytes + vectorSlackBytes;
const endAddress = gatheredEndsAddress + 4 * maxGatheredRanges;

/** The addresses of the text and of the ranges, for further kernels, and the end of the memory that `ScanBuffer` itself uses. */
export const scanAddresses = {
  text: textAddress,
  from: rangeStartsAddress,
  to: rangeEndsAddress,
  end: endAddress,
} as const;

/** A set of up to eight bytes to search for. */
export class ByteSet {
  readonly nibbleTables: Uint8Array = new Uint8Array(32);

  constructor(bytes: readonly number[]) {
    for (const [i, byte] of bytes.entries()) {
      this.nibbleTables[byte & 15]! |= 1 << i;
      this.nibbleTables[16 + (byte >> 4)]! |= 1 << i;
    }
  }
}

interface ScanKernelExports {
  search(...of: readonly number[]): number;
  gather(...of: readonly number[]): number;
}

/**
 * A part of a text in which bytes are searched, and from which ranges are copied, at the speed of memory. Each thread has one instance of
 * each class, whose content is valid until the next `loadText`. `E` is the type of the functions of further kernels.
 */
export class ScanBuffer<E = object> {
  protected readonly kernelExports: E &
    ScanKernelExports & { readonly memory: { readonly buffer: ArrayBuffer } };
  /** The text in the first `textLength` bytes; the bytes after it are undefined. */
  readonly bytes: Uint8Array;
  /** Positions of the bytes found by `search`, ascending. */
  readonly positions: Int32Array;
  /** Starts and ends of the ranges for `gather`. */
  readonly rangeStarts: Int32Array;
  readonly rangeEnds: Int32Array;
  /** The gathered ranges, concatenated. `gatheredOffsets` has a leading 0 and then the end of each range. */
  readonly gatheredBytes: Uint8Array;
  readonly gatheredEnds: Int32Array;
  readonly gatheredOffsets: Int32Array;
  textLength = 0;
  readonly #byteSet: Uint8Array;

  /** `moreKernels` are further kernels for the same text, which use the memory from `scanAddresses.end` to `memoryEnd`. */
  constructor(moreKernels: readonly Kernel[] = [], memoryEnd: number = endAddress) {
    this.kernelExports = instantiate<E & ScanKernelExports>(
      [...scanKernels, ...moreKernels],
      Math.ceil(memoryEnd / 65_536),
    );
    const { buffer } = this.kernelExports.memory;
    this.bytes = new Uint8Array(buffer, textAddress, maxScannedBytes + vectorSlackBytes);
    this.#byteSet = new Uint8Array(buffer, byteSetAddress, 32);
    this.positions = new Int32Array(buffer, positionsAddress, maxScannedBytes + vectorSlackBytes);
    this.rangeStarts = new Int32Array(buffer, rangeStartsAddress, maxGatheredRanges);
    this.rangeEnds = new Int32Array(buffer, rangeEndsAddress, maxGatheredRanges);
    this.gatheredBytes = new Uint8Array(
      buffer,
      gatheredBytesAddress,
      maxScannedBytes + vectorSlackBytes,
    );
    this.gatheredEnds = new Int32Array(buffer, gatheredEndsAddress, maxGatheredRanges);
    this.gatheredOffsets = new Int32Array(buffer, gatheredEndsAddress - 4, maxGatheredRanges + 1);
  }

  /** Copies `source`, from `at` on, into the buffer, as far as there is room. */
  loadText(source: Uint8Array, at: number): void {
    this.textLength = Math.min(maxScannedBytes, source.length - at);
    this.bytes.set(source.subarray(at, at + this.textLength));
  }

  /** Fills `positions` with the positions of the set's bytes in the text; returns their number. */
  search({ nibbleTables }: ByteSet): number {
    this.#byteSet.set(nibbleTables);
    const end = this.kernelExports.search(
      textAddress,
      textAddress + this.textLength,
      positionsAddress,
      byteSetAddress,
    );
    let count = (end - positionsAddress) / 4;
    while (count > 0 && this.positions[count - 1]! >= this.textLength) count--;
    return count;
  }

  /** Gathers `count` ranges, of which the first has the index `first`; returns their total length. */
  gather(first: number, count: number): number {
    return this.kernelExports.gather(
      textAddress,
      rangeStartsAddress + 4 * first,
      rangeEndsAddress + 4 * first,
      count,
      gatheredBytesAddress,
      gatheredEndsAddress,
    );
  }
}

let scanBufferOfThread: ScanBuffer | undefined;

/** Returns the buffer of this thread. */
export function scanBuffer(): ScanBuffer {
  return (scanBufferOfThread ??= new ScanBuffer());
}
