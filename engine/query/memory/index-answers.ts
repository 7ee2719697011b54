import { LruCache } from '../../core/lru-cache.js';
import type { Snapshot } from '../../store/store.js';
import { bm25Weight } from '../../text/bm25.js';
import type { FoldedTerms } from '../../text/column-matcher.js';
import type { RankedTexts } from '../../text/ranked-search.js';
import { patternText } from '../../text/wildcard-patterns.js';
import { compareRankedRows, type RankedRow } from '../../text/ranking.js';
import type { Executor, SelectedRows, Selection } from '../executor/executor.js';
import { withDatasetNamedInErrors, type RunOptions } from '../executor/run-options.js';
import type { FieldRef } from '../predicate/predicate.js';
import { oneFieldQuery, rowsOfRankedPage, rankedRowAtPosition } from './ranked-selection.js';
import { rankingClausesAndTier } from '../text/relevance.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { TextFrequencies } from './shard-protocol.js';
import type { Shards } from './shards.js';

/* Functions that answer from the text indexes of the segments. The answers are computed in the threads of the columns in memory. */

/** Returns the numbers of records and of tokens of a text field, and for each phrase the number of records that contain it. */
export async function readTextFrequencies(
  shards: Shards,
  snapshot: Snapshot,
  field: FieldRef,
  phrases: readonly FoldedTerms[],
  options: RunOptions,
): Promise<TextFrequencies | Unsupported> {
  const { datasetId, version, files } = snapshot;
  const texts = phrases.map(({ terms, pattern }) => pattern ? patternText(pattern) : terms.map((term) => Buffer.from(term).toString())); // prettier-ignore
  const cacheKey = JSON.stringify([files[0], datasetId, version, field.path, texts]);
  const cachedResult = cachedFrequencies.get(cacheKey);
  if (cachedResult !== undefined) return cachedResult;
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const query = { snapshot: key, field, phrases };
  const requests = [...new Set(shardOf)].map((shard) => [shard, { kind: 'frequencies', query }] as const); // prettier-ignore
  const answers = await shards.askShards(requests, options);
  if (isUnsupported(answers)) return answers;
  const frequenciesOfShards = answers.map((answer) => (answer as { readonly frequencies: TextFrequencies }).frequencies); // prettier-ignore
  const sum = (of: (part: TextFrequencies) => number): number =>
    frequenciesOfShards.reduce((total, part) => total + of(part), 0);
  const totals = {
    records: sum(({ records }) => records),
    tokens: sum(({ tokens }) => tokens),
    recordCounts: phrases.map((_, i) => sum(({ recordCounts }) => recordCounts[i]!)),
  };
  cachedFrequencies.set(cacheKey, totals);
  return totals;
}

/** The most recent results of `readTextFrequencies`. Snapshots never change, so results stay valid. */
const cachedFrequencies = new LruCache<string, TextFrequencies>(1_000);

/**
 * Returns the executor that selects the pages of queries that have a `oneFieldQuery`. It computes no facets, and needs no weights of
 * conditions.
 */
export function indexExecutor(shards: Shards): Executor {
  return {
    unsupportedReason: (selection, snapshot) =>
      oneFieldQuery(selection, snapshot)
        ? undefined
        : 'the conditions are not all on terms of one text',
    select: (snapshot, selection, options) =>
      withDatasetNamedInErrors(snapshot, () => selectByIndex(shards, snapshot, selection, options)),
  };
}

async function selectByIndex(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  const { field, phrases } = oneFieldQuery(selection, snapshot)!;
  const frequencies = await readTextFrequencies(shards, snapshot, field, phrases.map(({ phrase }) => phrase), options); // prettier-ignore
  if (isUnsupported(frequencies)) return frequencies;
  const weights = new Map(
    phrases.map(({ leaf }, i) => [leaf, bm25Weight(frequencies, frequencies.recordCounts[i]!)]),
  );
  const scoreClauses = selection.scoreClauses.map((score) => ({ ...score, weights }));
  return searchIndex(shards, snapshot, { ...selection, scoreClauses }, options);
}

/** Searches the text index for the page of a query that has a `oneFieldQuery`; the score clauses have their weights. */
export async function searchIndex(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  const { scoreClauses, offset, limit, cursor } = selection;
  const { field, query, phrases } = oneFieldQuery(selection, snapshot)!;
  const { clauses, tier } = rankingClausesAndTier(scoreClauses);
  const weights = new Map(clauses.flatMap(({ leaves }) => leaves));
  const weighedPhrases = phrases.map(({ leaf, phrase, boost }) => ({ ...phrase, boost, weight: weights.get(leaf)! })); // prettier-ignore
  const after = cursor?.after ? rankedRowAtPosition(cursor.after) : undefined;
  const page = { after, offset: 0, limit: limit === 0 ? 0 : offset + limit };
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const search = { snapshot: key, field, query, phrases: weighedPhrases, tier: clauses.length > 1 ? tier : 0, page }; // prettier-ignore
  const requests = [...new Set(shardOf)].map((shard) => [shard, { kind: 'search', query: search }] as const); // prettier-ignore
  const answers = await shards.askShards(requests, options);
  if (isUnsupported(answers)) return answers;
  const rankedTexts = answers.map((answer) => (answer as { readonly found: RankedTexts }).found);
  const rows = mergeRanked(rankedTexts.map((part) => part.rows)).slice(offset, offset + limit);
  return {
    ...rowsOfRankedPage(rows),
    total: rankedTexts.reduce((sum, { total }) => sum + total, 0),
    facets: null,
  };
}

/** Merges the ranked rows of all shards in order. */
export function mergeRanked(parts: readonly (readonly RankedRow[])[]): readonly RankedRow[] {
  return parts.flat().sort(compareRankedRows);
}
