import type { Snapshot } from '../store/store.js';
import { bm25 } from '../text/bm25.js';
import { foldWord } from '../text/fold.js';
import type { Matcher } from '../text/match.js';
import { Ranking, type RankedPage, type RankedRow } from '../text/rank.js';
import type { TextField, Turns } from '../text/search.js';
import type { Weight } from '../text/bm25.js';
import type { ListedRows } from './column-engine.js';
import type { Predicate, Score } from './predicate.js';
import { clausesOf, leavesOf, type Leaf, type RankedClause } from './relevance.js';
import { fieldKey, indexed, textFields } from './weigh.js';

/**
 * Ranks records of which it is known that they match by the index of words: with the scores that relevance.ts has computed in SQL,
 * double for double, and then in the order of insertion. Only where nothing ranks but words and phrases in texts with an index.
 */
export class WordRanking {
  readonly #fields: ReadonlyMap<string, TextField>;
  readonly #scores: readonly Score[];

  private constructor(fields: ReadonlyMap<string, TextField>, scores: readonly Score[]) {
    this.#fields = fields;
    this.#scores = scores;
  }

  /** Undefined where something else ranks too. */
  static async open(
    snapshot: Snapshot,
    scores: readonly Score[],
  ): Promise<WordRanking | undefined> {
    if (!scores.every(({ item }) => isOfWords(item))) return undefined;
    const leaves = scores.flatMap(({ item }) => leavesOf(item));
    const fields = await textFields(snapshot, leaves);
    return leaves.every((leaf) => fields.has(fieldKey(leaf)))
      ? new WordRanking(fields, scores)
      : undefined;
  }

  /** A page of these rows of a snapshot. */
  async page(
    listed: readonly ListedRows[],
    snapshot: Snapshot,
    page: RankedPage,
    turns: Turns,
  ): Promise<readonly RankedRow[]> {
    const leaves = this.#scores.flatMap(({ item }) => leavesOf(item));
    const weights = await indexed(leaves, this.#fields, turns);
    const { clauses, tier } = clausesOf(this.#scores.map((score) => ({ ...score, weights })));
    const ranking = new Ranking(page);
    for (const { segment, rows } of listed) {
      const numbers = numbersOf(rows, snapshot.segments[segment]!.rows);
      const scores = new Float64Array(numbers.length);
      for (const clause of clauses) {
        const base = clauses.length === 1 ? 0 : tier;
        const found = new Map<Predicate, Float64Array>();
        for (const [leaf, weight] of clause.leaves) {
          const matcher = this.#fields.get(fieldKey(leaf))!.matchers[segment];
          found.set(leaf, await scoresOf(numbers, matcher, leaf, weight));
          await turns.next();
        }
        addClause(scores, clause, base, found);
      }
      ranking.begin(segment);
      for (let i = 0; i < numbers.length; i++) ranking.add(numbers[i]!, scores[i]!);
      for (const { matchers } of this.#fields.values()) matchers[segment]?.forget();
      await turns.next();
    }
    return ranking.rows((_, rows) => Promise.resolve(rows));
  }
}

/** Of several words in any order, SQL counts how often they are a phrase. */
function isOfWords(item: Predicate): boolean {
  if (item.kind === 'and' || item.kind === 'or') return item.items.every(isOfWords);
  return item.kind === 'phrase' || (item.kind === 'words' && item.words.length === 1);
}

/** BM25 of one condition for each of these rows of a segment; 0 where it does not hold. */
async function scoresOf(
  rows: Int32Array,
  matcher: Matcher | undefined,
  leaf: Leaf,
  weight: Weight,
): Promise<Float64Array> {
  const scores = new Float64Array(rows.length);
  if (matcher === undefined || leaf.kind === 'wildcard') return scores;
  const { texts, times } = await matcher.hits({ kind: 'phrase', words: leaf.words.map(foldWord) });
  if (texts.length === 0) return scores;
  const { column } = matcher;
  const { lengths } = await column.texts();
  if (column.summary.isShared) {
    const byText = new Float64Array(column.summary.texts + 1);
    for (let i = 0; i < texts.length; i++)
      byText[texts[i]! + 1] = bm25(weight, times[i]!, lengths[texts[i]!]!);
    const textOf = await column.textOfRows();
    for (let i = 0; i < rows.length; i++) scores[i] = byText[textOf[rows[i]!]!]!;
    return scores;
  }
  for (let i = 0, at = 0; i < rows.length && at < texts.length; i++) {
    const row = rows[i]!;
    while (at < texts.length && texts[at]! < row) at += 1;
    if (texts[at] === row) scores[i] = bm25(weight, times[at]!, lengths[row]!);
  }
  return scores;
}

/** Adds what a clause comes to, in the order of operations of relevance.ts. */
function addClause(
  scores: Float64Array,
  { item, boost, leaves }: RankedClause,
  base: number,
  found: ReadonlyMap<Predicate, Float64Array>,
): void {
  const sums = new Float64Array(scores.length);
  if (base > 0) {
    const isSatisfied = satisfied(item, found);
    for (let i = 0; i < sums.length; i++) sums[i] = isSatisfied[i] === 1 ? base : 0;
  }
  for (const [leaf] of leaves) {
    const own = found.get(leaf)!;
    for (let i = 0; i < sums.length; i++) sums[i]! += own[i]!;
  }
  for (let i = 0; i < sums.length; i++) scores[i]! += boost * sums[i]!;
}

/** For each row 1 if it satisfies a clause. */
function satisfied(item: Predicate, found: ReadonlyMap<Predicate, Float64Array>): Uint8Array {
  if (item.kind !== 'and' && item.kind !== 'or')
    return Uint8Array.from(found.get(item)!, (score) => (score > 0 ? 1 : 0));
  const [first, ...others] = item.items.map((each) => satisfied(each, found));
  for (const other of others)
    for (let i = 0; i < other.length; i++)
      first![i] = item.kind === 'and' ? first![i]! & other[i]! : first![i]! | other[i]!;
  return first!;
}

function numbersOf(rows: ListedRows['rows'], count: number): Int32Array {
  if (rows === 'all') return Int32Array.from({ length: count }, (_, row) => row);
  if (rows.BYTES_PER_ELEMENT === 4) return rows as Int32Array;
  const numbers = new Int32Array(count);
  let end = 0;
  for (let row = 0; row < rows.length; row++) if (rows[row] === 1) numbers[end++] = row;
  return numbers.subarray(0, end);
}
