import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { byte, Scanner } from './scanner.js';

/** A field of records, or a member of an object. */
export interface OrderedField {
  readonly column: ValueColumn;
  /** The text between the brace or comma and the value: the key and the colon. */
  literal: Uint8Array;
  /** The members, if the values are objects with columns of their own; else null. */
  members: OrderedField[] | null;
}

/** Learns the order of keys of records, and the spaces around them. */
export class FieldOrder extends Scanner {
  readonly fields: OrderedField[] = [];
  #isNew = false;

  /** Learns from the record at `at`, which has been read without an error into `columns`. Returns whether the known order has changed. */
  learn(text: Uint8Array, at: number, columns: ObjectFields): boolean {
    this.open(text, at);
    this.#isNew = false;
    this.#object(this.fields, columns);
    return this.#isNew;
  }

  /** Learns from an object; returns false if its keys contradict the known order. */
  #object(known: OrderedField[], columns: ObjectFields): boolean {
    let next = 0;
    this.at++;
    for (let isFirst = true; ; isFirst = false) {
      const from = this.at;
      if (this.skipSpace() === byte.closeObject && isFirst) break;
      this.hasLoneSurrogate = false;
      const key = this.string();
      // A key with a lone surrogate is reported in each record.
      if (this.hasLoneSurrogate) return false;
      const column = columns.field(decoder.decode(key.bytes.subarray(key.from, key.to)));
      this.skipSpace();
      this.at++;
      const first = this.skipSpace();
      if (column === null) return false;
      const at = known.findIndex((field) => field.column === column);
      if (at >= 0 && at < next) return false;
      const field = at < 0 ? { column, literal: noBytes, members: null } : known[at]!;
      if (at < 0) known.splice(next, 0, field);
      next = at < 0 ? next + 1 : at + 1;
      if (!isEqual(field.literal, this.bytes, from, this.at)) {
        field.literal = this.bytes.slice(from, this.at);
        this.#isNew = true;
      }
      if (first !== byte.openObject) this.#skip();
      else if (!this.#members(field)) return false;
      if (this.skipSpace() === byte.closeObject) break;
      this.at++;
    }
    this.at++;
    return true;
  }

  #members(field: OrderedField): boolean {
    const object = field.column.startObjects();
    if (object === null) {
      this.#skip();
      return true;
    }
    if (field.members === null) this.#isNew = true;
    return this.#object((field.members ??= []), object.fields);
  }

  /** Moves past a value. */
  #skip(): void {
    let depth = 0;
    for (;;) {
      const c = this.bytes[this.at]!;
      const isClosing = c === byte.closeObject || c === byte.closeList;
      if (depth === 0 && (isClosing || c === byte.comma)) return;
      if (c === byte.quote) this.string();
      else this.at++;
      if (c === byte.openObject || c === byte.openList) depth++;
      else if (isClosing) depth--;
    }
  }
}

function isEqual(literal: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (literal.length !== to - from) return false;
  for (let i = 0; i < literal.length; i++) if (literal[i] !== bytes[from + i]) return false;
  return true;
}

const noBytes = new Uint8Array(0);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
