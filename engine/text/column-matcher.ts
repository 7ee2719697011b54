import type { ColumnReader } from './column-reader.js';
import type { Hits } from './postings.js';
import type { TermEntry } from './term-blocks.js';
import { impliesMatchingTerm, patternText, type FoldedPattern } from './wildcard-patterns.js';
import { areInConsecutiveValues, hitsOfRows } from './value-lists.js';

/** A query for texts. A single term is a phrase of one; terms are folded (fold.ts). */
export type TextQuery =
  /** The text, or one value of a list, contains the terms: in any order (`terms`), or consecutively (`phrase`). */
  | (FoldedTerms & { readonly kind: 'terms' | 'phrase' })
  | { readonly kind: 'and' | 'or'; readonly items: readonly TextQuery[] }
  /** Texts that match `item` and do not match `other`. */
  | { readonly kind: 'without'; readonly item: TextQuery; readonly other: TextQuery };

/** Folded terms: those of a phrase, or those that a text must contain. */
export interface FoldedTerms {
  readonly terms: readonly Uint8Array[];
  /** Present if the text must contain a term that matches this pattern; there are then no `terms`. */
  readonly pattern?: FoldedPattern;
}

/** Returns the terms and phrases that a query consists of. */
export function foldedTermsIn(query: TextQuery): readonly FoldedTerms[] {
  if ('terms' in query) return [query];
  return (query.kind === 'without' ? [query.item, query.other] : query.items).flatMap(
    foldedTermsIn,
  );
}

/** Matching rows are returned as a list if fewer than one row in this many matches, else as a bitmap. */
const sparseDivisor = 32;

/** Maximum number of terms whose entries are cached from query to query, and of patterns whose results are. */
const maxCachedEntries = 32;
/** Maximum number of terms at one end of a pattern whose positions are read. */
const maxEndTerms = 1_000;

const noRows = new Int32Array(0);
const noHits: Hits = { texts: new Uint32Array(0), times: new Uint32Array(0) };

/**
 * Evaluates queries on the texts of one column of one segment, and caches what it has looked up. In a column that is a list or lies in one,
 * all values of a row form one text, but a condition on terms or a phrase must be satisfied within one value.
 */
export class ColumnMatcher {
  readonly column: ColumnReader;
  readonly #hits = new Map<string, Hits>();
  readonly #hitsOfRows = new Map<string, Hits>();
  readonly #entries = new Map<string, TermEntry | 'none'>();
  readonly #wholeMatches = new Map<string, boolean>();

  constructor(column: ColumnReader) {
    this.column = column;
  }

  /** Returns the texts that match a query, ascending. */
  matchingTexts(query: TextQuery): Uint32Array {
    if ('terms' in query)
      return query.kind === 'terms' ? this.#withAll(query) : this.hits(query).texts;
    if (query.kind === 'without') {
      return excludeTexts(this.matchingTexts(query.item), this.matchingTexts(query.other));
    }
    let matchingTexts: Uint32Array | undefined;
    for (const item of query.items) {
      const texts = this.matchingTexts(item);
      if (matchingTexts === undefined) matchingTexts = texts;
      else
        matchingTexts =
          query.kind === 'and'
            ? intersectTexts(matchingTexts, texts)
            : uniteTexts(matchingTexts, texts);
      if (query.kind === 'and' && matchingTexts.length === 0) break;
    }
    return matchingTexts ?? noHits.texts;
  }

  /** Returns the texts that contain a phrase, and the number of non-overlapping occurrences in each. */
  hits(phrase: FoldedTerms): Hits {
    const valueHits = this.#valueHits(phrase);
    if (!this.column.isList || valueHits.texts.length === 0) return valueHits;
    const key = phraseKey(phrase);
    let ofRows = this.#hitsOfRows.get(key);
    if (ofRows === undefined)
      this.#hitsOfRows.set(key, (ofRows = hitsOfRows(this.column.valueLists(), valueHits)));
    return ofRows;
  }

