import {
  inverseDocumentFrequency,
  bm25Weight,
  noWeight,
  type FieldStatistics,
  type Bm25Weight,
} from '../../text/bm25.js';
import type { Columns } from '../../core/types.js';
import { foldTerm } from '../../text/fold.js';
import type { Snapshot } from '../../store/store.js';
import { compilePredicate } from '../sql/compile.js';
import type { DialectFactory } from '../sql/dialect.js';
import type { SelectStatement } from '../sql/statement.js';
import { scoredConditionsOf, type ScoredCondition } from './relevance.js';
import { fieldKey, type FieldRef, type ScoreClause } from '../predicate/predicate.js';
import { fieldExpression, newStatement } from '../sql/statement.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { isIndexable } from './text-field.js';

/** How SQL statements are run. */
interface SqlRunner {
  readonly language: DialectFactory;
  readonly rows: (select: SelectStatement) => Promise<readonly (readonly unknown[])[]>;
}

/** Statistics of the texts of a field, and the numbers of records that contain phrases. */
export interface TextFrequencies extends FieldStatistics {
  readonly found: readonly number[];
}

/** Looks up phrases in the text index of a field; returns a reason if a segment has none. */
export type LookUpFrequencies = (
  field: FieldRef,
  phrases: readonly (readonly Uint8Array[])[],
) => Promise<TextFrequencies | Unsupported>;

/** Cached counts of scans. Snapshots never change, so the counts stay valid. */
const scanCountsCache = new Map<string, readonly number[]>();
const maxCachedScans = 10_000;

/**
 * Returns the scores with the weights of their conditions, which are based on document frequencies and text lengths in the whole snapshot.
 * The weights come from the text index of a field or, if there is none, from one scan of all records.
 */
export async function weighPredicate(
  run: SqlRunner,
  snapshot: Snapshot,
  scores: readonly ScoreClause[],
  lookUp: LookUpFrequencies | undefined,
): Promise<readonly ScoreClause[]> {
  const leaves = scores.flatMap(({ item }) => scoredConditionsOf(item));
  if (leaves.length === 1 && leaves[0]!.field.type !== 'text') return scores;
  const weights = new Map(lookUp && (await weightsByIndex(leaves, snapshot.columns, lookUp)));
  const unknown = leaves.filter((leaf) => !weights.has(leaf));
  for (const [leaf, weight] of await scanWeights(run, snapshot, unknown)) weights.set(leaf, weight);
  return scores.map((score) => ({ ...score, weights }));
}

/** Returns the weights of terms and phrases in fields that have an index in every segment; `leaves` are all conditions that rank. */
export async function weightsByIndex(
  leaves: readonly ScoredCondition[],
  columns: Columns,
  lookUp: LookUpFrequencies,
): Promise<ReadonlyMap<ScoredCondition, Bm25Weight>> {
  const indexedLeaves = leaves.filter(({ field }) => isIndexable(columns, field));
  const fields = Map.groupBy(indexedLeaves, ({ field }) => fieldKey(field));
  const weights = new Map<ScoredCondition, Bm25Weight>();
  await Promise.all(
    [...fields.values()].map(async (ofField) => {
      const phrases = ofField.flatMap((leaf) => (leaf.kind === 'wildcard' ? [] : [leaf]));
      const foldedPhrases = phrases.map(({ terms }) => terms.map(foldTerm));
      const knownFrequencies = await lookUp(ofField[0]!.field, foldedPhrases);
      if (isUnsupported(knownFrequencies)) return;
      for (const [i, leaf] of phrases.entries())
        weights.set(leaf, bm25Weight(knownFrequencies, knownFrequencies.found[i]!));
    }),
  );
  return weights;
}

/** Returns the weights of conditions on fields without an index, computed by one scan of all records. */
async function scanWeights(
  run: SqlRunner,
  snapshot: Snapshot,
  leaves: readonly ScoredCondition[],
): Promise<ReadonlyMap<ScoredCondition, Bm25Weight>> {
  const statement = newStatement(snapshot, undefined, run.language);
  const { dialect } = statement;
  const fields = [...new Map(leaves.map(({ field }) => [field.path.join('\n'), field])).values()];
  const sums: string[] = [];
  const add = (condition: string): number => sums.push(`sum(${dialect.indicator(condition)})`) - 1;
  const lengths = new Map<string, [records: number, words: number | undefined]>();
  for (const field of fields) {
    const values = fieldExpression(statement, field);
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
  const found = leaves.map((leaf) => add(compilePredicate(statement, leaf)));
  const weights = new Map<ScoredCondition, Bm25Weight>(leaves.map((leaf) => [leaf, noWeight]));
  if (lengths.size === 0) return weights;
  const key = scanCacheKey(snapshot, leaves);
  let row = scanCountsCache.get(key);
  if (row === undefined) {
    const sql = `SELECT ${sums.join(', ')} FROM ${statement.source}`;
    const [first] = await run.rows({ sql, params: statement.params.boundValues });
    row = (first ?? []).map(Number);
    if (scanCountsCache.size >= maxCachedScans) scanCountsCache.clear();
    scanCountsCache.set(key, row);
  }
  for (const [i, leaf] of leaves.entries()) {
    const [records, words] = lengths.get(leaf.field.path.join('\n')) ?? [];
    if (records === undefined) continue;
    const matchingTexts = row[found[i]!]!;
    const statistics: FieldStatistics = {
      records: row[records]!,
      tokens: words === undefined ? 0 : row[words]!,
    };
    weights.set(
      leaf,
      words === undefined
        ? documentFrequencyWeight(statistics, matchingTexts)
        : bm25Weight(statistics, matchingTexts),
    );
  }
  return weights;
}

/**
 * Returns the weight of a condition on a field that is not a text. It depends only on the number `found` of records that satisfy the
 * condition.
 */
export function documentFrequencyWeight({ records }: FieldStatistics, found: number): Bm25Weight {
  if (found === 0) return noWeight;
  return { most: inverseDocumentFrequency(records, found), base: 0, slope: 0 };
}

function scanCacheKey(
  { datasetId, version, files }: Snapshot,
  leaves: readonly ScoredCondition[],
): string {
  const parts = leaves.map(({ field, ...rest }) => [field.path, { ...rest }]);
  return JSON.stringify([files[0], datasetId, version, parts]);
}
