import { DiscardedColumn } from '../../engine/ingest/discarded-column.js';
import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';

/**
 * Receives the values of a chunk for which there is no column. They are reported as if there were, because there may be columns in other
 * chunks of the source.
 */
export class SkippedValues {
  /** Receives the values that have no column of their own, and discards them. Findings about them name `skippedPath`, not its own path. */
  readonly column: ValueColumn;
  skippedPath = '';
  readonly #context: RecordContext;
  /** The members of the record number `#record` that have already been counted. */
  readonly #members = new Set<string>();
  #record = -1;

  constructor(context: RecordContext) {
    this.#context = context;
    this.column = new DiscardedColumn('', '', context);
  }

  /** Returns the path with which findings name a column. */
  reportedPathOf(column: ValueColumn): string {
    return column === this.column ? this.skippedPath : column.path;
  }

  /** Reports an integer that exceeds 64 bits, if it has no column; a column would report it itself. */
  checkInteger(column: ValueColumn, whole: bigint): void {
    if (column === this.column && BigInt.asIntN(64, whole) !== whole)
      this.#context.warnBeyondLong(this.skippedPath, whole);
  }

  /** Counts a member of the current record as a key when it first occurs. For an object, only its members are counted. */
  countMember(path: string, isObject: boolean): void {
    if (this.#record !== this.#context.recordNumber) this.#members.clear();
    this.#record = this.#context.recordNumber;
    if (this.#members.has(path)) return;
    this.#members.add(path);
    if (!isObject) this.#context.keyCount++;
  }
}
