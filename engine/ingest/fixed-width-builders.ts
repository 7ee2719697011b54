import {
  Bool,
  Float32,
  Float64,
  Int32,
  Int64,
  makeData,
  TimestampMicrosecond,
  type Data,
} from 'apache-arrow';
import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import type { Column } from '../core/types.js';
import { bitmapOfOnes, setBit, growBitmapTo } from './validity-bitmap.js';
import { ColumnBuilder } from './column-builder.js';

/*
 * Each class in this file repeats a few lines instead of inheriting them from ColumnBuilder: a shared method would be called with objects
 * of every class, and V8 would then look up their fields by name on each call.
 */

/** 32-bit integers: `integer`. */
export class IntegerBuilder extends ColumnBuilder {
  #values = acquireBuffer(Int32Array, 1024);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override reserveRows(length: number): void {
    if (length > this.#values.length) this.#values = growBuffer(this.#values, length);
  }

  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = growBuffer(this.#values, i + 1);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  /** Appends numbers, with null for NaN. */
  appendNumbers(numbers: Float64Array): void {
    this.reserveRows(this.length + numbers.length);
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i]!;
      if (number === number) this.append(number);
      else this.appendNull();
    }
  }

  appendNull(): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = growBuffer(this.#values, i + 1);
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#values[i] = 0;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  finish(length: number): Data {
    this.padTo(length);
    return makeData({
      type: new Int32(),
      ...this.validityData(),
      data: this.#values.subarray(0, length),
    });
  }

  override release(): void {
    releaseBuffer(this.#values);
  }
}

/** Floating-point numbers: `double`, and `float`, whose values have 64 bits until `finish`. */
export class DoubleBuilder extends ColumnBuilder {
  #values = acquireBuffer(Float64Array, 1024);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override reserveRows(length: number): void {
    if (length > this.#values.length) this.#values = growBuffer(this.#values, length);
  }

  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = growBuffer(this.#values, i + 1);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  /** Reserves memory for `count` numbers, which the caller writes before `commitRun`. */
  reserveRun(count: number): Float64Array {
    const from = this.length;
    if (from + count > this.#values.length) this.#values = growBuffer(this.#values, from + count);
    return this.#values.subarray(from, from + count);
  }

  /** Appends the first `count` of the reserved numbers; NaN stands for null. */
  commitRun(count: number): void {
    const values = this.#values;
    const from = this.length;
    const to = from + count;
    let nulls = 0;
    for (let i = from; i < to; i++) if (values[i] !== values[i]) nulls++;
    if (nulls > 0) this.validityBits ??= bitmapOfOnes(from);
    if (this.validityBits !== null) {
      const valid = (this.validityBits = growBitmapTo(this.validityBits, to));
      for (let i = from; i < to; i++) {
        if (values[i] === values[i]) valid[i >> 3]! |= 1 << (i & 7);
        else values[i] = 0;
      }
    }
    this.nullCount += nulls;
    this.length = to;
  }

  appendNull(): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = growBuffer(this.#values, i + 1);
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#values[i] = 0;
    this.length = i + 1;
  }

  /** Appends numbers, with null for NaN. */
  appendNumbers(numbers: Float64Array): void {
    this.reserveRun(numbers.length).set(numbers);
    this.commitRun(numbers.length);
  }

  /** The numbers appended so far, with 0 for null. */
  get values(): Float64Array {
    return this.#values.subarray(0, this.length);
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  finish(length: number): Data {
    this.padTo(length);
    const values = this.#values.subarray(0, length);
    if (this.#column.type === 'float')
      return makeData({
        type: new Float32(),
        ...this.validityData(),
        data: new Float32Array(values),
      });
    return makeData({ type: new Float64(), ...this.validityData(), data: values });
  }

  override release(): void {
    releaseBuffer(this.#values);
  }
}

/** 64-bit integers: `long`, and `date` as microseconds since 1970 UTC. */
export class LongBuilder extends ColumnBuilder {
  #values = acquireBuffer(BigInt64Array, 1024);
  #halves = new Int32Array(this.#values.buffer);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override reserveRows(length: number): void {
    if (length > this.#values.length) this.#grow(length);
  }

  /** Appends an integer within ±2^53 without creating a bigint, as two little-endian halves. */
  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#halves[2 * i] = value | 0;
    this.#halves[2 * i + 1] = Math.floor(value / 4_294_967_296);
    this.length = i + 1;
  }

  /** Appends integers within ±2^53, with null for NaN. */
  appendNumbers(numbers: Float64Array): void {
    this.reserveRows(this.length + numbers.length);
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i]!;
      if (number === number) this.append(number);
      else this.appendNull();
    }
  }

  appendBigint(value: bigint): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  appendNull(): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#values[i] = 0n;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  finish(length: number): Data {
    this.padTo(length);
    const data = this.#values.subarray(0, length);
    return this.#column.type === 'date'
      ? makeData({ type: new TimestampMicrosecond('UTC'), ...this.validityData(), data })
      : makeData({ type: new Int64(), ...this.validityData(), data });
  }

  override release(): void {
    releaseBuffer(this.#values);
  }

  #grow(length: number): void {
    this.#values = growBuffer(this.#values, length);
    this.#halves = new Int32Array(this.#values.buffer);
  }
}

/** Booleans as bits: `boolean`. */
export class BooleanBuilder extends ColumnBuilder {
  #bits = acquireBuffer(Uint8Array, 256);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  append(value: boolean): void {
    const i = this.length;
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#set(i, value);
    this.length = i + 1;
  }

  /** Appends booleans, given as 0 and 1, with null for NaN. */
  appendNumbers(numbers: Float64Array): void {
    for (const number of numbers)
      if (number === number) this.append(number !== 0);
      else this.appendNull();
  }

  appendNull(): void {
    const i = this.length;
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#set(i, false);
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  finish(length: number): Data {
    this.padTo(length);
    const data = this.#bits.subarray(0, (length + 7) >> 3);
    return makeData({ type: new Bool(), ...this.validityData(), data });
  }

  override release(): void {
    releaseBuffer(this.#bits);
  }

  #set(i: number, value: boolean): void {
    const byte = i >> 3;
    if (byte >= this.#bits.length) this.#bits = growBuffer(this.#bits, byte + 1);
    const bit = 1 << (i & 7);
    if (value) this.#bits[byte]! |= bit;
    else this.#bits[byte]! &= ~bit;
  }
}