  /**
   * Returns whether a phrase may begin in one value of a list and end in a later one. The relevance that SQL computes counts such an
   * occurrence, but `hits` does not.
   */
  mayCrossValues({ terms }: FoldedTerms): boolean {
    const { column } = this;
    if (!column.isList || terms.length < 2) return false;
    const { lengths } = column.valueLists();
    return terms.some((term, i) => {
      const next = terms[i + 1];
      if (next === undefined) return false;
      const [entry, nextEntry] = [this.termEntry(term), this.termEntry(next)];
      if (entry === undefined || nextEntry === undefined) return false;
      const last = this.#textsAt(entry, (position, text) => position === lengths[text]! - 1);
      const first = this.#textsAt(nextEntry, (position) => position === 0);
      return areInConsecutiveValues(column.valueLists(), last, first);
    });
  }

  /** Returns whether too many terms match the pattern, or comparing them takes too long, so that `hits` cannot search for it. */
  hasTooManyTerms({ pattern }: FoldedTerms): boolean {
    return pattern !== undefined && this.column.findMatching(pattern) === 'many';
  }

  /**
   * Returns whether a value without a term that matches a pattern may match it as a whole, because a wildcard may stand for separators,
   * which are not in the index. The pattern begins or ends with a text.
   */
  mayMatchAsWhole(phrase: FoldedTerms): boolean {
    const { pattern } = phrase;
    if (pattern === undefined || impliesMatchingTerm(pattern)) return false;
    const key = patternText(pattern);
    let mayMatch = this.#wholeMatches.get(key);
    if (mayMatch === undefined)
      this.#wholeMatches.set(key, (mayMatch = this.#hasValueWithEndsOf(phrase, pattern)));
    return mayMatch;
  }

  /** Returns the rows whose texts match a query: an ascending list of numbers or, if there are many, a bitmap (row-bitmap.ts). */
  matchingRows(query: TextQuery): Int32Array | Uint8Array {
    const texts = this.matchingTexts(query);
    const { column } = this;
    const isFew = this.countRowsOfTexts(texts) * sparseDivisor < column.rows;
    if (isFew) return texts.length === 0 ? noRows : Int32Array.from(column.rowsOf(texts));
    const bits = new Uint8Array((column.rows + 7) >> 3);
    if (!column.sharesTexts) {
      for (let i = 0; i < texts.length; i++) bits[texts[i]! >> 3]! |= 1 << (texts[i]! & 7);
      return bits;
    }
    const isFound = new Uint8Array(column.summary.texts + 1);
    for (let i = 0; i < texts.length; i++) isFound[texts[i]! + 1] = 1;
    const textOf = column.textOfRows();
    let byte = 0;
    for (let row = 0; row < textOf.length; row++) {
      byte |= isFound[textOf[row]!]! << (row & 7);
      if ((row & 7) !== 7) continue;
      bits[row >> 3] = byte;
      byte = 0;
    }
    if ((textOf.length & 7) !== 0) bits[textOf.length >> 3] = byte;
    return bits;
  }

  /** Returns the number of rows whose text contains a phrase. */
  countRowsWithPhrase(phrase: FoldedTerms): number {
    if (phrase.terms.length === 1) return this.termEntry(phrase.terms[0]!)?.rows ?? 0;
    return this.countRowsOfTexts(this.hits(phrase).texts);
  }

  /** Returns the number of rows that have one of these texts. */
  countRowsOfTexts(texts: Uint32Array): number {
    if (!this.column.sharesTexts || texts.length === 0) return texts.length;
    const { counts } = this.column.texts();
    let sum = 0;
    for (const text of texts) sum += counts![text]!;
    return sum;
  }

