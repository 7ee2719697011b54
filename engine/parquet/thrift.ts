import type { ByteSink } from './byte-sink.js';
import type { ByteSource } from './byte-source.js';

/** Types of fields, and of the elements of lists, in the compact protocol. */
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
    this.#sink.writeZigzag(value);
  }

  i64(id: number, value: number): void {
    this.#field(id, thriftType.i64);
    this.#sink.writeZigzag(value);
  }

  binary(id: number, value: Uint8Array): void {
    this.#field(id, thriftType.binary);
    this.writeBinaryItem(value);
  }

  string(id: number, value: string): void {
    this.binary(id, Buffer.from(value));
  }

  /** Begins a field that is a struct: write its fields, then call `endStruct`. */
  startStruct(id: number): void {
    this.#field(id, thriftType.struct);
    this.start();
  }

  /** Begins a field that is a list: write exactly `size` items. */
  list(id: number, type: number, size: number): void {
    this.#field(id, listType);
    if (size < 15) return this.#sink.writeByte((size << 4) | type);
    this.#sink.writeByte(0xf0 | type);
    this.#sink.writeVarint(size);
  }

  /** Writes an item of a list of booleans. */
  writeBoolItem(value: boolean): void {
    this.#sink.writeByte(value ? trueType : falseType);
  }

  writeI64Item(value: number): void {
    this.#sink.writeZigzag(value);
  }

  writeI32Item(value: number): void {
    this.#sink.writeZigzag(value);
  }

  writeBinaryItem(value: Uint8Array): void {
    this.#sink.writeVarint(value.length);
    this.#sink.append(value);
  }

  /** Begins a struct that is a list item or the whole message. */
  start(): void {
    this.#above.push(this.#last);
    this.#last = 0;
  }

  endStruct(): void {
    this.#sink.writeByte(0);
    this.#last = this.#above.pop()!;
  }

  #field(id: number, type: number): void {
    const step = id - this.#last;
    if (step <= 15) {
      this.#sink.writeByte((step << 4) | type);
    } else {
      this.#sink.writeByte(type);
      this.#sink.writeZigzag(id);
    }
    this.#last = id;
  }
}

/**
 * Reads Thrift's compact protocol, as written by `ThriftWriter` or another program. A loop over the fields of a struct calls `nextFieldId`
 * for the id of each, and then either reads or skips its value. Bytes that cannot be read throw a `RangeError`.
 */
export class ThriftReader {
  readonly #source: ByteSource;
  /** The type of the field that `nextFieldId` has found. */
  #type = 0;
  #last = 0;
  readonly #above: number[] = [];

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Returns the id of the next field of the struct that was started last; 0 at its end. */
  nextFieldId(): number {
    const head = this.#source.readByte();
    if (head === 0) {
      this.#last = this.#above.pop() ?? 0;
      return 0;
    }
    this.#type = head & 0x0f;
    this.#last = head >> 4 === 0 ? this.#source.readZigzag() : this.#last + (head >> 4);
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

  /** Reads an integer between -2^52 and 2^52. */
  integer(): number {
    return this.#source.readZigzag();
  }

  /** Reads bytes and returns a view of them, not a copy. */
  binary(): Uint8Array {
    return this.#source.readBytes(this.#source.readVarint());
  }

  /** Begins a list, whose items the caller has to read or skip; returns their number. */
  list(): number {
    const head = this.#source.readByte();
    this.#type = head & 0x0f;
    return head >> 4 === 15 ? this.#source.readVarint() : head >> 4;
  }

  /** Reads an item of a list of booleans. */
  readBoolItem(): boolean {
    return this.#source.readByte() === trueType;
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
        return void this.#source.readVarint();
      case doubleType:
        return this.#source.skip(8);
      case thriftType.binary:
        return this.#source.skip(this.#source.readVarint());
      case listType:
      case setType: {
        const size = this.list();
        const item = this.#type;
        for (let i = 0; i < size; i++) this.#skip(item);
        return;
      }
      case thriftType.struct:
        this.start();
        while (this.nextFieldId() !== 0) this.skip();
        return;
      default:
        throw new RangeError(`there is no type ${type}`);
    }
  }
}
