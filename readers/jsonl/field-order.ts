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
  #hasChanged = false;

  /**
   * Learns from the record at `at`, which has been read without error into `columns`. Returns whether the known fields, or the spaces
   * around their keys, have changed.
   */
  learnFromRecord(text: Uint8Array, at: number, columns: ObjectFields): boolean {
    this.startText(text, at);
    this.#hasChanged = false;
    this.#learnFromObject(this.fields, columns);
    return this.#hasChanged;
  }

  /** Learns from an object; returns false at a key that cannot be learned or whose place contradicts the known order. */
  #learnFromObject(knownFields: OrderedField[], columns: ObjectFields): boolean {
    let nextIndex = 0;
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
      const firstByte = this.skipSpace();
      if (column === null) return false;
      const fieldIndex = knownFields.findIndex((field) => field.column === column);
      if (fieldIndex >= 0 && fieldIndex < nextIndex) return false;
      const field =
        fieldIndex < 0 ? { column, literal: noBytes, members: null } : knownFields[fieldIndex]!;
      if (fieldIndex < 0) knownFields.splice(nextIndex, 0, field);
      nextIndex = fieldIndex < 0 ? nextIndex + 1 : fieldIndex + 1;
      if (!areBytesEqual(field.literal, this.bytes, from, this.scanOffset)) {
        field.literal = this.bytes.slice(from, this.scanOffset);
        this.#hasChanged = true;
      }
      if (firstByte !== jsonBytes.openObject) this.#skipValue();
      else if (!this.#learnFromMembers(field)) return false;
      if (this.skipSpace() === jsonBytes.closeObject) break;
      this.scanOffset++;
    }
    this.scanOffset++;
    return true;
  }

  /** Learns from the members of an object that is the value of `field`; returns false as `#learnFromObject` does. */
  #learnFromMembers(field: OrderedField): boolean {
    const objectRun = field.column.startObjects();
    if (objectRun === null) {
      this.#skipValue();
      return true;
    }
    if (field.members === null) this.#hasChanged = true;
    return this.#learnFromObject((field.members ??= []), objectRun.fields);
  }

  /** Moves past a value. */
  #skipValue(): void {
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