  /** Drops the cached hits, which may cover every row, and other cached results if there are more than `maxCachedEntries`. */
  dropCachedHits(): void {
    this.#hits.clear();
    this.#hitsOfRows.clear();
    if (this.#entries.size > maxCachedEntries) this.#entries.clear();
    if (this.#wholeMatches.size > maxCachedEntries) this.#wholeMatches.clear();
  }

  /** Returns the entry of a term; undefined if no text contains it. */
  termEntry(term: Uint8Array): TermEntry | undefined {
    const key = phraseKey({ terms: [term] });
    let entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, (entry = this.column.find(term) ?? 'none'));
    return entry === 'none' ? undefined : entry;
  }

  /** Returns the texts that contain a phrase; in a column of lists, single values count as texts. */
  #valueHits(phrase: FoldedTerms): Hits {
    const key = phraseKey(phrase);
    let cachedHits = this.#hits.get(key);
    if (cachedHits === undefined) this.#hits.set(key, (cachedHits = this.#find(phrase)));
    return cachedHits;
  }

  /**
   * Returns whether a value that does not match a phrase has, at its ends, the texts with which the pattern of the phrase begins and ends
   * (or the one of them that is no wildcard), and not more tokens than the pattern allows; true also if more than `maxEndTerms` terms have
   * such a text, because their positions would have to be read.
   */
  #hasValueWithEndsOf(phrase: FoldedTerms, pattern: FoldedPattern): boolean {
    const { lengths } = this.column.isList ? this.column.valueLists() : this.column.texts();
    const mostTokens = pattern.includes('any')
      ? Infinity
      : 1 + pattern.filter((part) => part === 'one').length;
    const ends = [
      { bit: 1, part: pattern[0], isThere: (position: number) => position === 0 },
      {
        bit: 2,
        part: pattern.at(-1),
        isThere: (position: number, length: number) => position === length - 1,
      },
    ].filter(({ part }) => typeof part === 'object');
    /** For each value, the ends that it has in common with the pattern. */
    const commonEnds = new Uint8Array(this.column.summary.texts);
    for (const { bit, part, isThere } of ends) {
      const entries = this.column.findMatching(bit === 1 ? [part!, 'any'] : ['any', part!]);
      if (entries === 'many' || entries.length > maxEndTerms) return true;
      for (const entry of entries) {
        const textsWithTerm = this.#textsAt(entry, (position, text) => {
          const length = lengths[text]!;
          return length <= mostTokens && isThere(position, length);
        });
        for (const text of textsWithTerm) commonEnds[text]! |= bit;
      }
    }
    for (const text of this.#valueHits(phrase).texts) commonEnds[text] = 0;
    return commonEnds.includes(ends.reduce((sum, { bit }) => sum + bit, 0));
  }

  #withAll({ terms }: FoldedTerms): Uint32Array {
    if (terms.length === 1) return this.hits({ terms }).texts;
    let matchingTexts: Uint32Array | undefined;
    for (const term of terms) {
      const { texts } = this.#valueHits({ terms: [term] });
      matchingTexts = matchingTexts === undefined ? texts : intersectTexts(matchingTexts, texts);
      if (matchingTexts.length === 0) break;
    }
    if (matchingTexts === undefined || matchingTexts.length === 0) return noHits.texts;
    if (!this.column.isList) return matchingTexts;
    const occurrenceCounts = new Uint32Array(matchingTexts.length).fill(1);
    return hitsOfRows(this.column.valueLists(), { texts: matchingTexts, times: occurrenceCounts })
      .texts;
  }

  /** Returns the values that contain a term at a position for which `test` is true. */
  #textsAt(entry: TermEntry, test: (position: number, text: number) => boolean): Uint32Array {
    const entryHits = this.column.hits(entry);
    const { starts, list } = this.column.positions(entry, entryHits);
    return entryHits.texts.filter((text, i) => {
      for (let at = starts[i]!; at < starts[i + 1]!; at++) if (test(list[at]!, text)) return true;
      return false;
    });
  }

  #find({ terms, pattern }: FoldedTerms): Hits {
    if (pattern) {
      const entries = this.column.findMatching(pattern);
      if (entries === 'many') throw new Error(`too many terms match ${patternText(pattern)}`);
      if (entries.length > 1) return this.column.hitsOfAny(entries);
      return entries[0] ? this.column.hits(entries[0]) : noHits;
    }
    const entries: TermEntry[] = [];
    for (const term of terms) {
      const entry = this.termEntry(term);
      if (entry === undefined) return noHits;
      entries.push(entry);
    }
    if (entries.length === 1) return this.column.hits(entries[0]!);
    return this.#consecutive(entries);
  }

  /** Returns the texts in which the terms are consecutive. */
  #consecutive(entries: readonly TermEntry[]): Hits {
    const knownHits = new Map<TermEntry, PositionedHits>();
    for (const entry of entries) {
      if (knownHits.has(entry)) continue;
      const entryHits = this.column.hits(entry);
      knownHits.set(entry, { hits: entryHits, ...this.column.positions(entry, entryHits) });
    }
    const positioned = entries.map((entry) => knownHits.get(entry)!);
    const common = [...knownHits.values()]
      .map(({ hits }) => hits.texts)
      .sort((a, b) => a.length - b.length)
      .reduce(intersectTexts);
    const texts: number[] = [];
    const occurrenceCounts: number[] = [];
    const at = positioned.map(() => 0);
    for (const text of common) {
      for (const [i, { hits }] of positioned.entries()) {
        while (hits.texts[at[i]!] !== text) at[i]! += 1;
      }
      const count = phraseOccurrences(positioned, at);
      if (count === 0) continue;
      texts.push(text);
      occurrenceCounts.push(count);
    }
    return { texts: Uint32Array.from(texts), times: Uint32Array.from(occurrenceCounts) };
  }
}

