import { Field, makeData, RecordBatch, Schema, Struct, type Data } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import { makeBuilder } from './nested-builders.js';
import type { ColumnBuilder } from './column-builder.js';
import { storedColumns } from './unify-columns.js';

/** Columns of one chunk, ready to be written as a segment. */
export interface Batch {
  /** The columns in `data`. */
  readonly columns: Columns;
  /** Every column that the chunk saw, those marked `seen` included, which are not in `data`: what unifying needs. */
  readonly seen: Columns;
  readonly rows: number;
  readonly data: RecordBatch;
}

/**
 * What readers fill, column by column and straight from the bytes; no object per record.
 *
 * A column is filled sparsely: whoever appends a value first calls `padTo(row)`, which fills the rows that had none with
 * nulls; `finish` pads the rest. `rollback` takes back what a record had appended before it turned out to be malformed.
 * Invariant: while a record is being read, no column holds more than one value beyond `rows`; so it is
 * between runs of records that are appended column by column.
 */
export class BatchBuilder {
  /** Records that are complete. */
  rows = 0;
  readonly #columns = new Map<string, ColumnBuilder>();

  /** The builder of a top-level column, made when first asked for; the first `column` given for a name decides its type. */
  column(column: Column): ColumnBuilder {
    let builder = this.#columns.get(column.name);
    if (builder === undefined) {
      builder = makeBuilder(column);
      this.#columns.set(column.name, builder);
    }
    return builder;
  }

  /** Adds a builder of the caller's own making. */
  add(name: string, builder: ColumnBuilder): void {
    this.#columns.set(name, builder);
  }

  /** Makes room for so many records in the columns that there are. */
  reserveRows(records: number): void {
    for (const column of this.#columns.values()) column.reserveRows(records);
  }

  endRecord(): void {
    this.rows++;
  }

  /** Ends so many records, of which the columns have their values already. */
  endRecords(count: number): void {
    this.rows += count;
  }

  /** Forgets everything appended after the first `rows` records. */
  rollback(rows: number): void {
    this.rows = rows;
    for (const column of this.#columns.values()) column.truncate(rows);
  }

  /** Forgets everything, columns included: the chunk is read again. */
  clear(): void {
    this.rows = 0;
    this.release();
  }

  /** Gives the buffers back for the next chunk; nothing may look at the finished batch any more. */
  release(): void {
    for (const column of this.#columns.values()) column.release();
    this.#columns.clear();
  }

  /** The finished columns, in the order in which they were first asked for. The builder is used up. */
  finish(): Batch {
    const builders = [...this.#columns.values()];
    const seen = builders.map((builder) => builder.column());
    const stored = builders.filter((_, i) => seen[i]!.seen === undefined);
    const children = stored.map((builder) => builder.finish(this.rows));
    return { ...makeBatch(storedColumns(seen), this.rows, children), seen };
  }
}

/** A batch from finished columns of `rows` values each. */
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
