import type { Data } from 'apache-arrow';
import type { Column, Columns } from '../../../engine/core/types.js';
import type { PyValue } from '../../../engine/expression/values/python-values.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { createRecordFields } from '../../../engine/ingest/make-column.js';
import type { RecordContext } from '../../../engine/ingest/record-context.js';
import { storedColumns } from '../../../engine/ingest/unify-columns.js';
import type { ObjectFields, ValueColumn } from '../../../engine/ingest/value-column.js';
import { ValueAppender } from './append-value.js';

/** The columns of records that expressions produce. Their types follow the values unless they are known. */
export class RecordColumns {
  readonly #appender: ValueAppender;
  readonly #fields: ObjectFields;
  readonly #columns: ValueColumn[] = [];
  #rows = 0;

  /** `known` are columns whose types the values must have, `hints` columns whose types are used from the start, if values fit. */
  constructor(known: Columns, hints: Columns, context: RecordContext) {
    this.#appender = new ValueAppender(context);
    this.#fields = createRecordFields({
      declared: known,
      hints,
      context,
      onNew: (column) => this.#columns.push(column),
    });
  }

  /** Appends the value of a field of the current record. */
  append(name: string, value: PyValue): void {
    const column = this.#fields.field(name);
    if (column === null) return;
    column.padTo(this.#rows);
    this.#appender.append(column, value);
  }

  /** Ends the current record: the fields that it lacks are null. */
  endRecord(): void {
    this.#rows++;
  }

  /** Ends the columns and returns them, in the order in which `append` was first called for them. */
  finish(): Batch {
    const rows = this.#rows;
    for (const column of this.#columns) column.padTo(rows);
    const seenColumns = this.#columns.map((column) => column.column());
    const resultColumns: { readonly column: Column; readonly data: Data }[] = seenColumns.flatMap(
      (column, i) =>
        column.seen === undefined ? [{ column, data: this.#columns[i]!.finish(rows) }] : [],
    );
    const columns = storedColumns(resultColumns.map(({ column }) => column));
    return { ...makeBatch(columns, rows, resultColumns.map(({ data }) => data)), seen: seenColumns }; // prettier-ignore
  }

  /** Releases the buffers; the finished batch must not be used afterwards. */
  release(): void {
    for (const column of this.#columns) column.release();
  }
}
