import type { DatasetField } from '../../core/dataset-field.js';
import { parseJson } from '../../core/json.js';
import { LruCache } from '../../core/lru-cache.js';
import { SharedRun } from '../../core/shared-run.js';
import { differenceBytes } from '../../store/difference.js';
import type { Snapshot, VersionDifference, RowRef } from '../../store/store.js';
import { withDatasetNamedInErrors, type RunOptions } from '../executor/run-options.js';
import { project } from '../results/projection.js';
import { matchChangedRows } from './changed-rows.js';
import type { QueryEngine } from './query-engine.js';
import { readPageRecords } from './read-page-records.js';
import { RowSequence } from './row-sequence.js';

/** Two versions of a dataset, and the rows in which they differ. */
export interface ComparedVersions {
  readonly from: Snapshot;
  readonly to: Snapshot;
  readonly difference: VersionDifference;
  readonly fields: readonly DatasetField[];
}

/** The records in which two versions differ. A page lists removed records first, then changed ones, then added ones. */
interface RecordChanges {
  /** Records of `from` whose `_id` no record of `to` has, in insertion order. */
  readonly removed: RowSequence;
  /** Records that both versions have, with the same `_id` and different `_commit`s: their rows in `to`, in insertion order. */
  readonly after: RowSequence;
  /** The rows in `from` of the records of `after`, in the order of `after`. */
  readonly before: RowSequence;
  /** Records of `to` whose `_id` no record of `from` has, in insertion order. */
  readonly added: RowSequence;
}

/** The comparison of each difference: running, completed and kept, or failed. */
const comparisons = new WeakMap<VersionDifference, SharedRun<RecordChanges>>();

/** Maximum total size of the completed comparisons that are kept, with their differences, in bytes; a larger one is kept alone. */
const maxComparisonBytes = 64 << 20;

/** The differences whose comparisons are completed and kept. */
const comparedDifferences = new LruCache<VersionDifference, VersionDifference>(
  maxComparisonBytes,
  (difference) => comparisons.delete(difference),
);

/**
 * Finds out which of the differing rows of two versions are two states of one record. The `_id`s are read only if there are both removed
 * and added rows. Requests with the same `difference` object share one computation.
 */
export async function computeRecordChanges(
  engine: QueryEngine,
  versions: ComparedVersions,
  options: RunOptions,
): Promise<RecordChanges> {
  const { difference } = versions;
  comparedDifferences.get(difference); // counts as a use, so that another comparison is evicted first
  let run = comparisons.get(difference);
  if (run === undefined || run.hasFailed) {
    run = new SharedRun((signal) =>
      withDatasetNamedInErrors(versions.to, () =>
        findRecordChanges(engine, versions, { ...options, signal }),
      ),
    );
    comparisons.set(difference, run);
  }
  return run.wait(options.signal);
}

async function findRecordChanges(
  engine: QueryEngine,
  { from, to, difference }: ComparedVersions,
  options: RunOptions,
): Promise<RecordChanges> {
  const removedRows = await RowSequence.fromSnapshot(from, difference.removed);
  const addedRows = await RowSequence.fromSnapshot(to, difference.added);
  const partners =
    removedRows.length > 0 && addedRows.length > 0
      ? await matchChangedRows(
          engine,
          { snapshot: from, rows: removedRows },
          { snapshot: to, rows: addedRows },
          options,
        )
      : new Int32Array(0);
  const before = partners.filter((index) => index >= 0);
  const after = partners.map((_, index) => index).filter((index) => partners[index]! >= 0);
  const changes = {
    removed: removedRows.excludeIndexes(before.toSorted()),
    before: removedRows.selectIndexes(before),
    after: addedRows.selectIndexes(after),
    added: addedRows.excludeIndexes(after),
  };
  const bytes = Object.values(changes).reduce(
    (sum, { orderBytes }) => sum + orderBytes,
    differenceBytes(difference),
  );
  comparedDifferences.set(difference, difference, Math.min(maxComparisonBytes, bytes));
  return changes;
}

/**
 * Yields a page of changes as texts that, concatenated, are the members of a JSON array: removed records first, then changed ones, then
 * added ones.
 */
