import { common, merged, without } from '../core/ascending.js';
import { deletedRows } from './deletion-vector.js';
import type { LogEntry } from './log.js';
import type { Segment } from './store.js';

/** Rows of a segment: ascending numbers, or all. */
export type TracedRows = Int32Array | 'all';

/** The rows that an entry of the log deletes (`deleted`) and those that it restores, by path of their segment. */
export function deletionsOf({
  update,
}: LogEntry): Readonly<Record<'deleted' | 'restored', ReadonlyMap<string, Int32Array>>> {
  const deleted = new Map<string, Int32Array>();
  const restored = new Map<string, Int32Array>();
  for (const { segment, before } of update) {
    const earlier = before ? deletedRows(before) : noRows;
    const later = segment.deletion ? deletedRows(segment.deletion) : noRows;
    const more = without(later, earlier);
    const fewer = without(earlier, later);
    if (more.length > 0) deleted.set(segment.path, more);
    if (fewer.length > 0) restored.set(segment.path, fewer);
  }
  return { deleted, restored };
}

const noRows = new Int32Array(0);

/** A set of rows of a dataset, which is followed from one version to the next: merges move rows to other segments. */
export class RowTrace {
  readonly rows: Map<string, TracedRows>;
  /** Number of rows that a merge has left out because they had been deleted long before. */
  dropped = 0;

  constructor(rows: ReadonlyMap<string, TracedRows>) {
    this.rows = new Map(rows);
  }

  /** The rows that are also among `others`. */
  common(others: ReadonlyMap<string, Int32Array>): ReadonlyMap<string, Int32Array> {
    const found = new Map<string, Int32Array>();
    for (const [path, other] of others) {
      const own = this.rows.get(path);
      const both = own === undefined ? noRows : own === 'all' ? other : common(own, other);
      if (both.length > 0) found.set(path, both);
    }
    return found;
  }

  /** Removes rows; of a segment of which the set has all rows, `live` tells how many these are. */
  remove(others: ReadonlyMap<string, Int32Array>, live: ReadonlyMap<string, Segment>): void {
    for (const [path, other] of others) {
      const own = this.rows.get(path);
      if (own === undefined) continue;
      const left = without(numbersOf(own, live.get(path)!), other);
      if (left.length === 0) this.rows.delete(path);
      else this.rows.set(path, left);
    }
  }

  /** Follows the rows to the version of an entry; `live` holds the segments of the version before. */
  follow(entry: LogEntry, live: ReadonlyMap<string, Segment>): void {
    if (!entry.isRewrite) {
      for (const { path } of entry.remove) this.rows.delete(path);
      return;
    }
    const sources = entry.remove.map(({ path }) => live.get(path)!);
    const [target] = entry.add;
    const all = sources.reduce((sum, { rows }) => sum + rows, 0);
    const keepsDeleted = target?.rows === all;
    const moved: Int32Array[] = [];
    let before = 0;
    for (const source of sources) {
      const own = this.rows.get(source.path);
      this.rows.delete(source.path);
      const gone = source.deletion && !keepsDeleted ? deletedRows(source.deletion) : noRows;
      if (own !== undefined) {
        const numbers = numbersOf(own, source);
        const left = without(numbers, gone);
        this.dropped += numbers.length - left.length;
        moved.push(ranked(left, gone, before));
      }
      before += source.rows - gone.length;
    }
    const found = moved.reduce((a, b) => merged(a, b), noRows);
    if (target === undefined || found.length === 0) return;
    this.rows.set(target.path, found.length === target.rows ? 'all' : found);
  }
}

/** The numbers of rows. */
export function numbersOf(rows: TracedRows, { rows: count }: Segment): Int32Array {
  return rows === 'all' ? Int32Array.from({ length: count }, (_, row) => row) : rows;
}

/** What the numbers of rows become when the rows `gone` are left out and `before` other rows come first. */
function ranked(rows: Int32Array, gone: Int32Array, before: number): Int32Array {
  let passed = 0;
  return rows.map((row) => {
    while (passed < gone.length && gone[passed]! < row) passed++;
    return before + row - passed;
  });
}
