import { parseJson, stringifyJson } from '../core/json.js';
import type { Columns } from '../core/types.js';
import { reservedColumns } from './arrow-columns.js';
import { leafKey } from './segment-stats.js';
import type { LeafStats, Segment } from './store.js';

/*
 * The `stats` of a Delta `add` action (Delta protocol, "Per-file Statistics"): `numRecords`, and the trees `minValues`, `maxValues` and
 * `nullCount` in the shape of the schema. In these trees, a bound of a long beyond 2^53 is a JSON number; in `LeafStats`, it is a string of
 * digits.
 */
interface StatsTree {
  [name: string]: unknown;
}

/** Returns the JSON text of `stats` for a segment. */
export function deltaStats(segment: Segment): string {
  const minValues: StatsTree = {};
  const maxValues: StatsTree = {};
  const nullCount: StatsTree = {};
  for (const [path, isLong] of leafPaths([...reservedColumns, ...segment.columns])) {
    const stats = segment.stats[leafKey(path)];
    if (stats === undefined) continue;
    setMember(nullCount, path, stats.nulls);
    if (stats.min === undefined || stats.max === undefined) continue;
    setMember(minValues, path, isLong ? BigInt(stats.min) : stats.min);
    setMember(maxValues, path, isLong ? BigInt(stats.max) : stats.max);
  }
  return stringifyJson({ numRecords: segment.rows, minValues, maxValues, nullCount });
}

/** Parses the JSON text of `stats`. Returns the number of rows, and the statistics by `leafKey`. */
export function parseLeafStats(
  text: string,
  columns: Columns,
): { rows: number; stats: Readonly<Record<string, LeafStats>> } {
  const delta = parseJson(text, { maxDepth: 1_000 }) as unknown as {
    readonly numRecords: number;
    readonly minValues: StatsTree;
    readonly maxValues: StatsTree;
    readonly nullCount: StatsTree;
  };
  if (!Number.isSafeInteger(delta.numRecords)) throw new Error('has no number of records');
  const stats = Object.create(null) as Record<string, LeafStats>;
  for (const [path] of leafPaths([...reservedColumns, ...columns])) {
    const nulls = memberAt(delta.nullCount, path);
    if (nulls === undefined) continue;
    const min = toLeafBound(memberAt(delta.minValues, path));
    const max = toLeafBound(memberAt(delta.maxValues, path));
    const key = leafKey(path);
    stats[key] = { nulls: Number(nulls) };
    if (min !== undefined && max !== undefined) stats[key] = { nulls: Number(nulls), min, max };
  }
  return { rows: delta.numRecords, stats };
}

function toLeafBound(value: unknown): number | string | undefined {
  return typeof value === 'bigint' ? String(value) : (value as number | string | undefined);
}

/** Yields the paths that may have statistics, each with whether it is a single long. A list has statistics as a whole. */
function* leafPaths(
  columns: Columns,
  above: readonly string[] = [],
): Generator<[string[], boolean]> {
  for (const column of columns) {
    const path = [...above, column.physical];
    if (column.type === 'object' && !column.isList) yield* leafPaths(column.children ?? [], path);
    else yield [path, column.type === 'long' && !column.isList];
  }
}

function setMember(tree: StatsTree, path: readonly string[], value: unknown): void {
  let at = tree;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(at, name)) defineMember(at, name, {});
    at = at[name] as StatsTree;
  }
  defineMember(at, path.at(-1)!, value);
}

/** Defines a property with any name. Names come from users, and an assignment to `__proto__` would not create a property. */
function defineMember(tree: StatsTree, name: string, value: unknown): void {
  Object.defineProperty(tree, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function memberAt(tree: StatsTree, path: readonly string[]): unknown {
  let at: unknown = tree;
  for (const name of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, name)) return undefined;
    at = (at as StatsTree)[name];
  }
  return at ?? undefined;
}
