import type { Snapshot } from '../store/store.js';
import { rowsOfBits } from '../text/bits.js';
import { bm25, type Weight } from '../text/bm25.js';
import { foldWord } from '../text/fold.js';
import type { Matcher } from '../text/match.js';
import { Ranking, type RankedPage, type RankedRow } from '../text/rank.js';
import type { TextField, Turns } from '../text/search.js';
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
      const found = new Map<Predicate, LeafHits>();
      for (const [leaf, weight] of clauses.flatMap(({ leaves }) => leaves)) {
        const { matchers } = this.#fields.get(fieldKey(leaf))!;
        found.set(leaf, await hitsOf(matchers[segment], leaf, weight));
        await turns.next();
      }
      for (const { matchers } of this.#fields.values()) matchers[segment]?.forget();
      ranking.begin(segment);
      // Once the page is full with better ones, no row of most segments is looked at.
      if (!ranking.wants(mostOf(clauses, tier, found))) continue;
      const { rows: count } = snapshot.segments[segment]!;
      const numbers = few(rows, clauses, found, ranking) ?? numbersOf(rows, count);
      const scores = scoresOf(clauses, tier, found, numbers);
      for (let i = 0; i < numbers.length; i++) ranking.add(numbers[i]!, scores[i]!);
    }
    return ranking.rows((_, rows) => Promise.resolve(rows));
  }
}

/** The texts of a segment for which a condition holds, and what it counts for each. */
interface LeafHits {
  readonly texts: Uint32Array;
  readonly scores: Float64Array;
  readonly most: number;
  /** The text of each row, and one; undefined if rows have texts of their own, which have their numbers. */
  readonly textOf: Uint16Array | Uint32Array | undefined;
}

const noHits: LeafHits = { texts: new Uint32Array(0), scores: new Float64Array(0), most: 0, textOf: undefined }; // prettier-ignore

/** Of several words in any order, SQL counts how often they are a phrase. */
function isOfWords(item: Predicate): boolean {
  if (item.kind === 'and' || item.kind === 'or') return item.items.every(isOfWords);
  return item.kind === 'phrase' || (item.kind === 'words' && item.words.length === 1);
}

async function hitsOf(matcher: Matcher | undefined, leaf: Leaf, weight: Weight): Promise<LeafHits> {
  if (matcher === undefined || leaf.kind === 'wildcard') return noHits;
  const { column } = matcher;
  const { texts, times } = await matcher.hits({ kind: 'phrase', words: leaf.words.map(foldWord) });
  if (texts.length === 0) return noHits;
  const { lengths } = await column.texts();
  const scores = new Float64Array(texts.length);
  let most = 0;
  for (let i = 0; i < texts.length; i++) {
    const score = bm25(weight, times[i]!, lengths[texts[i]!]!);
    scores[i] = score;
    if (score > most) most = score;
  }
  const textOf = column.summary.isShared ? await column.textOfRows() : undefined;
  return { texts, scores, most, textOf };
}

/** What no record of a segment is above: by the same operations, so that they are rounded the same way. */
function mostOf(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
): number {
  let most = 0;
  for (const { boost, leaves } of clauses) {
    let sum = clauses.length > 1 && leaves.some(([leaf]) => found.get(leaf)!.most > 0) ? tier : 0;
    for (const [leaf] of leaves) sum += found.get(leaf)!.most;
    most += boost * sum;
  }
  return most;
}

/**
 * Where one condition ranks, of many rows with texts of their own, those that the page may need: of a word of 450,000 rows a few
 * thousand. Undefined where all have to be looked at.
 */
function few(
  rows: ListedRows['rows'],
  clauses: readonly RankedClause[],
  found: ReadonlyMap<Predicate, LeafHits>,
  ranking: Ranking,
): Int32Array | undefined {
  const [only, ...others] = clauses.flatMap(({ boost, leaves }) =>
    leaves.map(([leaf]) => ({ boost, hits: found.get(leaf)! })),
  );
  const isMany = rows === 'all' || rows.BYTES_PER_ELEMENT === 1;
  if (!isMany || only === undefined || others.length > 0 || only.hits.textOf) return undefined;
  if (ranking.wants(0)) return undefined;
  const { boost, hits } = only;
  const { texts, scores } = hits;
  const wanted: number[] = [];
  for (let i = 0; i < texts.length; i++) {
    const row = texts[i]!;
    if (!ranking.wants(boost * scores[i]!)) continue;
    if (rows === 'all' || ((rows[row >> 3]! >> (row & 7)) & 1) === 1) wanted.push(row);
  }
  return Int32Array.from(wanted);
}

/** What all clauses come to for these rows, in the order of operations of relevance.ts. */
function scoresOf(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
  rows: Int32Array,
): Float64Array {
  const total = new Float64Array(rows.length);
  for (const { item, boost, leaves } of clauses) {
    const own = new Map<Predicate, Float64Array>();
    for (const [leaf] of leaves) own.set(leaf, spread(found.get(leaf)!, rows));
    const sum = new Float64Array(rows.length);
    if (clauses.length > 1) {
      const isSatisfied = satisfied(item, own);
      for (let i = 0; i < sum.length; i++) sum[i] = isSatisfied[i] === 1 ? tier : 0;
    }
    for (const scores of own.values()) for (let i = 0; i < sum.length; i++) sum[i]! += scores[i]!;
    for (let i = 0; i < sum.length; i++) total[i]! += boost * sum[i]!;
  }
  return total;
}

/** The scores of texts as those of rows. */
function spread({ texts, scores, textOf }: LeafHits, rows: Int32Array): Float64Array {
  const spread = new Float64Array(rows.length);
  if (textOf === undefined) {
    for (let i = 0, at = 0; i < rows.length && at < texts.length; i++) {
      while (at < texts.length && texts[at]! < rows[i]!) at += 1;
      if (texts[at] === rows[i]) spread[i] = scores[at]!;
    }
    return spread;
  }
  const byText = new Float64Array(texts.at(-1)! + 2);
  for (let i = 0; i < texts.length; i++) byText[texts[i]! + 1] = scores[i]!;
  for (let i = 0; i < rows.length; i++) {
    const text = textOf[rows[i]!]!;
    if (text < byText.length) spread[i] = byText[text]!;
  }
  return spread;
}

/** For each row 1 if it satisfies a clause. */
function satisfied(item: Predicate, found: ReadonlyMap<Predicate, Float64Array>): Uint8Array {
  if (item.kind !== 'and' && item.kind !== 'or') {
    const scores = found.get(item)!;
    const holds = new Uint8Array(scores.length);
    for (let i = 0; i < scores.length; i++) if (scores[i]! > 0) holds[i] = 1;
    return holds;
  }
  const [first, ...others] = item.items.map((each) => satisfied(each, found));
  for (const other of others)
    for (let i = 0; i < other.length; i++)
      first![i] = item.kind === 'and' ? first![i]! & other[i]! : first![i]! | other[i]!;
  return first!;
}

function numbersOf(rows: ListedRows['rows'], count: number): Int32Array {
  if (rows === 'all') return Int32Array.from({ length: count }, (_, row) => row);
  return rows.BYTES_PER_ELEMENT === 4 ? (rows as Int32Array) : rowsOfBits(rows as Uint8Array);
}
