import { DiscardedColumn } from '../../engine/ingest/discarded-column.js';
import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';

/**
 * Receives the values of a chunk that have no column of their own. They are reported as if they had, because there may be columns in other
 * chunks of the source.
 */
export class SkippedValues {
  /** Receives the values that have no column of their own, and discards them. Findings about them name `skippedPath`, not its own path. */
  readonly column: ValueColumn;
  skippedPath = '';
  readonly #context: RecordContext;
  /** The members of the record number `#recordNumber` that have already been counted. */
  readonly #memberPaths = new Set<string>();
  #recordNumber = -1;

  constructor(context: RecordContext) {
    this.#context = context;
    this.column = new DiscardedColumn('', '', context);
  }

  /** Returns the path with which findings name a column. */
  reportedPathOf(column: ValueColumn): string {
    return column === this.column ? this.skippedPath : column.path;
  }

  /** Reports an integer that exceeds 64 bits, if it has no column; a column would report it itself. */
  checkInteger(column: ValueColumn, integer: bigint): void {
    if (column === this.column && BigInt.asIntN(64, integer) !== integer)
      this.#context.warnBeyondLong(this.skippedPath, integer);
  }

  /** Counts a member of the current record as a key when it first occurs. For an object, only its members are counted. */
  countMember(path: string, isObject: boolean): void {
    if (this.#recordNumber !== this.#context.recordNumber) this.#memberPaths.clear();
    this.#recordNumber = this.#context.recordNumber;
    if (this.#memberPaths.has(path)) return;
    this.#memberPaths.add(path);
    if (!isObject) this.#context.keyCount++;
  }
}
