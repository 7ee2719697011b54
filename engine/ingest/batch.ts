import { Field, makeData, RecordBatch, Schema, Struct, type Data } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import { makeBuilder } from './nested-builders.js';
import type { ColumnBuilder } from './column-builder.js';
import { storedColumns } from './unify-columns.js';

/** Columns of one chunk, ready to be written as a segment. */
export interface Batch {
  /** The columns of `data`, without those that `withReservedColumns` adds. */
  readonly columns: Columns;
  /** All columns found in the chunk, for `unifyColumns`; columns marked `seen` are not part of `data`. */
  readonly seen: Columns;
  readonly rows: number;
  readonly data: RecordBatch;
}

/**
 * The columns of a chunk under construction. Readers append values directly to the columns, without an object per record.
 * Columns are sparse: before a value is appended, `padTo(row)` appends nulls for the rows without a value; `finish` pads the last rows.
 * `rollback` removes the values of a record that turns out to be malformed. Invariant: while a record is read, and between runs of records
 * that are appended column by column, no column has more than one value beyond `rows`.
 */
export class BatchBuilder {
  /** The number of complete records. */
  rows = 0;
  readonly #columns = new Map<string, ColumnBuilder>();
  /** The line of each record, 0 if it is not known; null if lines are not stored. */
  #lines: number[] | null = null;

  /** Returns the builder of a top-level column, created on first use with the type of `column`. */
  column(column: Column): ColumnBuilder {
    let builder = this.#columns.get(column.name);
    if (builder === undefined) {
      builder = makeBuilder(column);
      this.#columns.set(column.name, builder);
    }
    return builder;
  }

  /** Adds a builder that the caller created. */
  addBuilder(name: string, builder: ColumnBuilder): void {
    this.#columns.set(name, builder);
  }

  /** Enlarges the buffers of the existing columns for `records` records. */
  reserveRows(records: number): void {
    for (const column of this.#columns.values()) column.reserveRows(records);
  }

  /** Ends a record; `line` is the line of the chunk on which it began, if the reader knows. */
  endRecord(line = 0): void {
    this.#lines?.push(line);
    this.rows++;
  }

  /** Stores the lines of all records; called before the first record. By default lines are not stored, because they take memory. */
  trackLineNumbers(): void {
    this.#lines ??= [];
  }

  /** Whether `endRecord` and `endRecords` have to be told the lines of records. */
  get tracksLineNumbers(): boolean {
    return this.#lines !== null;
  }

  /** Returns the line on which a record began; 0 if it is not known. */
  lineNumberOf(row: number): number {
    return this.#lines?.[row] ?? 0;
  }

  /**
   * Ends `count` records whose values have been appended. If `line` is known, the first record began on that line, and each further record
   * on the line after its predecessor's.
   */
  endRecords(count: number, line = 0): void {
    const lines = this.#lines;
    if (lines !== null) for (let i = 0; i < count; i++) lines.push(line > 0 ? line + i : 0);
    this.rows += count;
  }

  /** Removes everything after the first `rows` records. */
  rollback(rows: number): void {
    this.rows = rows;
    for (const column of this.#columns.values()) column.truncate(rows);
    this.#lines?.splice(rows);
  }

  /** Removes everything, including the columns, so that the chunk can be read again. */
  clear(): void {
    this.rows = 0;
    this.#lines?.splice(0);
    this.release();
  }

  /** Releases the buffers for the next chunk; the finished batch must not be used after this call. */
  release(): void {
    for (const column of this.#columns.values()) column.release();
    this.#columns.clear();
  }

  /** Returns the columns, in the order in which they were created. Afterwards, only `rows`, `lineNumberOf` and `release` may be used. */
  finish(): Batch {
    const builders = [...this.#columns.values()];
    const seenColumns = builders.map((builder) => builder.column());
    const storedBuilders = builders.filter((_, i) => seenColumns[i]!.seen === undefined);
    const children = storedBuilders.map((builder) => builder.finish(this.rows));
    return { ...makeBatch(storedColumns(seenColumns), this.rows, children), seen: seenColumns };
  }
}

/** Creates a batch of columns with `rows` values each. */
export function makeBatch(columns: Columns, rows: number, children: readonly Data[]): Batch {
  const fields = children.map((data, i) => new Field(columns[i]!.physical, data.type, true));
  const struct = makeData({
    type: new Struct(fields),
    length: rows,
    nullCount: 0,
    children: [...children],
  });
  return { columns, seen: columns, rows, data: new RecordBatch(new Schema(fields), struct) };
}
