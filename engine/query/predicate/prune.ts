import { reservedColumns } from '../../store/arrow.js';
import { leafKey } from '../../store/stats.js';
import type { LeafStats, Segment, Snapshot } from '../../store/store.js';
import type { Column, Columns } from '../../core/types.js';
import type { FieldRef, Predicate } from './predicate.js';
import type { Spellings } from '../sql/statement.js';
import { valueTest, type Condition } from './value-bounds.js';

/** Beyond so many looks the files themselves are quicker to ask. */
const mostLooks = 1_000_000;

/**
 * The snapshot without the segments that the log's statistics rule out: a file that is named costs DuckDB a look at its footer,
 * 0.15 to 0.7 ms, so that a region in one of 200 segments took 14 times as long. Files keep their order, not their numbers.
 */
export function prune(snapshot: Snapshot, predicate: Predicate, spellings: Spellings): Snapshot {
  const { segments } = snapshot;
  if (segments.length < 2 || segments.length * nodesOf(predicate) > mostLooks) return snapshot;
  const test = segmentTest(predicate, spellings);
  const kept = segments.map(test);
  if (!kept.includes(false)) return snapshot;
  const left = segments.filter((_, i) => kept[i]);
  return {
    ...snapshot,
    segments: left,
    rows: left.reduce((sum, { rows }) => sum + rows, 0),
    bytes: left.reduce((sum, { bytes }) => sum + bytes, 0),
    // The first file tells the columns.
    files: snapshot.files.filter((_, i) => i === 0 || kept[i - 1]),
  };
}

/** What is asked of each segment. */
export type SegmentTest = (segment: Segment) => boolean;

/** False for segments of which no record satisfies the predicate; true for any that may have one. */
export function segmentTest(predicate: Predicate, spellings: Spellings = new Map()): SegmentTest {
  return mayHold(predicate, spellings);
}

function mayHold(predicate: Predicate, spellings: Spellings): SegmentTest {
  switch (predicate.kind) {
    case 'all':
      return ({ rows }) => rows > 0;
    case 'none':
      return () => false;
    case 'and':
    case 'or': {
      const tests = predicate.items.map((item) => mayHold(item, spellings));
      return predicate.kind === 'and'
        ? (segment) => tests.every((test) => test(segment))
        : (segment) => tests.some((test) => test(segment));
    }
    case 'not': {
      const test = mustHold(predicate.item, spellings);
      return (segment) => !test(segment);
    }
    case 'missing': {
      const find = finder(predicate.field);
      return (segment) => {
        const leaf = find(segment);
        return leaf === 'absent' || leaf === 'unknown' || leaf.isList || leaf.stats.nulls > 0;
      };
    }
    default:
      return conditionTest(predicate, spellings);
  }
}

/** True only for segments of which every record satisfies the predicate. */
function mustHold(predicate: Predicate, spellings: Spellings): SegmentTest {
  switch (predicate.kind) {
    case 'all':
      return () => true;
    case 'and':
    case 'or': {
      const tests = predicate.items.map((item) => mustHold(item, spellings));
      return predicate.kind === 'and'
        ? (segment) => tests.every((test) => test(segment))
        : (segment) => tests.some((test) => test(segment));
    }
    case 'not': {
      const test = mayHold(predicate.item, spellings);
      return (segment) => !test(segment);
    }
    case 'missing': {
      const find = finder(predicate.field);
      return (segment) => {
        const leaf = find(segment);
        return leaf === 'absent' || (leaf !== 'unknown' && leaf.stats.nulls >= segment.rows);
      };
    }
    default:
      return () => false;
  }
}

function conditionTest(predicate: Condition, spellings: Spellings): SegmentTest {
  const { field } = predicate;
  const find = finder(field);
  const values = field.isNumberInText ? undefined : valueTest(predicate, spellings);
  return (segment) => {
    const leaf = find(segment);
    if (leaf === 'unknown') return true;
    if (leaf === 'absent' || leaf.stats.nulls >= segment.rows) return false;
    if (leaf.isList || values === undefined || leaf.type !== field.type) return true;
    const { min, max } = leaf.stats;
    return min === undefined || max === undefined || values(min, max);
  };
}

/** A field's column in a segment; a list's statistics count the lists that are null, and nothing else. */
interface Leaf {
  readonly stats: LeafStats;
  readonly isList: boolean;
  readonly type: Column['type'];
}

type Found = 'absent' | 'unknown' | { readonly key: string; readonly column: Column };

/** Finds a field in segments; those that share their columns are looked through once. */
function finder(field: FieldRef): (segment: Segment) => Leaf | 'absent' | 'unknown' {
  const known = new Map<Columns, Found>();
  return ({ columns, stats }) => {
    let found = known.get(columns);
    if (found === undefined) known.set(columns, (found = find(columns, field)));
    if (typeof found === 'string') return found;
    const leaf = Object.hasOwn(stats, found.key) ? stats[found.key] : undefined;
    const { isList, type } = found.column;
    return leaf === undefined ? 'unknown' : { stats: leaf, isList, type };
  };
}

function find(columns: Columns, field: FieldRef): Found {
  let siblings: Columns = columns;
  let column = reservedColumns.find(({ name }) => name === field.path[0]);
  const physical: string[] = [];
  for (const [depth, name] of field.path.entries()) {
    if (column?.isList) return 'unknown'; // inside a list of objects
    if (depth > 0 || column === undefined)
      column = siblings.find((candidate) => candidate.name === name);
    if (column === undefined) return 'absent';
    physical.push(column.physical);
    siblings = column.children ?? [];
  }
  return column === undefined ? 'unknown' : { key: leafKey(physical), column };
}

function nodesOf(predicate: Predicate): number {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.items.reduce((sum, item) => sum + nodesOf(item), 1);
  return predicate.kind === 'not' ? 1 + nodesOf(predicate.item) : 1;
}
