import type { Hits, TextTable } from './column-reader.js';
import type { Matcher } from './match.js';

/** A row of a segment, with its score. */
export interface RankedRow {
  /** Number of the segment in the list that was searched. */
  readonly segment: number;
  readonly row: number;
  readonly score: number;
}

/** Which of the ranked rows are wanted. */
export interface RankedPage {
  /** Only rows behind this one. */
  readonly after: RankedRow | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Beyond so many candidates those that cannot be on the page are let go. */
const mostCandidates = 1 << 16;

/**
 * Collects texts with their scores, segment by segment in insertion order, and keeps those that the page may need: by score, then
 * segment, then row. Holds a few times as many texts as the page and all pages before it have rows, however many are added.
 */
export class Ranking {
  readonly #page: RankedPage;
  #candidates = new Candidates(1024);
  #limit = mostCandidates;
  /** The page is full with better ones: texts of later segments must be above this score. */
  #floor = -Infinity;

  constructor(page: RankedPage) {
    this.#page = page;
  }

  /** The scored texts of one segment. */
  add(segment: number, texts: Uint32Array, scores: Float64Array, { counts }: TextTable): void {
    const { after } = this.#page;
    for (let i = 0; i < texts.length; i++) {
      const score = scores[i]!;
      if (score <= this.#floor) continue;
      let rows = counts === undefined ? 1 : counts[texts[i]!]!;
      if (after !== undefined) {
        if (score > after.score || (score === after.score && segment < after.segment)) continue;
        // Some of these rows are behind it; how many, is known only when they are read.
        if (score === after.score && segment === after.segment) rows = 0;
      }
      this.#candidates.push(score, segment, texts[i]!, rows);
    }
    if (this.#candidates.length > this.#limit) {
      this.#prune();
      this.#limit = 2 * this.#candidates.length + mostCandidates;
    }
  }

  /** The rows of the page. */
  async rows(matchers: readonly Matcher[]): Promise<readonly RankedRow[]> {
    const { after, offset, limit } = this.#page;
    const rows: RankedRow[] = [];
    let skip = offset;
    for (const { score, segment, texts, count } of this.#candidates.groups()) {
      if (rows.length >= limit) break;
      const isAt = after !== undefined && score === after.score && segment === after.segment;
      if (!isAt && count <= skip) {
        skip -= count;
        continue;
      }
      for (const row of await matchers[segment]!.column.rowsOf(texts)) {
        if (isAt && row <= after.row) continue;
        if (skip > 0) skip -= 1;
        else rows.push({ segment, row, score });
        if (rows.length === limit) break;
      }
    }
    return rows;
  }

  #prune(): void {
    const wanted = this.#page.offset + this.#page.limit;
    const kept = new Candidates(1024);
    let count = 0;
    for (const group of this.#candidates.groups()) {
      if (count >= wanted) {
        this.#floor = kept.lastScore;
        break;
      }
      for (const [i, text] of group.texts.entries()) {
        kept.push(group.score, group.segment, text, group.rows[i]!);
      }
      count += group.count;
    }
    this.#candidates = kept;
  }
}

/** Texts of one segment with the same score. */
interface Group {
  readonly score: number;
  readonly segment: number;
  readonly texts: Uint32Array;
  readonly rows: Uint32Array;
  /** Rows of all of them. */
  readonly count: number;
}

class Candidates {
  length = 0;
  #scores: Float64Array;
  #segments: Uint32Array;
  #texts: Uint32Array;
  #rows: Uint32Array;

  constructor(capacity: number) {
    this.#scores = new Float64Array(capacity);
    this.#segments = new Uint32Array(capacity);
    this.#texts = new Uint32Array(capacity);
    this.#rows = new Uint32Array(capacity);
  }

  get lastScore(): number {
    return this.length > 0 ? this.#scores[this.length - 1]! : -Infinity;
  }

  push(score: number, segment: number, text: number, rows: number): void {
    const { length } = this;
    if (length === this.#scores.length) {
      this.#scores = widened(this.#scores, new Float64Array(2 * length));
      this.#segments = widened(this.#segments, new Uint32Array(2 * length));
      this.#texts = widened(this.#texts, new Uint32Array(2 * length));
      this.#rows = widened(this.#rows, new Uint32Array(2 * length));
    }
    this.#scores[length] = score;
    this.#segments[length] = segment;
    this.#texts[length] = text;
    this.#rows[length] = rows;
    this.length += 1;
  }

  /** By score, largest first, then segment; texts ascending. */
  *groups(): Generator<Group> {
    const [scores, segments, texts, rows] = [this.#scores, this.#segments, this.#texts, this.#rows];
    const order = Uint32Array.from({ length: this.length }, (_, i) => i);
    order.sort(
      (a, b) => scores[b]! - scores[a]! || segments[a]! - segments[b]! || texts[a]! - texts[b]!,
    );
    for (let from = 0; from < order.length;) {
      const score = scores[order[from]!]!;
      const segment = segments[order[from]!]!;
      let to = from + 1;
      while (to < order.length && scores[order[to]!] === score && segments[order[to]!] === segment)
        to += 1;
      const members = order.subarray(from, to);
      const counts = members.map((i) => rows[i]!);
      yield {
        score,
        segment,
        texts: members.map((i) => texts[i]!),
        rows: counts,
        count: counts.reduce((sum, count) => sum + count, 0),
      };
      from = to;
    }
  }
}

function widened<T extends Float64Array | Uint32Array>(from: T, into: T): T {
  into.set(from as never);
  return into;
}

/** A clause that ranks texts: its hits in one segment, and what they count. */
export interface Clause {
  readonly hits: Hits;
  /** The score of a text with so many occurrences among so many words. */
  score(times: number, words: number): number;
}

/** The scores of texts: the sum over all clauses, in their order. */
export function scoresOf(
  texts: Uint32Array,
  clauses: readonly Clause[],
  { lengths }: TextTable,
): Float64Array {
  const scores = new Float64Array(texts.length);
  for (const { hits, score } of clauses) {
    let at = 0;
    for (let i = 0; i < texts.length; i++) {
      const text = texts[i]!;
      while (at < hits.texts.length && hits.texts[at]! < text) at += 1;
      if (hits.texts[at] === text) scores[i]! += score(hits.times[at]!, lengths[text]!);
    }
  }
  return scores;
}