export async function* readDifferencePage(
  engine: QueryEngine,
  { from, to, fields }: Omit<ComparedVersions, 'difference'>,
  { removed, before, after, added }: RecordChanges,
  offset: number,
  limit: number,
  options: RunOptions,
): AsyncGenerator<string> {
  const readRecords = (
    snapshot: Snapshot,
    rows: readonly RowRef[],
  ): AsyncIterable<readonly string[]> => {
    if (rows.length === 0) return noChangeLines();
    const projection = project(snapshot.columns, fields, { fields: null, excludeFields: [] });
    return readPageRecords(
      engine,
      snapshot,
      rows,
      { projection, format: { kind: 'texts' } },
      options,
    );
  };
  let separator = '';
  const joinMembers = (members: readonly string[]): string => {
    const text = separator + members.join(',');
    separator = ',';
    return text;
  };
  let [first, end] = [offset, offset + limit];
  for await (const piece of readRecords(from, removed.slice(first, end)))
    yield joinMembers(piece.map((record) => jsonOfRecordChange('removed', record)));
  [first, end] = [Math.max(0, first - removed.length), Math.max(0, end - removed.length)];
  const earlierTexts = readRecords(from, before.slice(first, end))[Symbol.asyncIterator]();
  try {
    for await (const piece of readRecords(to, after.slice(first, end))) {
      // The earlier and the later records are read in parts of equal numbers of records.
      const { value: befores } = (await earlierTexts.next()) as {
        readonly value: readonly string[];
      };
      yield joinMembers(
        piece.map((record, i) => jsonOfRecordChange('changed', record, befores[i])),
      );
    }
  } finally {
    await earlierTexts.return?.();
  }
  [first, end] = [Math.max(0, first - after.length), Math.max(0, end - after.length)];
  for await (const piece of readRecords(to, added.slice(first, end)))
    yield joinMembers(piece.map((record) => jsonOfRecordChange('added', record)));
}

async function* noChangeLines(): AsyncGenerator<readonly string[]> {
  // Yields nothing, because there are no rows.
}

function jsonOfRecordChange(
  change: 'removed' | 'changed' | 'added',
  record: string,
  before?: string,
): string {
  const fields = before === undefined ? [] : changedFields(before, record);
  return `{"change":"${change}","record":${record},"before":${before ?? 'null'},"fields":${JSON.stringify(fields)}}`;
}

/**
 * Returns the dotted names of the fields in which two records of one `_id`, given as JSON, differ. In each object, the members come in the
 * order of the later record, then those that only the earlier record has. `_commit`, which always differs, is left out. A missing field
 * equals null, and a list is compared as a whole.
 */
export function changedFields(before: string, after: string): readonly string[] {
  const [earlier, later] = [parseJson(before) as JsonRecord, parseJson(after) as JsonRecord];
  const names: string[] = [];
  compareFields({ ...earlier, _commit: null }, { ...later, _commit: null }, '', names);
  return names;
}

type JsonRecord = Readonly<Record<string, unknown>>;

function compareFields(
  before: JsonRecord,
  after: JsonRecord,
  above: string,
  names: string[],
): void {
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
    const [a, b] = [ownMember(before, name), ownMember(after, name)];
    if (areJsonValuesEqual(a, b)) continue;
    const areObjects = isObject(a ?? b) && isObject(b ?? a);
    if (areObjects)
      compareFields((a ?? {}) as JsonRecord, (b ?? {}) as JsonRecord, `${above}${name}.`, names);
    else names.push(above + name);
  }
}

function areJsonValuesEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => areJsonValuesEqual(one, b[i]));
  if (isObject(a) && isObject(b)) {
    const names = [...Object.keys(a), ...Object.keys(b)];
    return names.every((name) => areJsonValuesEqual(ownMember(a, name), ownMember(b, name)));
  }
  return (a ?? null) === (b ?? null);
}

function isObject(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function ownMember(of: JsonRecord, name: string): unknown {
  return Object.hasOwn(of, name) ? of[name] : null;
}
