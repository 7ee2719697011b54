import type { ColumnReader, TermEntry } from './column-reader.js';
import type { Hits } from './postings.js';
import { areNeighbours, hitsOfRows } from './value-lists.js';

/** A query for texts. A single term is a phrase of one; terms are folded (fold.ts). */
export type TextQuery =
  /** The text, or one value of a list, contains the terms: all of them in any order, or consecutively. */
  | (FoldedTerms & { readonly kind: 'terms' | 'phrase' })
  | { readonly kind: 'and' | 'or'; readonly items: readonly TextQuery[] }
  /** Texts that match `item` and not `other`. */
  | { readonly kind: 'without'; readonly item: TextQuery; readonly other: TextQuery };

/** Folded terms, of which a phrase consists or which a text contains. */
export interface FoldedTerms {
  readonly terms: readonly Uint8Array[];
}

/** Rows are returned as a list if fewer than one in this many match, else as a bitmap. */
const listedShare = 32;

/** Number of terms whose entries are kept from query to query. */
const maxEntries = 32;

const noRows = new Int32Array(0);
const noHits: Hits = { texts: new Uint32Array(0), times: new Uint32Array(0) };

/**
 * Evaluates queries on the texts of one column of one segment, and caches what it looked up. In a column that is or lies in a list, all
 * values of a row are one text here, but what a term or phrase condition asks for must be in one of them.
 */
export class ColumnMatcher {
  readonly column: ColumnReader;
  readonly #hits = new Map<string, Hits>();
  readonly #hitsOfRows = new Map<string, Hits>();
  readonly #entries = new Map<string, TermEntry | 'none'>();

  constructor(column: ColumnReader) {
    this.column = column;
  }

  /** The texts that match a query, ascending. */
  texts(query: TextQuery): Uint32Array {
    if ('terms' in query)
      return query.kind === 'terms' ? this.#withAll(query) : this.hits(query).texts;
    if (query.kind === 'without') {
      return rowsWithout(this.texts(query.item), this.texts(query.other));
    }
    let found: Uint32Array | undefined;
    for (const item of query.items) {
      const texts = this.texts(item);
      if (found === undefined) found = texts;
      else found = query.kind === 'and' ? commonTexts(found, texts) : uniteTexts(found, texts);
      if (query.kind === 'and' && found.length === 0) break;
    }
    return found ?? noHits.texts;
  }

  /** The texts that contain a phrase, and the number of non-overlapping occurrences in each. */
  hits(phrase: FoldedTerms): Hits {
    const valueHits = this.#valueHits(phrase);
    if (!this.column.isList || valueHits.texts.length === 0) return valueHits;
    const key = keyOf(phrase);
    let ofRows = this.#hitsOfRows.get(key);
    if (ofRows === undefined)
      this.#hitsOfRows.set(key, (ofRows = hitsOfRows(this.column.lists(), valueHits)));
    return ofRows;
  }

  /**
   * Whether a phrase may begin in one value of a list and end in a later one. The relevance that SQL computes counts such an occurrence, and
   * `hits` does not.
   */
  mayCrossValues({ terms }: FoldedTerms): boolean {
    const { column } = this;
    if (!column.isList || terms.length < 2) return false;
    const { lengths } = column.lists();
    return terms.some((term, i) => {
      const next = terms[i + 1];
      if (next === undefined) return false;
      const last = this.#textsAt(term, (position, text) => position === lengths[text]! - 1);
      const first = this.#textsAt(next, (position) => position === 0);
      return areNeighbours(column.lists(), last, first);
    });
  }

