import { DiscardedColumn } from '../../engine/ingest/discarded-column.js';
import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';

/**
 * Receives the values of a chunk that have no column. They are reported as if they had one, because they may have columns in other chunks
 * of the source.
 */
export class SkippedValues {
  /** The column that checks and discards such a value and reports its faults under the path that was passed to `path` last. */
  readonly column: ValueColumn;
  path = '';
  readonly #context: RecordContext;
  /** The members of the record `#record` that have been counted. */
  readonly #members = new Set<string>();
  #record = -1;

  constructor(context: RecordContext) {
    this.#context = context;
    this.column = new DiscardedColumn('', '', context);
  }

  /** The path that findings name for a column. */
  pathOf(column: ValueColumn): string {
    return column === this.column ? this.path : column.path;
  }

  /** Reports an integer that 64 bits cannot hold, unless it has a column, which reports it. */
  checkInteger(column: ValueColumn, whole: bigint): void {
    if (column === this.column && BigInt.asIntN(64, whole) !== whole)
      this.#context.warnBeyondLong(this.path, whole);
  }

  /** Counts a member of the current record as a key, at its first occurrence. Of an object, only the members are counted. */
  count(path: string, isObject: boolean): void {
    if (this.#record !== this.#context.record) this.#members.clear();
    this.#record = this.#context.record;
    if (this.#members.has(path)) return;
    this.#members.add(path);
    if (!isObject) this.#context.keys++;
  }
}
