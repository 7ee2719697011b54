import { LruCache } from '../../core/lru-cache.js';
import { bm25Weight, documentFrequencyWeight, noWeight, type Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import { fieldKey, type ScoredCondition } from '../predicate/predicate.js';
import type { ConditionWeights } from '../text/relevance.js';
import { compilePredicate } from './compile-predicate.js';
import type { DialectFactory } from './dialect/dialect.js';
import { fieldExpression, newStatement, type RunSelect } from './dialect/statement.js';

/** Cached results of scans. Snapshots never change, so they stay valid. */
const scanCache = new LruCache<string, readonly number[]>(10_000);

/**
 * Returns the BM25 weights of conditions. One SQL statement over all records counts the records with a value of each field, the matches of
 * each condition, and the tokens of texts; its result is cached for the version of the dataset.
 */
export async function computeBm25Weights(
  snapshot: Snapshot,
  conditions: readonly ScoredCondition[],
  dialectFactory: DialectFactory,
  rows: RunSelect,
): Promise<ConditionWeights> {
  const statement = newStatement(snapshot, undefined, dialectFactory);
  const { dialect, params, source } = statement;
  const sums: string[] = [];
  const addCount = (condition: string): number =>
    sums.push(`sum(${dialect.indicator(condition)})`) - 1;
  /** By field, the indices of the sums that count its records and, for a text, its tokens. Fields that no record stores are missing. */
  const fieldSums = new Map<string, readonly [records: number, tokens: number | undefined]>();
  for (const { field } of conditions) {
    const expression = fieldExpression(statement, field);
    if (!expression || fieldSums.has(fieldKey(field))) continue;
    const { sql, isMany, column } = expression;
    const recordsIndex = addCount(
      isMany ? `NOT (${dialect.listMissing(sql, column)})` : dialect.present(sql, column),
    );
    const text = isMany ? dialect.joinList(sql) : sql;
    const isText = field.type === 'text';
    const tokensIndex = isText ? sums.push(`sum(${dialect.textLength(text)})`) - 1 : undefined;
    fieldSums.set(fieldKey(field), [recordsIndex, tokensIndex]);
  }
  if (fieldSums.size === 0) return new Map(conditions.map((condition) => [condition, noWeight]));
  const matches = conditions.map((each) => addCount(compilePredicate(statement, each)));
  const { files, datasetId, version } = snapshot;
  const key = JSON.stringify([files[0], datasetId, version, conditions]);
  let counts = scanCache.get(key);
  if (counts === undefined) {
    const sql = `SELECT ${sums.join(', ')} FROM ${source}`;
    const [row = []] = await rows({ sql, params: params.boundValues });
    scanCache.set(key, (counts = row.map(Number)));
  }
  const weightOf = ({ field }: ScoredCondition, i: number): Bm25Weight => {
    const [recordsIndex, tokensIndex] = fieldSums.get(fieldKey(field)) ?? [];
    if (recordsIndex === undefined) return noWeight;
    const matchCount = counts[matches[i]!]!;
    return tokensIndex === undefined
      ? documentFrequencyWeight(counts[recordsIndex]!, matchCount)
      : bm25Weight({ records: counts[recordsIndex]!, tokens: counts[tokensIndex]! }, matchCount);
  };
  return new Map(conditions.map((condition, i) => [condition, weightOf(condition, i)]));
}
