import { instantiate } from '../../core/wasm-assembler.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { shortDouble } from './short-double.js';
import type { LeafValues } from './leaf-values.js';
import {
  initialNumberMemory,
  numberKernels,
  numberMemory,
  numbersAtOnce,
} from './number-kernel.js';

/*
 * Numbers as ECMAScript writes them (ECMA-262, Number::toString), as bytes: most are written without a string of their own.
 */

const zero = 48;
const minus = 45;

/** Characters below 128. */
export function writeAscii(out: ByteSink, text: string): void {
  const { length } = text;
  out.reserve(length);
  const { bytes } = out;
  let { end } = out;
  for (let i = 0; i < length; i++) bytes[end++] = text.charCodeAt(i);
  out.end = end;
}

/** A whole number that doubles hold exactly, below 10^21. */
export function writeWhole(out: ByteSink, value: number): void {
  out.reserve(20);
  let rest = value;
  if (rest < 0) {
    out.bytes[out.end++] = minus;
    rest = -rest;
  }
  if (rest >= 1e9) return writeAscii(out, String(rest));
  writeDigits(out, rest | 0, 1);
}

/** A whole number of 64 bits, from its two halves. */
export function writeLong(out: ByteSink, low: number, high: number): void {
  // Within 2^53, so that the double is exact.
  if (high >= -0x200000 && high < 0x200000) writeWhole(out, high * 2 ** 32 + (low >>> 0));
  else writeAscii(out, String((BigInt(high) << 32n) | BigInt(low >>> 0)));
}

/** Writes the finite double `values[i]` as `String` does; it is not an argument, because that would be an object on the heap. */
export function writeDouble(out: ByteSink, values: Float64Array, i: number): void {
  if (made === undefined) return writeAscii(out, String(values[i]!));
  const { doubles, numbers, ends, bytes } = made;
  numbers[0] = values[i]!;
  if (doubles(1) === 0) return writeAscii(out, String(values[i]!));
  const size = ends[0]! - numberMemory.texts;
  out.reserve(size);
  const { bytes: into, end } = out;
  for (let at = 0; at < size; at++) into[end + at] = bytes[numberMemory.texts + at]!;
  out.end = end + size;
}

/**
 * Writes many doubles or integers. `begins` has their numbers among `values`, negative for none, and gets the offsets of their texts in `out`; NaN and the
 * infinities have none.
 */
export function writeNumbers(
  out: ByteSink,
  type: 'double' | 'long' | 'integer',
  { int32s }: Pick<LeafValues, 'int32s'>,
  begins: Int32Array,
  ends: Int32Array,
  length: number,
): void {
  const kernel = (made ??= makeKernels());
  const { halves, bytes } = kernel;
  const write = type === 'double' ? kernel.doubles : kernel.longs;
  for (let done = 0; done < length;) {
    const count = Math.min(length - done, numbersAtOnce);
    for (let i = 0; i < count; i++) {
      const value = begins[done + i]!;
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
    const written = write(count);
    const shift = out.end - numberMemory.texts;
    let end = out.end;
    for (let i = 0; i < written; i++) {
      const begin = end;
      end = kernel.ends[i]! + shift;
      begins[done + i] = begins[done + i]! < 0 || end === begin ? -1 : begin;
      ends[done + i] = end;
    }
    out.append(bytes.subarray(numberMemory.texts, end - shift));
    done += written;
    if (written === count) continue;
    begins[done] = out.end;
    writeAscii(out, String(kernel.numbers[written]));
    ends[done++] = out.end;
  }
}

/** Minimum number of values that are written by the kernels: compiling them takes some milliseconds in each thread. */
const leastNumbers = 512;

/** The kernels of this thread, with views of their memory; compiled at their first use. */
let made: ReturnType<typeof makeKernels> | undefined;

function makeKernels() {
  const { memory, ...functions } = instantiate<{
    doubles(numbers: number): number;
    longs(numbers: number): number;
  }>(numberKernels, 1);
  const { buffer } = memory;
  initialNumberMemory(buffer);
  return {
    ...functions,
    bytes: new Uint8Array(buffer),
    numbers: new Float64Array(buffer, numberMemory.values, numbersAtOnce),
    halves: new Int32Array(buffer, numberMemory.values, 2 * numbersAtOnce),
    ends: new Int32Array(buffer, numberMemory.ends, numbersAtOnce),
  };
}

/** Whether so many numbers are written faster by `writeNumbers` than one by one. */
export function areMany(numbers: number): boolean {
  return made !== undefined || numbers >= leastNumbers;
}

/** A finite 32-bit float: see `shortDouble`. */
export function writeFloat(out: ByteSink, value: number): void {
  float[0] = shortDouble(value);
  writeDouble(out, float, 0);
}

const float = new Float64Array(1);

/** A number from 0 to 999,999,999, with zeros in front where it has fewer digits than `least`. The caller reserves the room. */
export function writeDigits(out: ByteSink, value: number, least: number): void {
  let digits = least;
  for (let limit = 10 ** least; value >= limit; limit *= 10) digits++;
  const { bytes, end } = out;
  let rest = value | 0;
  for (let at = end + digits - 1; at >= end; at--) {
    const tens = (rest / 10) | 0;
    bytes[at] = zero + rest - tens * 10;
    rest = tens;
  }
  out.end = end + digits;
}
