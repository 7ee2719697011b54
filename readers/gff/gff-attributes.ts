import { ObjectColumn, type MakeColumn } from '../../engine/ingest/object-column.js';
import { overlaidColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column } from '../../engine/core/types.js';
import { AttributeColumn } from './attribute-column.js';
import { AttributeColumnsByKey } from './attribute-keys.js';
import { unescapeBytes, type UnescapeResult } from './percent-escapes.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Collects the attributes of one record at a time. Values of the keys in `columnsByKey` are appended to their columns immediately. Values
 * of other fields of the dataset are first recorded and appended at the end of the record, because a list must be begun before its first
 * value.
 */
export class AttributesBuilder {
  /** The column `attributes`. */
  readonly column: ValueColumn;
  /** The columns of the keys found so far that the dataset does not have, or whose type and multiplicity it leaves open. */
  readonly columnsByKey = new AttributeColumnsByKey();
  /** Whether the dataset has no field `attributes`, so that values need no cast. */
  readonly acceptsRuns: boolean;
  readonly #fields: ObjectFields | null;
  readonly #context: RecordContext;
  #row = 0;
  #attributeCount = 0;
  #currentColumn: ValueColumn | null = null;
  // Number of recorded values; the following arrays have the column, the source and the range of each.
  #recordedCount = 0;
  readonly #columns: (ValueColumn | null)[] = [];
  readonly #sources: Uint8Array[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  /** Unescaped texts of the current record; in total, they are not longer than its line. */
  #scratch: Uint8Array = new Uint8Array(4096);
  #scratchEnd = 0;
  readonly #unescapeResult: UnescapeResult = { end: 0, isDamaged: false };

  /** `listKeys` are the keys whose values are lists even if no record has several. */
  constructor(
    existingColumn: Column | undefined,
    listKeys: ReadonlySet<string>,
    context: RecordContext,
  ) {
    const makeColumn: MakeColumn = (spec) => {
      const { name, physical, path, depth, declared } = spec;
      const isList = listKeys.has(name);
      if (declared === undefined || declared.open === 'both')
        return new AttributeColumn(spec, isList);
      const column = overlaidColumn({ name, physical, type: 'string', isList }, declared);
      // If the dataset leaves open whether the field is a list, the values decide.
      const isOpen = declared.open === 'list' && !isList;
      return typedColumn({ ...column, ...(isOpen && { open: 'list' }) }, path, depth, context);
    };
    const objectColumn = {
      ...overlaidColumn(attributesColumn, existingColumn),
      ...(existingColumn?.children && { children: existingColumn.children }),
    };
    this.#context = context;
    this.acceptsRuns = existingColumn === undefined;
    if (objectColumn.type === 'object' && !objectColumn.isList) {
      const column = new ObjectColumn({
        column: objectColumn,
        path: objectColumn.name,
        depth: 0,
        context,
        make: makeColumn,
      });
      this.column = column;
      this.#fields = column.fields;
    } else {
      this.column = typedColumn(objectColumn, objectColumn.name, 0, context);
      this.#fields = null;
    }
  }

  /** Begins a record; `lineBytes` is the length of its line. */
  beginRecord(row: number, lineBytes: number): void {
    this.#row = row;
    this.#attributeCount = 0;
    this.#currentColumn = null;
    this.#recordedCount = 0;
    this.#scratchEnd = 0;
    if (this.#scratch.length < lineBytes) this.#scratch = new Uint8Array(lineBytes * 2);
  }

  /** Whether the current record has no attributes. */
  get isEmpty(): boolean {
    return this.#attributeCount === 0;
  }

  /** Sets the attribute to which the following values belong; its key is `bytes[from..to)`. */
  beginAttribute(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    if (this.#attributeCount++ === 0) {
      this.column.padTo(this.#row);
      // If the dataset has a field `attributes` that is not an object, the column reports it, unless validation is off.
      this.column.beginObject();
    }
    const fields = this.#fields;
    if (fields === null) return;
    let column: ValueColumn | null = isEscaped
      ? null
      : (this.columnsByKey.find(bytes, from, to) ?? null);
    if (column === null) {
      column = fields.field(this.#decodeKey(bytes, from, to, isEscaped));
      // A new column is added by its decoded key; a key that contains escapes is decoded and looked up by its text each time.
      if (column instanceof AttributeColumn && column.lastRecordNumber < 0)
        this.columnsByKey.add(column);
    }
    if (column !== null && column.lastRecordNumber !== this.#context.recordNumber) {
      column.lastRecordNumber = this.#context.recordNumber;
      this.#context.keyCount++;
    }
    this.#currentColumn = column;
  }

  /** Appends a value to the current attribute. */
  appendAttributeValue(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): void {
    const column = this.#currentColumn;
    if (column === null) return;
    if (isEscaped) {
      const start = this.#scratchEnd;
      this.#unescape(bytes, from, to, column.path);
      this.#appendOrRecord(column, this.#scratch, start, this.#scratchEnd);
    } else this.#appendOrRecord(column, bytes, from, to);
  }

  /** Ends the record; without attributes, its row in the column `attributes` stays null. */
  finishRecord(): void {
    if (this.#attributeCount === 0 || this.#fields === null) return;
    for (let i = 0; i < this.#recordedCount; i++) {
      const column = this.#columns[i]!;
      if (column === null) continue; // the value was written together with an earlier value of the same key
      column.padTo(this.#row);
      if (column.storesLists || this.#hasLaterValue(column, i)) this.#addList(column, i);
      else column.addString(this.#sources[i]!, this.#from[i]!, this.#to[i]!);
    }
    this.column.endObject();
  }

  #appendOrRecord(column: ValueColumn, bytes: Uint8Array, from: number, to: number): void {
    if (column instanceof AttributeColumn) return column.appendValue(this.#row, bytes, from, to);
    const i = this.#recordedCount++;
    this.#columns[i] = column;
    this.#sources[i] = bytes;
    this.#from[i] = from;
    this.#to[i] = to;
  }

  #hasLaterValue(column: ValueColumn, first: number): boolean {
    for (let i = first + 1; i < this.#recordedCount; i++)
      if (this.#columns[i] === column) return true;
    return false;
  }

  #addList(column: ValueColumn, first: number): void {
    const items = column.beginList();
    for (let i = first; i < this.#recordedCount; i++) {
      if (this.#columns[i] !== column) continue;
      items?.addString(this.#sources[i]!, this.#from[i]!, this.#to[i]!);
      this.#columns[i] = null;
    }
    column.endList();
  }

  #decodeKey(bytes: Uint8Array, from: number, to: number, isEscaped: boolean): string {
    if (!isEscaped) return decoder.decode(bytes.subarray(from, to));
    const start = this.#scratchEnd;
    this.#unescape(bytes, from, to, attributesColumn.name);
    return decoder.decode(this.#scratch.subarray(start, this.#scratchEnd));
  }

  #unescape(bytes: Uint8Array, from: number, to: number, path: string): void {
    const result = this.#unescapeResult;
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
