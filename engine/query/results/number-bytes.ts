import { instantiate } from '../../core/wasm-assembler.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { shortDouble } from './short-double.js';
import type { LeafValues } from './leaf-values.js';
import {
  initialiseNumberMemory,
  numberKernels,
  numberMemoryAddresses,
  maxNumbersPerCall,
} from './number-kernel.js';

/* Writes numbers as ECMAScript does (ECMA-262, Number::toString), as bytes; most are written without a JavaScript string. */

const zeroDigitByte = 48;
const minus = 45;

/** Writes a text that consists of ASCII characters. */
export function writeAscii(out: ByteSink, text: string): void {
  const { length } = text;
  out.reserve(length);
  const { bytes } = out;
  let { endOffset } = out;
  for (let i = 0; i < length; i++) bytes[endOffset++] = text.charCodeAt(i);
  out.endOffset = endOffset;
}

/** Writes an integer between -2^53 and 2^53 in decimal digits. */
export function writeInteger(out: ByteSink, value: number): void {
  out.reserve(20);
  let magnitude = value;
  if (magnitude < 0) {
    out.bytes[out.endOffset++] = minus;
    magnitude = -magnitude;
  }
  if (magnitude >= 1e9) return writeAscii(out, String(magnitude));
  writeDigits(out, magnitude | 0, 1);
}

/** Writes a 64-bit integer, given as two halves. */
export function writeLong(out: ByteSink, low: number, high: number): void {
  // Within ±2^53, the integer is exact as a double.
  if (high >= -0x200000 && high < 0x200000) writeInteger(out, high * 2 ** 32 + (low >>> 0));
  else writeAscii(out, String((BigInt(high) << 32n) | BigInt(low >>> 0)));
}

/** Writes the finite double `values[i]` as `String` does. The double is not an argument, because it would then be an object on the heap. */
export function writeDouble(out: ByteSink, values: Float64Array, i: number): void {
  if (numberKernelsOfThread === undefined) return writeAscii(out, String(values[i]!));
  const { doubles, numbers, ends, bytes } = numberKernelsOfThread;
  numbers[0] = values[i]!;
  if (doubles(1) === 0) return writeAscii(out, String(values[i]!));
  const size = ends[0]! - numberMemoryAddresses.texts;
  out.reserve(size);
  const { bytes: into, endOffset: end } = out;
  for (let at = 0; at < size; at++) into[end + at] = bytes[numberMemoryAddresses.texts + at]!;
  out.endOffset = end + size;
}

/**
 * Writes many doubles or integers. `begins` contains the index in `values` of each number, negative for none, and receives the offset of
 * its text in `out`, or -1 for none; `ends` receives the ends of the texts. NaN and the infinities have no text.
 */
export function writeNumbers(
  out: ByteSink,
  type: 'double' | 'long' | 'integer',
  { int32s }: Pick<LeafValues, 'int32s'>,
  begins: Int32Array,
  ends: Int32Array,
  length: number,
): void {
  const kernel = (numberKernelsOfThread ??= instantiateKernels());
  const { halves, bytes } = kernel;
  const write = type === 'double' ? kernel.doubles : kernel.longs;
  for (let writtenCount = 0; writtenCount < length;) {
    const count = Math.min(length - writtenCount, maxNumbersPerCall);
    for (let i = 0; i < count; i++) {
      const value = begins[writtenCount + i]!;
      if (value < 0) {
        halves[2 * i] = 0;
        halves[2 * i + 1] = 0;
      } else if (type === 'integer') {
        halves[2 * i] = int32s[value]!;
        halves[2 * i + 1] = int32s[value]! >> 31;
      } else {
        halves[2 * i] = int32s[2 * value]!;
        halves[2 * i + 1] = int32s[2 * value + 1]!;
      }
    }
    const writtenByKernel = write(count);
    const shift = out.endOffset - numberMemoryAddresses.texts;
    let end = out.endOffset;
    for (let i = 0; i < writtenByKernel; i++) {
      const begin = end;
      end = kernel.ends[i]! + shift;
      begins[writtenCount + i] = begins[writtenCount + i]! < 0 || end === begin ? -1 : begin;
      ends[writtenCount + i] = end;
    }
    out.append(bytes.subarray(numberMemoryAddresses.texts, end - shift));
    writtenCount += writtenByKernel;
    if (writtenByKernel === count) continue;
    begins[writtenCount] = out.endOffset;
    writeAscii(out, String(kernel.numbers[writtenByKernel]));
    ends[writtenCount++] = out.endOffset;
  }
}

/** Minimum number of values for which the kernels are compiled, which takes some milliseconds in each thread. */
const minKernelNumbers = 512;

/** The kernels of this thread, with views of their memory; compiled at their first use. */
let numberKernelsOfThread: ReturnType<typeof instantiateKernels> | undefined;

function instantiateKernels() {
  const { memory, ...functions } = instantiate<{
    doubles(numbers: number): number;
    longs(numbers: number): number;
  }>(numberKernels, 1);
  const { buffer } = memory;
  initialiseNumberMemory(buffer);
  return {
    ...functions,
    bytes: new Uint8Array(buffer),
    numbers: new Float64Array(buffer, numberMemoryAddresses.values, maxNumbersPerCall),
    halves: new Int32Array(buffer, numberMemoryAddresses.values, 2 * maxNumbersPerCall),
    ends: new Int32Array(buffer, numberMemoryAddresses.ends, maxNumbersPerCall),
  };
}

/** Returns whether to write this many numbers with `writeNumbers`: they are enough, or the kernels are compiled already. */
export function isWorthKernel(numbers: number): boolean {
  return numberKernelsOfThread !== undefined || numbers >= minKernelNumbers;
}

/** Writes a finite 32-bit float (see `shortDouble`). */
export function writeFloat(out: ByteSink, value: number): void {
  floatBuffer[0] = shortDouble(value);
  writeDouble(out, floatBuffer, 0);
}

const floatBuffer = new Float64Array(1);

/** Writes a number from 0 to 999,999,999, padded with zeros to `least` digits. The caller must reserve the room. */
export function writeDigits(out: ByteSink, value: number, least: number): void {
  let digits = least;
  for (let limit = 10 ** least; value >= limit; limit *= 10) digits++;
  const { bytes, endOffset: end } = out;
  let remaining = value | 0;
  for (let at = end + digits - 1; at >= end; at--) {
    const tens = (remaining / 10) | 0;
    bytes[at] = zeroDigitByte + remaining - tens * 10;
    remaining = tens;
  }
  out.endOffset = end + digits;
}
