import { ObjectColumn, type MakeColumn } from '../../engine/ingest/object-column.js';
import { overlayColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column } from '../../engine/core/types.js';
import { AttributeColumn } from './attribute-column.js';
import { AttributeKeys } from './attribute-keys.js';
import { unescapeBytes, type Unescaped } from './percent-escapes.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Collects the attributes of one record at a time. Values of keys that are new to the dataset are appended to their columns at once; those
 * of existing fields are noted first, because a list has to be begun before its first value.
 */
export class Attributes {
  /** The column `attributes`. */
  readonly column: ValueColumn;
  /** The columns of the keys found so far that the dataset does not have. */
  readonly keys = new AttributeKeys();
  /** Whether all columns are new to the dataset, so that values need no cast. */
  readonly acceptsRuns: boolean;
  readonly #fields: ObjectFields | null;
  readonly #context: RecordContext;
  #row = 0;
  #keys = 0;
  #last: ValueColumn | null = null;
  // Number of the noted values, and the column and range of each.
  #noted = 0;
  readonly #columns: (ValueColumn | null)[] = [];
  readonly #sources: Uint8Array[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  /** Unescaped texts of the record, in all no longer than its line. */
  #scratch: Uint8Array = new Uint8Array(4096);
  #scratchEnd = 0;
  readonly #unescaped: Unescaped = { end: 0, isDamaged: false };

  /** `lists` are keys whose values are lists even when no record has several. */
  constructor(existing: Column | undefined, lists: ReadonlySet<string>, context: RecordContext) {
    const makeColumn: MakeColumn = (spec) => {
      const { name, physical, path, depth, declared } = spec;
      const isList = lists.has(name);
      if (declared === undefined || declared.open === 'both')
        return new AttributeColumn(spec, isList);
      const column = overlayColumn({ name, physical, type: 'string', isList }, declared);
      // The values decide whether an attribute is a list.
      const isOpen = declared.open === 'list' && !isList;
      return typedColumn({ ...column, ...(isOpen && { open: 'list' }) }, path, depth, context);
    };
    const object = {
      ...overlayColumn(attributesColumn, existing),
      ...(existing?.children && { children: existing.children }),
    };
    this.#context = context;
    this.acceptsRuns = existing === undefined;
    if (object.type === 'object' && !object.isList) {
      const column = new ObjectColumn({
        column: object,
        path: object.name,
        depth: 0,
        context,
        make: makeColumn,
      });
      this.column = column;
      this.#fields = column.fields;
    } else {
      this.column = typedColumn(object, object.name, 0, context);
      this.#fields = null;
    }
  }

  /** Begins a record whose line has `bytes` bytes. */
  begin(row: number, bytes: number): void {
    this.#row = row;
    this.#keys = 0;
    this.#last = null;
    this.#noted = 0;
    this.#scratchEnd = 0;
    if (this.#scratch.length < bytes) this.#scratch = new Uint8Array(bytes * 2);
  }

  /** Whether the record has no attributes. */
  get isEmpty(): boolean {
    return this.#keys === 0;
  }

  /** Sets the attribute of the next values; its key is `bytes[from..to)`. */
  key(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    if (this.#keys++ === 0) {
      this.column.padTo(this.#row);
      // Rejects the record if the dataset has a field `attributes` that is no object, which the column reports.
      this.column.beginObject();
    }
    const fields = this.#fields;
    if (fields === null) return;
    let column: ValueColumn | null = isEscaped ? null : (this.keys.find(bytes, from, to) ?? null);
    if (column === null) {
      column = fields.field(this.#text(bytes, from, to, isEscaped));
      // A key with escapes is looked up by its text each time.
      if (column instanceof AttributeColumn && column.lastRecord < 0) this.keys.add(column);
    }
    if (column !== null && column.lastRecord !== this.#context.record) {
      column.lastRecord = this.#context.record;
      this.#context.keys++;
    }
    this.#last = column;
  }

  /** Appends a value to the current attribute. */
  value(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    const column = this.#last;
    if (column === null) return;
    if (isEscaped) {
      const start = this.#scratchEnd;
      this.#unescape(bytes, from, to, column.path);
      this.#give(column, this.#scratch, start, this.#scratchEnd);
    } else this.#give(column, bytes, from, to);
  }

  /** Ends the record; the row of a record without attributes is null. */
  end(): void {
    if (this.#keys === 0 || this.#fields === null) return;
    for (let i = 0; i < this.#noted; i++) {
      const column = this.#columns[i]!;
      if (column === null) continue; // written together with an earlier value of the same key
      column.padTo(this.#row);
      if (column.storesLists || this.#comesAgain(column, i)) this.#addList(column, i);
      else column.addString(this.#sources[i]!, this.#from[i]!, this.#to[i]!);
    }
    this.column.endObject();
  }

  #give(column: ValueColumn, bytes: Uint8Array, from: number, to: number): void {
    if (column instanceof AttributeColumn) return column.add(this.#row, bytes, from, to);
    const i = this.#noted++;
    this.#columns[i] = column;
    this.#sources[i] = bytes;
    this.#from[i] = from;
    this.#to[i] = to;
  }

  #comesAgain(column: ValueColumn, first: number): boolean {
    for (let i = first + 1; i < this.#noted; i++) if (this.#columns[i] === column) return true;
    return false;
  }

  #addList(column: ValueColumn, first: number): void {
    const items = column.beginList();
    for (let i = first; i < this.#noted; i++) {
      if (this.#columns[i] !== column) continue;
      items?.addString(this.#sources[i]!, this.#from[i]!, this.#to[i]!);
      this.#columns[i] = null;
    }
    column.endList();
  }

  #text(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): string {
    if (!isEscaped) return decoder.decode(bytes.subarray(from, to));
    const start = this.#scratchEnd;
    this.#unescape(bytes, from, to, attributesColumn.name);
    return decoder.decode(this.#scratch.subarray(start, this.#scratchEnd));
  }

  #unescape(bytes: Uint8Array, from: number, to: number, path: string): void {
    const result = this.#unescaped;
    unescapeBytes(bytes, from, to, this.#scratch, this.#scratchEnd, result);
    this.#scratchEnd = result.end;
    if (result.isDamaged)
      this.#context.warn(
        codes.unreadableLine,
        path,
        'an escape that is not UTF-8 was replaced by U+FFFD',
      );
  }
}

const attributesColumn: Column = {
  name: 'attributes',
  physical: 'attributes',
  type: 'object',
  isList: false,
  children: [],
};

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
