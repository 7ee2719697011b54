import {
  Bool,
  Float32,
  Float64,
  Int32,
  Int64,
  makeData,
  TimestampMicrosecond,
  Utf8,
  type Data,
} from 'apache-arrow';
import type { Column } from '../core/types.js';
import { acquire, grown, release } from '../core/buffers.js';
import { allSet, withBit, withRoom } from './bitmap.js';
import { ColumnBuilder } from './column-builder.js';

/*
 * The builders repeat a few lines in each class instead of sharing them in the base: a method of the base would see every
 * class as `this`, and the engine then looks its fields up by name on each call.
 */

/** Text: `string`, `text`, `blob` and `json`. */
export class Utf8Builder extends ColumnBuilder {
  /** Bytes of all values so far. Arrow's 32-bit offsets end at 2 GB; chunks are far smaller. */
  end = 0;
  #offsets = acquire(Int32Array, 1024);
  #bytes = acquire(Uint8Array, 8192);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
    this.#offsets[0] = 0;
  }

  column(): Column {
    return this.#column;
  }

  override expect(length: number): void {
    if (length >= this.#offsets.length) this.#offsets = grown(this.#offsets, length + 1);
  }

  /** Appends `source[from..to)`, which must be UTF-8. */
  appendBytes(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    const end = this.end + size;
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, end);
    const bytes = this.#bytes;
    // A plain loop beats `set` up to about forty bytes: no view object, no call into the runtime.
    if (size <= 40) for (let i = from, at = this.end; i < to; i++) bytes[at++] = source[i]!;
    else bytes.set(source.subarray(from, to), this.end);
    this.commit(end);
  }

  /** Appends values that lie behind each other in `source`; `ends` says where each ends. */
  appendAll(source: Uint8Array, ends: Int32Array): void {
    const from = this.end;
    const i = this.length;
    const count = ends.length;
    this.reserve(source.length).set(source, from);
    if (i + count >= this.#offsets.length) this.#offsets = grown(this.#offsets, i + count + 1);
    const offsets = this.#offsets;
    for (let k = 0; k < count; k++) offsets[i + k + 1] = from + ends[k]!;
    if (this.valid !== null)
      for (let k = 0; k < count; k++) this.valid = withBit(this.valid, i + k);
    this.end = from + source.length;
    this.length = i + count;
  }

  /** Room for a value of at most `size` bytes from `end` on, which the caller writes and then commits. */
  reserve(size: number): Uint8Array {
    if (this.end + size > this.#bytes.length) this.#bytes = grown(this.#bytes, this.end + size);
    return this.#bytes;
  }

  /** Ends a value written into reserved bytes; `end` is the position behind its last byte. */
  commit(end: number): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = grown(this.#offsets, i + 2);
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.end = end;
    this.#offsets[i + 1] = end;
    this.length = i + 1;
  }

  /**
   * Appends `count` values at once: the first `size` bytes of `source`, of which value i is what ends at `ends[i]`. Empty ones
   * are nulls.
   */
  appendRun(source: Uint8Array, size: number, ends: Int32Array, count: number): void {
    const from = this.length;
    const { end } = this;
    this.reserve(size).set(source.subarray(0, size), end);
    if (from + count >= this.#offsets.length)
      this.#offsets = grown(this.#offsets, from + count + 1);
    const offsets = this.#offsets;
    let filled = 0;
    for (let i = 0, last = 0; i < count; i++) {
      const next = ends[i]!;
      if (next > last) filled++;
      last = next;
      offsets[from + i + 1] = end + next;
    }
    if (filled < count) this.valid ??= allSet(from);
    if (this.valid !== null) {
      const valid = (this.valid = withRoom(this.valid, from + count));
      for (let i = from; i < from + count; i++)
        if (offsets[i]! < offsets[i + 1]!) valid[i >> 3]! |= 1 << (i & 7);
    }
    this.nullCount += count - filled;
    this.end = end + size;
    this.length = from + count;
  }

  appendString(value: string): void {
    const bytes = this.reserve(value.length * 3);
    const { written } = encoder.encodeInto(value, bytes.subarray(this.end));
    this.commit(this.end + written);
  }

  appendNull(): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = grown(this.#offsets, i + 2);
    this.valid ??= allSet(i);
    this.nullCount++;
    this.#offsets[i + 1] = this.end;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  override truncate(length: number): void {
    if (this.length <= length) return;
    this.end = this.#offsets[length]!;
    super.truncate(length);
  }

  finish(length: number): Data {
    this.padTo(length);
    return makeData({
      type: new Utf8(),
      ...this.nulls(),
      valueOffsets: this.#offsets.subarray(0, length + 1),
      data: this.#bytes.subarray(0, this.end),
    });
  }

  override release(): void {
    release(this.#offsets);
    release(this.#bytes);
  }
}

/** 32-bit integers: `integer`. */
export class IntegerBuilder extends ColumnBuilder {
  #values = acquire(Int32Array, 1024);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override expect(length: number): void {
    if (length > this.#values.length) this.#values = grown(this.#values, length);
  }

  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = grown(this.#values, i + 1);
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  appendNull(): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = grown(this.#values, i + 1);
    this.valid ??= allSet(i);
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
      ...this.nulls(),
      data: this.#values.subarray(0, length),
    });
  }

  override release(): void {
    release(this.#values);
  }
}

/** Floating-point numbers of 64 bits: `double`. */
export class DoubleBuilder extends ColumnBuilder {
  #values = acquire(Float64Array, 1024);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override expect(length: number): void {
    if (length > this.#values.length) this.#values = grown(this.#values, length);
  }

  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#values = grown(this.#values, i + 1);
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  /** Room for `count` numbers, which the caller writes before `commitRun`. */
  reserveRun(count: number): Float64Array {
    const from = this.length;
    if (from + count > this.#values.length) this.#values = grown(this.#values, from + count);
    return this.#values.subarray(from, from + count);
  }

  /** Appends the first `count` numbers of what was reserved; NaN stands for null. */
  commitRun(count: number): void {
    const values = this.#values;
    const from = this.length;
    const to = from + count;
    let nulls = 0;
    for (let i = from; i < to; i++) if (values[i] !== values[i]) nulls++;
    if (nulls > 0) this.valid ??= allSet(from);
    if (this.valid !== null) {
      const valid = (this.valid = withRoom(this.valid, to));
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
    if (i >= this.#values.length) this.#values = grown(this.#values, i + 1);
    this.valid ??= allSet(i);
    this.nullCount++;
    this.#values[i] = 0;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  finish(length: number): Data {
    this.padTo(length);
    const values = this.#values.subarray(0, length);
    if (this.#column.type === 'float')
      return makeData({ type: new Float32(), ...this.nulls(), data: new Float32Array(values) });
    return makeData({ type: new Float64(), ...this.nulls(), data: values });
  }

  override release(): void {
    release(this.#values);
  }
}

/** 64-bit integers: `long`, and `date` as microseconds since 1970 UTC. */
export class LongBuilder extends ColumnBuilder {
  #values = acquire(BigInt64Array, 1024);
  #halves = new Int32Array(this.#values.buffer);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  override expect(length: number): void {
    if (length > this.#values.length) this.#grow(length);
  }

  /** Appends a whole number within +-2^53 without making a bigint (little-endian halves, as arrow stores them). */
  append(value: number): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.#halves[2 * i] = value | 0;
    this.#halves[2 * i + 1] = Math.floor(value / 4_294_967_296);
    this.length = i + 1;
  }

  appendBigint(value: bigint): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.#values[i] = value;
    this.length = i + 1;
  }

  appendNull(): void {
    const i = this.length;
    if (i >= this.#values.length) this.#grow(this.length + 1);
    this.valid ??= allSet(i);
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
      ? makeData({ type: new TimestampMicrosecond('UTC'), ...this.nulls(), data })
      : makeData({ type: new Int64(), ...this.nulls(), data });
  }

  override release(): void {
    release(this.#values);
  }

  #grow(length: number): void {
    this.#values = grown(this.#values, length);
    this.#halves = new Int32Array(this.#values.buffer);
  }
}

/** `boolean`. */
export class BooleanBuilder extends ColumnBuilder {
  #bits = acquire(Uint8Array, 256);
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
    if (this.valid !== null) this.valid = withBit(this.valid, i);
    this.#set(i, value);
    this.length = i + 1;
  }

  appendNull(): void {
    const i = this.length;
    this.valid ??= allSet(i);
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
    return makeData({ type: new Bool(), ...this.nulls(), data });
  }

  override release(): void {
    release(this.#bits);
  }

  #set(i: number, value: boolean): void {
    const byte = i >> 3;
    if (byte >= this.#bits.length) this.#bits = grown(this.#bits, byte + 1);
    const bit = 1 << (i & 7);
    if (value) this.#bits[byte]! |= bit;
    else this.#bits[byte]! &= ~bit;
  }
}

const encoder = new TextEncoder();
