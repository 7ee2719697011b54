import type { ScoreCollector, Hits, ScoreFunction, TextTable } from './postings.js';

/** A row of a segment, with its score. */
export interface RankedRow {
  /** The index of the segment in the snapshot, as in `RowRef`. */
  readonly segment: number;
  readonly row: number;
  readonly score: number;
}

/** Compares rows: by descending score, then by insertion order. */
export function compareRankedRows(a: RankedRow, b: RankedRow): number {
  return b.score - a.score || a.segment - b.segment || a.row - b.row;
}

/** The part of the ranking that is requested. */
export interface RankedPage {
  /** The row after which the page begins. */
  readonly after: RankedRow | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Returns the rows of some texts of a segment, ascending. */
type RowsOfTexts = (segment: number, texts: Uint32Array) => Uint32Array;

/**
 * When there are more candidates than twice the rows up to the end of the page (or twice the candidates that the last removal has left, if
 * these are more) plus this number, those that cannot be on the page are removed.
 */
const surplusRows = 512;

/**
 * Collects texts with their scores, segment by segment in insertion order, and keeps the candidates for the page. Candidates are ordered by
 * descending score, then by segment, then by row. Memory is proportional to the rows up to the end of the page, not to the texts added,
 * unless many texts of one segment have the same score.
 */
export class Ranking implements ScoreCollector {
  readonly #page: RankedPage;
  #candidates = new RankingCandidates(1024);
  #limit: number;
  #segment = 0;
  #counts: Uint32Array | undefined;
  /** When the page is full, texts of later segments must have a higher score than this. */
  #floor = -Infinity;
  /**
   * Further texts of the current segment must have a higher score than this. It may be lower than `#floor` if rows share texts, because a
   * later text may then have an earlier row.
   */
  #floorHere = -Infinity;

  constructor(page: RankedPage) {
    this.#page = page;
    this.#limit = 2 * (page.offset + page.limit) + surplusRows;
  }

  /** Starts a segment; its texts must be added in ascending order. */
  beginSegment(segment: number, table?: TextTable): void {
    this.#segment = segment;
    this.#counts = table?.counts;
    this.#floorHere = this.#floor;
  }

  wants(score: number): boolean {
    return score > this.#floorHere;
  }

  add(text: number, score: number): void {
    if (score <= this.#floorHere) return;
    const { after } = this.#page;
    let rows = this.#counts === undefined ? 1 : this.#counts[text]!;
    if (after !== undefined) {
      const isBefore = score === after.score && this.#segment < after.segment;
      if (score > after.score || isBefore) return;
      // If a text has the score of `after` and is in the same segment, only its rows after the position of `after` count. How many these
      // are is known only when the rows are read, so none is counted here.
      if (score === after.score && this.#segment === after.segment) rows = 0;
    }
    this.#candidates.push(score, this.#segment, text, rows);
    if (this.#candidates.length > this.#limit) this.#prune();
  }

  /** Returns the rows of the page. Without `rowsOf`, text i belongs to row i. */
  rankedRows(rowsOf: RowsOfTexts = (_, texts) => texts): readonly RankedRow[] {
    const { after, offset, limit } = this.#page;
    const rows: RankedRow[] = [];
    let skip = offset;
    for (const { score, segment, texts, count } of this.#candidates.scoreGroups()) {
      if (rows.length >= limit) break;
      const isAt = after !== undefined && score === after.score && segment === after.segment;
      if (!isAt && count <= skip) {
        skip -= count;
        continue;
      }
      for (const row of rowsOf(segment, texts)) {
        if (isAt && row <= after.row) continue;
        if (skip > 0) skip -= 1;
        else rows.push({ segment, row, score });
        if (rows.length === limit) break;
      }
    }
    return rows;
  }

  #prune(): void {
    const wantedRows = this.#page.offset + this.#page.limit;
    const remaining = new RankingCandidates(1024);
    let count = 0;
    for (const group of this.#candidates.scoreGroups()) {
      if (count >= wantedRows) {
        this.#floor = remaining.lastScore;
        break;
      }
      for (const [i, text] of group.texts.entries()) {
        remaining.push(group.score, group.segment, text, group.rows[i]!);
      }
      count += group.count;
    }
    this.#candidates = remaining;
    this.#limit = 2 * Math.max(wantedRows, remaining.length) + surplusRows;
    if (this.#counts === undefined) this.#floorHere = this.#floor;
  }
}

/** Texts of one segment with the same score. */
interface ScoreGroup {
  readonly score: number;
  readonly segment: number;
  readonly texts: Uint32Array;
  readonly rows: Uint32Array;
  /** The number of rows that have the texts of the group. */
  readonly count: number;
}

class RankingCandidates {
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
      this.#scores = enlargeArray(this.#scores, new Float64Array(2 * length));
      this.#segments = enlargeArray(this.#segments, new Uint32Array(2 * length));
      this.#texts = enlargeArray(this.#texts, new Uint32Array(2 * length));
      this.#rows = enlargeArray(this.#rows, new Uint32Array(2 * length));
    }
    this.#scores[length] = score;
    this.#segments[length] = segment;
    this.#texts[length] = text;
    this.#rows[length] = rows;
    this.length += 1;
  }

  /** Yields the groups by descending score, then by segment; the texts of a group ascend. */
  *scoreGroups(): Generator<ScoreGroup> {
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

function enlargeArray<T extends Float64Array | Uint32Array>(from: T, into: T): T {
  into.set(from as never);
  return into;
}

/** A ranking clause: the texts of one segment that satisfy it, and their score. */
interface ScoredHits {
  readonly hits: Hits;
  readonly score: ScoreFunction;
}

/** Returns the scores of texts: sums over all clauses, added in the order of the clauses. */
export function scoresByText(
  texts: Uint32Array,
  clauses: readonly ScoredHits[],
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
