import { setImmediate } from 'node:timers/promises';
import { compareBytes } from './bytes.js';
import { bm25, bm25Weight, type FieldStatistics, type Bm25Weight } from './bm25.js';
import { ColumnReader } from './column-reader.js';
import { openIndex, type IndexedFile } from './index-file.js';
import { ColumnMatcher, type TextQuery } from './column-matcher.js';
import type { ScoreOf } from './postings.js';
import { Ranking, scoresByText, type RankedPage, type RankedRow, type RowsOf } from './ranking.js';

/** A segment, and the name in its index of the searched column; undefined if the segment lacks the column. */
interface SearchedSegment extends IndexedFile {
  readonly column: string | undefined;
}

/** A phrase that raises the score of the texts that contain it, multiplied by `boost`. */
export interface RankedPhrase {
  readonly terms: readonly Uint8Array[];
  readonly boost: number;
}

/** The text indexes of one field in all segments of a snapshot. */
export interface TextField {
  /** By segment; undefined where the segment has no such column. */
  readonly matchers: readonly (ColumnMatcher | undefined)[];
  readonly statistics: FieldStatistics;
}

/** Opens the indexes of a field; undefined if a segment has the column but no index of it. */
export async function openTextField(
  segments: readonly SearchedSegment[],
): Promise<TextField | undefined> {
  const matchers: (ColumnMatcher | undefined)[] = [];
  let [records, tokens] = [0, 0];
  for (const segment of segments) {
    if (segment.column === undefined) {
      matchers.push(undefined);
      continue;
    }
    const index = await openIndex(segment);
    const location = index?.columns.get(segment.column);
    if (index === undefined || location === undefined) return undefined;
    matchers.push(new ColumnMatcher(new ColumnReader(index, location)));
    records += location.summary.records;
    tokens += location.summary.words;
  }
  return { matchers, statistics: { records, tokens } };
}

/** Milliseconds of work before control returns to the event loop. */
const sliceMs = 10;

/** Divides long work into time slices, between which the event loop runs and cancellation is checked. */
export class TimeSlice {
  readonly #throwIfCanceled: () => void;
  #start = performance.now();

  /** `throwIfCanceled` throws if the work has been cancelled or has timed out. */
  constructor(throwIfCanceled: () => void) {
    this.#throwIfCanceled = throwIfCanceled;
  }

  /** Returns to the event loop if the time slice is over, and then starts a new one. */
  async yieldIfOver(): Promise<void> {
    if (performance.now() - this.#start < sliceMs) return;
    await setImmediate();
    this.#throwIfCanceled();
    this.#start = performance.now();
  }
}

/** Number of records of a field that contain a phrase. */
export async function documentFrequency(
  { matchers }: TextField,
  terms: readonly Uint8Array[],
  slice: TimeSlice,
): Promise<number> {
  let sum = 0;
  for (const matcher of matchers) {
    if (matcher === undefined) continue;
    sum += await matcher.rowsWith({ kind: 'phrase', terms });
    await slice.yieldIfOver();
  }
  return sum;
}

/**
 * The constant that each matching clause adds to a score besides its BM25: more than all clauses can add together, so that a record which
 * matches more clauses ranks higher (query language 4.4).
 */
export function tierOf(weights: readonly Bm25Weight[]): number {
  return weights.length === 1 ? 0 : weights.reduce((sum, { most }) => sum + most, 1);
}

/** A page of the records that match `query`, by descending score and then in insertion order, and the total number of matches. */
export async function search(
  field: TextField,
  query: TextQuery,
  phrases: readonly RankedPhrase[],
  page: RankedPage,
  slice: TimeSlice,
): Promise<{ readonly rows: readonly RankedRow[]; readonly total: number }> {
  const found: number[] = [];
  for (const { terms } of phrases) found.push(await documentFrequency(field, terms, slice));
  const weights = found.map((records) => bm25Weight(field.statistics, records));
  const tier = tierOf(weights);
  const scores = phrases.map(
    ({ boost }, i): ScoreOf =>
      (times, words) =>
        boost * (tier + bm25(weights[i]!, times, words)),
  );
  const ranking = new Ranking(page);
  const rowsOf: RowsOf = (segment, texts) => field.matchers[segment]!.column.rowsOf(texts);
  const term = onlyTerm(query, phrases);
  if (term !== undefined) {
    if (page.limit > 0) await rankTerm(field, term, scores[0]!, ranking, slice);
    return { rows: await ranking.rows(rowsOf), total: found[0]! };
  }
  let total = 0;
  for (const [segment, matcher] of field.matchers.entries()) {
    if (matcher === undefined) continue;
    const texts = await matcher.texts(query);
    if (texts.length > 0) {
      total += await matcher.count(texts);
      if (page.limit > 0) {
        const clauses = [];
        for (const [i, { terms }] of phrases.entries()) {
          clauses.push({ hits: await matcher.hits({ kind: 'phrase', terms }), score: scores[i]! });
        }
        const table = await matcher.column.texts();
        const sums = scoresByText(texts, clauses, table);
        ranking.begin(segment, table);
        for (let at = 0; at < texts.length; at++) ranking.add(texts[at]!, sums[at]!);
      }
    }
    matcher.forget();
    await slice.yieldIfOver();
  }
  return { rows: await ranking.rows(rowsOf), total };
}

/** The term if query and ranking consist of the same single term. */
function onlyTerm(query: TextQuery, phrases: readonly RankedPhrase[]): Uint8Array | undefined {
  if (query.kind === 'and' || query.kind === 'or')
    return query.items.length === 1 ? onlyTerm(query.items[0]!, phrases) : undefined;
  if (query.kind !== 'phrase' || query.terms.length !== 1 || phrases.length !== 1) return undefined;
  const [term] = query.terms;
  const [{ terms }] = phrases as [RankedPhrase];
  return terms.length === 1 && compareBytes(terms[0]!, term!) === 0 ? term : undefined;
}

/**
 * Ranks the texts that contain one term. The total is known from the entries of the term, and once the page is full most blocks are
 * skipped: 1 ms instead of 40 for a term with 860,000 texts.
 */
async function rankTerm(
  { matchers }: TextField,
  term: Uint8Array,
  score: ScoreOf,
  ranking: Ranking,
  slice: TimeSlice,
): Promise<void> {
  for (const [segment, matcher] of matchers.entries()) {
    const entry = await matcher?.entry(term);
    if (matcher === undefined || entry === undefined) continue;
    await matcher.column.rank(entry, segment, score, ranking);
    await slice.yieldIfOver();
  }
}
