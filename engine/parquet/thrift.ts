import type { ByteSink } from './byte-sink.js';

/** Element types of lists in the compact protocol. */
export const thriftType = { bool: 1, i32: 5, i64: 6, binary: 8, struct: 12 } as const;
const trueType = 1;
const falseType = 2;
const listType = 9;

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