interface PositionedHits {
  readonly hits: Hits;
  readonly starts: Uint32Array;
  readonly list: Uint32Array;
}

/** Returns the number of non-overlapping occurrences of the phrase in one text, which is hit `at[i]` of term i. */
function phraseOccurrences(positioned: readonly PositionedHits[], at: readonly number[]): number {
  const next = positioned.map(({ starts }, i) => starts[at[i]!]!);
  const [first] = positioned;
  const end = first!.starts[at[0]! + 1]!;
  let count = 0;
  let free = 0; // the position after the last counted occurrence
  for (let p = first!.starts[at[0]!]!; p < end; p++) {
    const position = first!.list[p]!;
    if (position < free) continue;
    const isWhole = positioned.every(({ list, starts }, i) => {
      const last = starts[at[i]! + 1]!;
      while (next[i]! < last && list[next[i]!]! < position + i) next[i]! += 1;
      return next[i]! < last && list[next[i]!] === position + i;
    });
    if (!isWhole) continue;
    count += 1;
    free = position + positioned.length;
  }
  return count;
}

function phraseKey({ terms, pattern }: FoldedTerms): string {
  if (pattern) return patternText(pattern);
  return terms.map((term) => Buffer.from(term).toString('latin1')).join('\0');
}

/** Returns the intersection of two ascending lists of texts. */
function intersectTexts(a: Uint32Array, b: Uint32Array): Uint32Array {
  if (a.length > b.length) return intersectTexts(b, a);
  const out = new Uint32Array(a.length);
  let end = 0;
  let q = 0;
  for (const text of a) {
    while (q < b.length && b[q]! < text) q += 1;
    if (q === b.length) break;
    if (b[q] === text) out[end++] = text;
  }
  return out.subarray(0, end);
}

/** Returns the union of two ascending lists of texts. */
function uniteTexts(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length + b.length);
  let end = 0;
  let p = 0;
  let q = 0;
  while (p < a.length || q < b.length) {
    const x = p < a.length ? a[p]! : Infinity;
    const y = q < b.length ? b[q]! : Infinity;
    out[end++] = Math.min(x, y);
    if (x <= y) p += 1;
    if (y <= x) q += 1;
  }
  return out.subarray(0, end);
}

/** Returns the texts of `a` that are not in `b`; both lists are ascending. */
function excludeTexts(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length);
  let end = 0;
  let q = 0;
  for (const text of a) {
    while (q < b.length && b[q]! < text) q += 1;
    if (b[q] !== text) out[end++] = text;
  }
  return out.subarray(0, end);
}
