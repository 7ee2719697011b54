import { compareCodePoints } from '../core/compare-code-points.js';
import type { OrderKey } from '../query/request/query-request.js';
import { documentField, type DocumentFieldValue, type SearchDocument } from './document.js';
import type { RankFunction } from './rank.js';

/** A matching document with its sort keys. */
interface RankedDocument {
  readonly document: SearchDocument;
  readonly keys: readonly (string | number | null)[];
  /** The number of matches that were found before this one; documents with equal keys are in this order. */
  readonly position: number;
}

/** Number of documents that are collected before they are sorted and merged into the top documents. */
const maxBufferedDocuments = 2_000;

/**
 * Keeps the first `length` documents in an order. Documents with equal keys stay in the order in which they were added: vaults, then
 * objects, oldest first.
 */
export class TopDocuments {
  readonly #length: number;
  readonly #order: readonly OrderKey[];
  readonly #rank: RankFunction | undefined;
  #top: RankedDocument[] = [];
  #buffer: RankedDocument[] = [];
  #addedCount = 0;

  /** `rank`, if given, is used only without an ordering. */
  constructor(length: number, order: readonly OrderKey[], rank: RankFunction | undefined) {
    this.#length = length;
    this.#order = order;
    this.#rank = order.length === 0 ? rank : undefined;
  }

  /** Number of documents added. */
  get addedCount(): number {
    return this.#addedCount;
  }

  add(document: SearchDocument): void {
    const position = this.#addedCount++;
    if (this.#length === 0) return;
    const isPlain = this.#order.length === 0 && this.#rank === undefined;
    if (isPlain && position >= this.#length) return;
    this.#buffer.push({ document, keys: this.#keysOf(document), position });
    if (this.#buffer.length >= maxBufferedDocuments) this.#merge();
  }

  /** Returns the kept documents from `offset` on. */
  documentsFrom(offset: number): readonly SearchDocument[] {
    this.#merge();
    return this.#top.slice(offset).map(({ document }) => document);
  }

  #keysOf(document: SearchDocument): readonly (string | number | null)[] {
    if (this.#rank) return [-this.#rank(document)];
    return this.#order.map(({ field, descending }) =>
      sortKeyOf(documentField(field.name).read(document), descending),
    );
  }

  #compare(a: RankedDocument, b: RankedDocument): number {
    for (const [i, x] of a.keys.entries()) {
      const y = b.keys[i]!;
      if (x === y) continue;
      // Documents without a value come last in both directions.
      if (x === null || y === null) return x === null ? 1 : -1;
      return x < y === (this.#order[i]?.descending ?? false) ? 1 : -1;
    }
    return a.position - b.position;
  }

  #merge(): void {
    const newDocuments = this.#buffer.sort((a, b) => this.#compare(a, b));
    this.#buffer = [];
    if (this.#top.length === 0) {
      this.#top = newDocuments.slice(0, this.#length);
      return;
    }
    const mergedDocuments: RankedDocument[] = [];
    let [i, j] = [0, 0];
    while (
      mergedDocuments.length < this.#length &&
      (i < this.#top.length || j < newDocuments.length)
    ) {
      const isOld =
        j >= newDocuments.length ||
        (i < this.#top.length && this.#compare(this.#top[i]!, newDocuments[j]!) <= 0);
      mergedDocuments.push(isOld ? this.#top[i++]! : newDocuments[j++]!);
    }
    this.#top = mergedDocuments;
  }
}

/** A list sorts by its smallest element ascending and by its largest descending. */
function sortKeyOf(value: DocumentFieldValue, descending: boolean): string | number | null {
  const best =
    value === null || typeof value !== 'object'
      ? value
      : (value.toSorted(compareCodePoints).at(descending ? -1 : 0) ?? null);
  return typeof best === 'string' ? sortableText(best) : best;
}

/**
 * Returns a sort key whose order by UTF-16 code units equals the string's order by code points: it swaps surrogates with the code units
 * above them.
 */
export function sortableText(text: string): string {
  if (!/[\ud800-\uffff]/.test(text)) return text;
  return text.replaceAll(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
}
