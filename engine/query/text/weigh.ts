import {
  inverseDocumentFrequency,
  bm25Weight,
  type FieldStatistics,
  type Bm25Weight,
} from '../../text/bm25.js';
import { foldTerm } from '../../text/fold.js';
import { documentFrequency, type TextField, type TimeSlice } from '../../text/ranked-search.js';
import type { Snapshot } from '../../store/store.js';
import { compile } from '../sql/compile.js';
import type { Language } from '../sql/dialect.js';
import type { Select } from '../sql/statement.js';
import { leavesOf, type Leaf } from './relevance.js';
import type { Score } from '../predicate/predicate.js';
import { access, begin } from '../sql/statement.js';
import { textField } from './text-field.js';

interface Running {
  readonly language: Language;
  readonly rows: (select: Select) => Promise<readonly (readonly unknown[])[]>;
}

/** Numbers of a snapshot that were counted by a scan: they never change. */
const counted = new Map<string, readonly number[]>();
const mostCounted = 10_000;

/**
 * The scores with the weight of each condition that ranks: how rare it is among all records of the snapshot, and how long texts
 * are. The index of a field tells, or else one look at all records.
 */
export async function weighed(
  run: Running,
  snapshot: Snapshot,
  scores: readonly Score[],
  turns: TimeSlice,
): Promise<readonly Score[]> {
  const leaves = scores.flatMap(({ item }) => leavesOf(item));
  if (leaves.length === 1 && leaves[0]!.field.type !== 'text') return scores;
  const fields = await textFields(snapshot, leaves);
  const weights = new Map(await indexed(leaves, fields, turns));
  const unknown = leaves.filter((leaf) => !weights.has(leaf));
  for (const [leaf, weight] of await scanned(run, snapshot, unknown)) weights.set(leaf, weight);
  return scores.map((score) => ({ ...score, weights }));
}

/** The indexes of the fields of some conditions, by `fieldKey`; those of fields without one are left out. */
export async function textFields(
  snapshot: Snapshot,
  leaves: readonly Leaf[],
): Promise<ReadonlyMap<string, TextField>> {
  const fields = new Map<string, TextField>();
  for (const leaf of leaves) {
    const key = fieldKey(leaf);
    const field = fields.has(key) ? undefined : await textField(snapshot, leaf.field);
    if (field !== undefined) fields.set(key, field);
  }
  return fields;
}

/** The field of a condition, as a key. */
export function fieldKey({ field }: Leaf): string {
  return JSON.stringify(field.path);
}

/** The weights of words and phrases in fields with an index; `leaves` are all conditions that rank. */
export async function indexed(
  leaves: readonly Leaf[],
  fields: ReadonlyMap<string, TextField>,
  turns: TimeSlice,
): Promise<ReadonlyMap<Leaf, Bm25Weight>> {
  const weights = new Map<Leaf, Bm25Weight>();
  // A condition alone orders by how often and how long; how rare it is changes nothing.
  const isAlone = leaves.length === 1;
  for (const leaf of leaves) {
    const field = fields.get(fieldKey(leaf));
    if (field === undefined || leaf.kind === 'wildcard') continue;
    const found = isAlone ? 0 : await documentFrequency(field, leaf.words.map(foldTerm), turns);
    weights.set(leaf, bm25Weight(field.statistics, found));
  }
  return weights;
}

/** The weights of conditions on fields without an index, by one scan. */
async function scanned(
  run: Running,
  snapshot: Snapshot,
  leaves: readonly Leaf[],
): Promise<ReadonlyMap<Leaf, Bm25Weight>> {
  const statement = begin(snapshot, undefined, run.language);
  const { dialect } = statement;
  const texts = [...new Map(leaves.map(({ field }) => [field.path.join('\n'), field])).values()];
  const sums: string[] = [];
  const add = (condition: string): number => sums.push(`sum(${dialect.indicator(condition)})`) - 1;
  const lengths = new Map<string, [records: number, words: number | undefined]>();
  for (const field of texts) {
    const values = access(statement, field);
    if (!values) continue;
    const { sql, isMany, column } = values;
    const records = add(
      isMany ? `NOT (${dialect.listMissing(sql, column)})` : dialect.present(sql, column),
    );
    const text = isMany ? dialect.joinList(sql) : sql;
    const words =
      field.type === 'text' ? sums.push(`sum(${dialect.textLength(text)})`) - 1 : undefined;
    lengths.set(field.path.join('\n'), [records, words]);
  }
  const found = leaves.map((leaf) => add(compile(statement, leaf)));
  if (lengths.size === 0) return new Map();
  const key = keyOf(snapshot, leaves);
  let row = counted.get(key);
  if (row === undefined) {
    const sql = `SELECT ${sums.join(', ')} FROM ${statement.source}`;
    const [first] = await run.rows({ sql, params: statement.params.list });
    row = (first ?? []).map(Number);
    if (counted.size >= mostCounted) counted.clear();
    counted.set(key, row);
  }
  const weights = new Map<Leaf, Bm25Weight>();
  for (const [i, leaf] of leaves.entries()) {
    const [records, words] = lengths.get(leaf.field.path.join('\n')) ?? [];
    if (records === undefined) continue;
    const matching = row[found[i]!]!;
    const statistics: FieldStatistics = {
      records: row[records]!,
      tokens: words === undefined ? 0 : row[words]!,
    };
    weights.set(
      leaf,
      words === undefined ? plain(statistics, matching) : bm25Weight(statistics, matching),
    );
  }
  return weights;
}

/** Strings are names, whose length and repetitions say nothing. */
export function plain({ records }: FieldStatistics, found: number): Bm25Weight {
  return { most: inverseDocumentFrequency(records, found), base: 0, slope: 0 };
}

function keyOf({ datasetId, version, files }: Snapshot, leaves: readonly Leaf[]): string {
  const parts = leaves.map(({ field, ...rest }) => [field.path, { ...rest }]);
  return JSON.stringify([files[0], datasetId, version, parts]);
}
