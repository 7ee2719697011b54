import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { jsonBytes, JsonScanner } from './scanner.js';

/** A field of records, or a member of an object. */
export interface OrderedField {
  readonly column: ValueColumn;
  /** The text between the preceding brace or comma and the value: the key and the colon, with spaces. */
  literal: Uint8Array;
  /** The members, if the values are objects whose members have columns; otherwise null. */
  members: OrderedField[] | null;
}

/** Learns the order of keys in records, and the spaces around the keys. */
export class FieldOrder extends JsonScanner {
  readonly fields: OrderedField[] = [];
  #isNew = false;

  /** Learns from the record at `at`, which has been read without error into `columns`. Returns whether the known order has changed. */
  learnFromRecord(text: Uint8Array, at: number, columns: ObjectFields): boolean {
    this.startText(text, at);
    this.#isNew = false;
    this.#object(this.fields, columns);
    return this.#isNew;
  }

  /** Learns from an object; returns false at a key that cannot be learned or whose place contradicts the known order. */
  #object(known: OrderedField[], columns: ObjectFields): boolean {
    let next = 0;
    this.scanOffset++;
    for (let isFirst = true; ; isFirst = false) {
      const from = this.scanOffset;
      if (this.skipSpace() === jsonBytes.closeObject && isFirst) break;
      this.hasLoneSurrogate = false;
      const key = this.scanString();
      // A key with a lone surrogate must be reported for each record, so it is not learned.
      if (this.hasLoneSurrogate) return false;
      const column = columns.field(decoder.decode(key.bytes.subarray(key.from, key.to)));
      this.skipSpace();
      this.scanOffset++;
      const first = this.skipSpace();
      if (column === null) return false;
      const at = known.findIndex((field) => field.column === column);
      if (at >= 0 && at < next) return false;
      const field = at < 0 ? { column, literal: noBytes, members: null } : known[at]!;
      if (at < 0) known.splice(next, 0, field);
      next = at < 0 ? next + 1 : at + 1;
      if (!areBytesEqual(field.literal, this.bytes, from, this.scanOffset)) {
        field.literal = this.bytes.slice(from, this.scanOffset);
        this.#isNew = true;
      }
      if (first !== jsonBytes.openObject) this.#skip();
      else if (!this.#members(field)) return false;
      if (this.skipSpace() === jsonBytes.closeObject) break;
      this.scanOffset++;
    }
    this.scanOffset++;
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
      const c = this.bytes[this.scanOffset]!;
      const isClosing = c === jsonBytes.closeObject || c === jsonBytes.closeList;
      if (depth === 0 && (isClosing || c === jsonBytes.comma)) return;
      if (c === jsonBytes.quote) this.scanString();
      else this.scanOffset++;
      if (c === jsonBytes.openObject || c === jsonBytes.openList) depth++;
      else if (isClosing) depth--;
    }
  }
}

function areBytesEqual(literal: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (literal.length !== to - from) return false;
  for (let i = 0; i < literal.length; i++) if (literal[i] !== bytes[from + i]) return false;
  return true;
}

const noBytes = new Uint8Array(0);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
