import {
  ObjectColumn,
  type MakeColumn,
  type ObjectFields,
} from '../../engine/ingest/object-column.js';
import { typedColumn } from '../../engine/ingest/typed.js';
import type { Recording, ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column } from '../../engine/types.js';
import { AttributeColumn } from './attribute-column.js';
import { unescape, type Unescaped } from './escapes.js';

/**
 * The attributes of one record at a time: first noted as places in the bytes, then written to their columns key by key, so
 * that a key that comes twice is one list.
 */
export class Attributes {
  /** The column `attributes`. */
  readonly column: ValueColumn;
  readonly #fields: ObjectFields | null;
  #count = 0;
  #keys = 0;
  readonly #recording: Recording;
  readonly #columns: (ValueColumn | null)[] = [];
  readonly #values: Places = new Places();
  /** Unescaped texts; one record's fit, as they are no longer than it. */
  #scratch: Uint8Array = new Uint8Array(4096);
  #scratchEnd = 0;
  #last: ValueColumn | null = null;
  #hasRepeats = false;
  readonly #unescaped: Unescaped = { end: 0, isDamaged: false };

  /** `lists` are keys whose values are lists even when no record has several. */
  constructor(given: Column | undefined, lists: ReadonlySet<string>, recording: Recording) {
    const make: MakeColumn = (name, physical, path, depth) =>
      new AttributeColumn(name, physical, path, depth, recording, lists.has(name));
    const object = given ?? attributesColumn;
    this.#recording = recording;
    if (object.type === 'object' && !object.isList) {
      const column = new ObjectColumn(object, object.name, 0, recording, make);
      this.column = column;
      this.#fields = column.fields;
    } else {
      this.column = typedColumn(object, object.name, 0, recording);
      this.#fields = null;
    }
  }

  /** Begins a record whose line has `bytes` bytes. */
  begin(bytes: number): void {
    this.#count = 0;
    this.#keys = 0;
    this.#scratchEnd = 0;
    this.#last = null;
    this.#hasRepeats = false;
    if (this.#scratch.length < bytes) this.#scratch = new Uint8Array(bytes * 2);
  }

  /** Whether the record has none. */
  get isEmpty(): boolean {
    return this.#keys === 0;
  }

  /** Chooses the attribute that the next values are of: `bytes[from..to)` names it. */
  key(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    this.#keys++;
    if (this.#fields === null) return;
    const guess = this.#last === null ? this.#fields.first : this.#last.next;
    let column = guess !== null && isKey(guess.key, bytes, from, to) ? guess : null;
    column ??= this.#fields.field(this.#text(bytes, from, to, isEscaped));
    if (column !== null) {
      if (this.#last === null) this.#fields.first = column;
      else this.#last.next = column;
      if (column.metIn === this.#recording.record) this.#hasRepeats = true;
      else this.#recording.keys++;
      column.metIn = this.#recording.record;
    }
    this.#last = column;
  }

  /** Notes a value of the attribute chosen last. */
  value(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    if (this.#last === null) return;
    const i = this.#count++;
    this.#columns[i] = this.#last;
    if (isEscaped) {
      const start = this.#scratchEnd;
      this.#unescape(bytes, from, to, this.#last.path);
      this.#values.set(i, this.#scratch, start, this.#scratchEnd);
    } else this.#values.set(i, bytes, from, to);
  }

  /** Writes what was noted as the attributes of a row; without attributes, the row has none. */
  write(row: number): void {
    if (this.#keys === 0) return;
    this.column.padTo(row);
    // Null when the dataset has something else than an object under this name: the column has said so then.
    if (this.column.beginObject() === null) return;
    for (let i = 0; i < this.#count; i++) {
      const column = this.#columns[i]!;
      if (column === null) continue; // written with the first value of its key
      column.padTo(this.#fields!.row);
      if (column.takesLists || this.#isRepeated(i)) this.#writeList(column, i);
      else this.#values.give(i, column);
    }
    this.column.endObject();
  }

  #writeList(column: ValueColumn, first: number): void {
    const items = column.beginList();
    for (let i = first; i < this.#count; i++) {
      if (this.#columns[i] === column) {
        if (items !== null) this.#values.give(i, items);
        this.#columns[i] = null;
      } else if (!this.#hasRepeats) break; // the values of a key stand together
    }
    column.endList();
  }

  #isRepeated(first: number): boolean {
    const column = this.#columns[first];
    for (let i = first + 1; i < this.#count; i++) {
      if (this.#columns[i] === column) return true;
      if (!this.#hasRepeats) return false;
    }
    return false;
  }

  #text(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): string {
    if (!isEscaped) return decoder.decode(bytes.subarray(from, to));
    const start = this.#scratchEnd;
    this.#unescape(bytes, from, to, attributesColumn.name);
    return decoder.decode(this.#scratch.subarray(start, this.#scratchEnd));
  }

  #unescape(bytes: Uint8Array, from: number, to: number, path: string): void {
    const result = this.#unescaped;
    unescape(bytes, from, to, this.#scratch, this.#scratchEnd, result);
    this.#scratchEnd = result.end;
    if (result.isDamaged)
      this.#recording.warn(0, path, 'an escape that is not UTF-8 was replaced by U+FFFD');
  }
}

/** Texts of one record: where each begins and ends, in the line or among the unescaped ones. */
class Places {
  readonly #sources: Uint8Array[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  set(i: number, source: Uint8Array, from: number, to: number): void {
    this.#sources[i] = source;
    this.#from[i] = from;
    this.#to[i] = to;
  }

  give(i: number, column: ValueColumn): void {
    column.addText(this.#sources[i]!, this.#from[i]!, this.#to[i]!);
  }
}

function isKey(key: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== key.length) return false;
  for (let i = 0; i < key.length; i++) if (bytes[from + i] !== key[i]) return false;
  return true;
}

const attributesColumn: Column = {
  name: 'attributes',
  physical: 'attributes',
  type: 'object',
  isList: false,
  children: [],
};

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