  /** The rows whose texts match a query: an ascending list of their numbers, or a bitmap (bitmap.ts) if they are many. */
  rows(query: TextQuery): Int32Array | Uint8Array {
    const texts = this.texts(query);
    const { column } = this;
    const isFew = this.count(texts) * listedShare < column.rows;
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

  /** Number of rows whose text contains a phrase. */
  rowsWith(phrase: FoldedTerms): number {
    if (phrase.terms.length === 1) return this.entry(phrase.terms[0]!)?.rows ?? 0;
    return this.count(this.hits(phrase).texts);
  }

  /** The number of rows that have one of these texts. */
  count(texts: Uint32Array): number {
    if (!this.column.sharesTexts || texts.length === 0) return texts.length;
    const { counts } = this.column.texts();
    let sum = 0;
    for (const text of texts) sum += counts![text]!;
    return sum;
  }

  /** Drops the hits, which may cover every row, and the entries of terms if they are many. */
  forget(): void {
    this.#hits.clear();
    this.#hitsOfRows.clear();
    if (this.#entries.size > maxEntries) this.#entries.clear();
  }

  /** The entry of a term; undefined if no text contains it. */
  entry(term: Uint8Array): TermEntry | undefined {
    const key = keyOf({ terms: [term] });
    let entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, (entry = this.column.find(term) ?? 'none'));
    return entry === 'none' ? undefined : entry;
  }

  /** Like `hits`, but of single values in lists. */
  #valueHits(phrase: FoldedTerms): Hits {
    const key = keyOf(phrase);
    let cachedHits = this.#hits.get(key);
    if (cachedHits === undefined) this.#hits.set(key, (cachedHits = this.#find(phrase)));
    return cachedHits;
  }

  #withAll({ terms }: FoldedTerms): Uint32Array {
    if (terms.length === 1) return this.hits({ terms }).texts;
    let found: Uint32Array | undefined;
    for (const term of terms) {
      const { texts } = this.#valueHits({ terms: [term] });
      found = found === undefined ? texts : commonTexts(found, texts);
      if (found.length === 0) break;
    }
    if (found === undefined || found.length === 0) return noHits.texts;
    if (!this.column.isList) return found;
    const occurrenceCounts = new Uint32Array(found.length).fill(1);
    return hitsOfRows(this.column.lists(), { texts: found, times: occurrenceCounts }).texts;
  }

  /** The values that have a term at a position that passes the test. */
  #textsAt(term: Uint8Array, test: (position: number, text: number) => boolean): Uint32Array {
    const entry = this.entry(term);
    if (entry === undefined) return noHits.texts;
    const entryHits = this.column.hits(entry);
    const { starts, list } = this.column.positions(entry, entryHits);
    return entryHits.texts.filter((text, i) => {
      for (let at = starts[i]!; at < starts[i + 1]!; at++) if (test(list[at]!, text)) return true;
      return false;
    });
  }

  #find({ terms }: FoldedTerms): Hits {
    const entries: TermEntry[] = [];
    for (const term of terms) {
      const entry = this.entry(term);
      if (entry === undefined) return noHits;
      entries.push(entry);
    }
    if (entries.length === 1) return this.column.hits(entries[0]!);
    return this.#consecutive(entries);
  }

  /** The texts in which the terms are consecutive. */
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
      .reduce(commonTexts);
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

/** Number of non-overlapping occurrences of the phrase in one text, which is hit `at[i]` of term i. */
function phraseOccurrences(positioned: readonly PositionedHits[], at: readonly number[]): number {
  const next = positioned.map(({ starts }, i) => starts[at[i]!]!);
  const [first] = positioned;
  const end = first!.starts[at[0]! + 1]!;
  let count = 0;
  let free = 0; // end of the last occurrence
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

function keyOf({ terms }: FoldedTerms): string {
  return terms.map((term) => Buffer.from(term).toString('latin1')).join('\0');
}

/** The intersection of two ascending lists. */
function commonTexts(a: Uint32Array, b: Uint32Array): Uint32Array {
  if (a.length > b.length) return commonTexts(b, a);
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

function rowsWithout(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length);
  let end = 0;
  let q = 0;
  for (const text of a) {
    while (q < b.length && b[q]! < text) q += 1;
    if (b[q] !== text) out[end++] = text;
  }
  return out.subarray(0, end);
}
