import type { Columns } from '../core/types.js';
import { reservedColumns } from './arrow.js';
import { rowGroupRows } from '../parquet/file-encoder.js';
import type { Segment } from './store.js';

/*
 * Which segments are merged (docs/decisions/0015-compaction.md). A segment weighs what it has of the most that a merged one
 * may hold; those of half that weight stay for ever. Only neighbours are merged, so that records keep their order.
 */

/** The most that a merged segment may hold: a row group, and what a pool thread can hold decoded. */
const mostBytes = 16 << 20;
const mostValues = 4_000_000;
/** More would keep a thread for seconds, and an import that somebody waits for may have no other. */
const mostSources = 256;
/** Lighter segments are small. */
const small = 0.5;

/** So many small neighbours are merged when the largest is no more than this part of them, or when they are too many. */
interface Rule {
  readonly few: number;
  readonly many: number;
  readonly largest: number;
}
const busy: Rule = { few: 16, many: 64, largest: 1 / 4 };
/** When no commit has come for a while: fewer files are left, for more rewriting. */
const quiet: Rule = { few: 4, many: 64, largest: 1 / 2 };

/** The first neighbours that should be one segment, now or when it has become quiet; undefined if there are none. */
export function planMerge(
  segments: readonly Segment[],
  isQuiet = false,
): readonly Segment[] | undefined {
  const rule = isQuiet ? quiet : busy;
  let run: Weighed[] = [];
  for (const segment of segments) {
    const weight = weightOf(segment);
    if (weight < small) {
      run.push({ segment, weight });
      continue;
    }
    const due = dueOf(run, rule);
    if (due !== undefined) return filled(due);
    run = [];
  }
  const due = dueOf(run, rule);
  return due && filled(due);
}

interface Weighed {
  readonly segment: Segment;
  readonly weight: number;
}

function weightOf({ rows, bytes, columns }: Segment): number {
  const values = rows * (reservedColumns.length + leafCount(columns));
  return Math.max(rows / rowGroupRows, bytes / mostBytes, values / mostValues);
}

/** Most segments of a dataset share their columns, and every commit asks. */
const leafCounts = new WeakMap<Columns, number>();

function leafCount(columns: Columns): number {
  let count = leafCounts.get(columns);
  if (count === undefined) {
    count = columns.reduce((sum, { children }) => sum + (children ? leafCount(children) : 1), 0);
    leafCounts.set(columns, count);
  }
  return count;
}

/**
 * The part of a run of small segments that is worth merging. Where one outweighs the others it stays until they have grown:
 * so each merge puts a record into a segment of four times the weight, and a million records that came one by one are
 * rewritten ten times each at most.
 */
function dueOf(run: readonly Weighed[], rule: Rule): readonly Weighed[] | undefined {
  if (run.length < rule.few) return undefined;
  const weight = weightOfAll(run);
  let largest = 0;
  for (const [i, one] of run.entries()) if (one.weight > run[largest]!.weight) largest = i;
  const isEven = run[largest]!.weight <= weight * rule.largest;
  if (isEven || weight >= 1 || run.length >= rule.many) return run;
  return dueOf(run.slice(0, largest), rule) ?? dueOf(run.slice(largest + 1), rule);
}

function weightOfAll(run: readonly Weighed[]): number {
  return run.reduce((sum, { weight }) => sum + weight, 0);
}

/** As many from the beginning as make one segment. */
function filled(run: readonly Weighed[]): readonly Segment[] {
  let weight = 0;
  let count = 0;
  for (const one of run) {
    weight += one.weight;
    if (weight > 1 || count === mostSources) break;
    count++;
  }
  return run.slice(0, count).map(({ segment }) => segment);
}
