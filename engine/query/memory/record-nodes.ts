import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeAscii, writeRaw } from './json-bytes.js';
import type { RecordCursor } from './record-cursor.js';
import type { WriteValue } from './record-values.js';

/*
 * What writes the parts of a record, one for each column of the answer. `depth` is the definition level at which the part itself is
 * null: above it, it is there (as in store/parquet/assemble.ts).
 */

/** Writes the value of the cursors' current slots; false, and nothing is written, if there is none. */
export interface RecordNode {
  write(out: ByteSink): boolean;
}

/** A value that is no list. */
export class ScalarNode implements RecordNode {
  readonly #cursor: RecordCursor;
  readonly #write: WriteValue;

  constructor(cursor: RecordCursor, write: WriteValue) {
    this.#cursor = cursor;
    this.#write = write;
  }

  write(out: ByteSink): boolean {
    return writeSlot(out, this.#cursor, this.#cursor.begin, this.#write);
  }
}

/** A list of values. */
export class ListNode implements RecordNode {
  readonly #cursor: RecordCursor;
  readonly #depth: number;
  readonly #write: WriteValue;

  constructor(cursor: RecordCursor, depth: number, write: WriteValue) {
    this.#cursor = cursor;
    this.#depth = depth;
    this.#write = write;
  }

  write(out: ByteSink): boolean {
    const cursor = this.#cursor;
    const { begin, end } = cursor;
    const level = cursor.levelAt(begin);
    if (level <= this.#depth) return false;
    out.byte(openBracket);
    if (level > this.#depth + 1) {
      for (let slot = begin; slot < end; slot++) {
        if (slot > begin) out.byte(comma);
        if (!writeSlot(out, cursor, slot, this.#write)) writeAscii(out, 'null');
      }
    }
    out.byte(closeBracket);
    return true;
  }
}

function writeSlot(out: ByteSink, cursor: RecordCursor, slot: number, write: WriteValue): boolean {
  const { page } = cursor;
  if (cursor.levelAt(slot) !== cursor.leaf.maxDefinition) return false;
  const value = page.places === undefined ? slot : page.places[slot]!;
  return write(out, page.values, page.indices === undefined ? value : page.indices[value]!);
}

/** A member of an object, behind `"name":` */
export interface RecordMember {
  readonly key: Uint8Array;
  readonly node: RecordNode;
}

/** An object; members without a value are left out. */
export class ObjectNode implements RecordNode {
  /** Of any leaf below, for the levels of all tell whether the object is there. */
  readonly #cursor: RecordCursor;
  readonly #depth: number;
  readonly #members: readonly RecordMember[];

  constructor(cursor: RecordCursor, depth: number, members: readonly RecordMember[]) {
    this.#cursor = cursor;
    this.#depth = depth;
    this.#members = members;
  }

  write(out: ByteSink): boolean {
    if (this.#cursor.levelAt(this.#cursor.begin) <= this.#depth) return false;
    out.byte(openBrace);
    let isFirst = true;
    for (const { key, node } of this.#members) {
      const { end } = out;
      if (!isFirst) out.byte(comma);
      writeRaw(out, key, 0, key.length);
      if (node.write(out)) isFirst = false;
      else out.end = end;
    }
    out.byte(closeBrace);
    return true;
  }
}

/** A list of objects. */
export class ObjectListNode implements RecordNode {
  /** All cursors below, the first of which tells where the elements are. */
  readonly #cursors: readonly RecordCursor[];
  readonly #depth: number;
  /** The repetition level of the elements. */
  readonly #repetition: number;
  readonly #item: RecordNode;
  /** Where the cursors were. */
  readonly #begins: Float64Array;
  readonly #ends: Float64Array;

  constructor(
    cursors: readonly RecordCursor[],
    depth: number,
    repetition: number,
    item: RecordNode,
  ) {
    this.#cursors = cursors;
    this.#depth = depth;
    this.#repetition = repetition;
    this.#item = item;
    this.#begins = new Float64Array(cursors.length);
    this.#ends = new Float64Array(cursors.length);
  }

  write(out: ByteSink): boolean {
    const cursors = this.#cursors;
    const first = cursors[0]!;
    const level = first.levelAt(first.begin);
    if (level <= this.#depth) return false;
    out.byte(openBracket);
    if (level > this.#depth + 1) this.#elements(out, first);
    out.byte(closeBracket);
    return true;
  }

  #elements(out: ByteSink, first: RecordCursor): void {
    const cursors = this.#cursors;
    const stop = first.end;
    for (const [i, cursor] of cursors.entries()) {
      this.#begins[i] = cursor.begin;
      this.#ends[i] = cursor.end;
      cursor.end = cursor.begin;
    }
    for (let isFirst = true; first.end < stop; isFirst = false) {
      for (const cursor of cursors) {
        cursor.begin = cursor.end;
        cursor.end = cursor.endOfElement(cursor.begin, this.#repetition);
      }
      if (!isFirst) out.byte(comma);
      if (!this.#item.write(out)) writeAscii(out, 'null');
    }
    for (const [i, cursor] of cursors.entries()) {
      cursor.begin = this.#begins[i]!;
      cursor.end = this.#ends[i]!;
    }
  }
}

const comma = 44;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;
