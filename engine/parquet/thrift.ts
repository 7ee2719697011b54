import type { ByteSink } from './byte-sink.js';
import type { ByteSource } from './byte-source.js';

/** Element types of lists in the compact protocol. */
export const thriftType = { bool: 1, i32: 5, i64: 6, binary: 8, struct: 12 } as const;
const trueType = 1;
const falseType = 2;
const byteType = 3;
const i16Type = 4;
const doubleType = 7;
const listType = 9;
const setType = 10;

/**
 * Writes the part of Thrift's compact protocol that Parquet's metadata uses (thrift/doc/specs/thrift-compact-protocol.md). The fields
 * of a struct must be written in ascending order of their ids.
 */
export class ThriftWriter {
  readonly #sink: ByteSink;
  #last = 0;
  readonly #above: number[] = [];

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  bool(id: number, value: boolean): void {
    this.#field(id, value ? trueType : falseType);
  }

  i32(id: number, value: number): void {
    this.#field(id, thriftType.i32);
    this.#sink.zigzag(value);
  }

  i64(id: number, value: number): void {
    this.#field(id, thriftType.i64);
    this.#sink.zigzag(value);
  }

  binary(id: number, value: Uint8Array): void {
    this.#field(id, thriftType.binary);
    this.itemBinary(value);
  }

  string(id: number, value: string): void {
    this.binary(id, Buffer.from(value));
  }

  /** Begins a field that is a struct: write its fields, then call `end`. */
  struct(id: number): void {
    this.#field(id, thriftType.struct);
    this.start();
  }

  /** Begins a field that is a list: write exactly `size` items. */
  list(id: number, type: number, size: number): void {
    this.#field(id, listType);
    if (size < 15) return this.#sink.byte((size << 4) | type);
    this.#sink.byte(0xf0 | type);
    this.#sink.varint(size);
  }

  itemBool(value: boolean): void {
    this.#sink.byte(value ? trueType : falseType);
  }

  itemI64(value: number): void {
    this.#sink.zigzag(value);
  }

  itemI32(value: number): void {
    this.#sink.zigzag(value);
  }

  itemBinary(value: Uint8Array): void {
    this.#sink.varint(value.length);
    this.#sink.append(value);
  }

  /** Begins a struct that is a list item or the whole message. */
  start(): void {
    this.#above.push(this.#last);
    this.#last = 0;
  }

  /** Ends a struct. */
  end(): void {
    this.#sink.byte(0);
    this.#last = this.#above.pop()!;
  }

  #field(id: number, type: number): void {
    const step = id - this.#last;
    if (step <= 15) {
      this.#sink.byte((step << 4) | type);
    } else {
      this.#sink.byte(type);
      this.#sink.zigzag(id);
    }
    this.#last = id;
  }
}

/**
 * Reads what `ThriftWriter` writes, and what other programs write of Thrift's compact protocol. A loop over the fields of a struct asks
 * `next` for the id of each, and then either reads or skips its value. Bytes that cannot be read throw a `RangeError`.
 */
export class ThriftReader {
  readonly #source: ByteSource;
  /** The type of the field that `next` has found. */
  #type = 0;
  #last = 0;
  readonly #above: number[] = [];

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** The id of the next field of the struct that was started last; 0 at its end. */
  next(): number {
    const head = this.#source.byte();
    if (head === 0) {
      this.#last = this.#above.pop() ?? 0;
      return 0;
    }
    this.#type = head & 0x0f;
    this.#last = head >> 4 === 0 ? this.#source.zigzag() : this.#last + (head >> 4);
    return this.#last;
  }

  /** Begins a struct: the value of a field, an item of a list, or the whole message. */
  start(): void {
    this.#above.push(this.#last);
    this.#last = 0;
  }

  bool(): boolean {
    return this.#type === trueType;
  }

  /** Reads an integer between -2^53 and 2^53. */
  integer(): number {
    return this.#source.zigzag();
  }

  /** A view of the bytes, not a copy. */
  binary(): Uint8Array {
    return this.#source.take(this.#source.varint());
  }

  /** Begins a list, whose items the caller has to read or skip; returns their number. */
  list(): number {
    const head = this.#source.byte();
    this.#type = head & 0x0f;
    return head >> 4 === 15 ? this.#source.varint() : head >> 4;
  }

  itemBool(): boolean {
    return this.#source.byte() === trueType;
  }

  /** Skips the value of a field. */
  skip(): void {
    if (this.#type !== trueType && this.#type !== falseType) this.#skip(this.#type);
  }

  #skip(type: number): void {
    switch (type) {
      case trueType:
      case falseType:
      case byteType:
        return this.#source.skip(1);
      case i16Type:
      case thriftType.i32:
      case thriftType.i64:
        return void this.#source.varint();
      case doubleType:
        return this.#source.skip(8);
      case thriftType.binary:
        return this.#source.skip(this.#source.varint());
      case listType:
      case setType: {
        const size = this.list();
        const item = this.#type;
        for (let i = 0; i < size; i++) this.#skip(item);
        return;
      }
      case thriftType.struct:
        this.start();
        while (this.next() !== 0) this.skip();
        return;
      default:
        throw new RangeError(`there is no type ${type}`);
    }
  }
}
