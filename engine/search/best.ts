import { compareStrings } from '../query/predicate/plain-values.js';
import type { OrderKey } from '../query/request/request.js';
import { documentField, type DocumentValue, type SearchDocument } from './document.js';
import type { Rank } from './rank.js';

/** A document found, and what it is sorted by. */
interface Entry {
  readonly document: SearchDocument;
  readonly keys: readonly (string | number | null)[];
  /** Which of the documents found it was: what decides between equals. */
  readonly place: number;
}

/** Sorted as a whole at once; larger ones are merged into what was found before. */
const bufferLength = 2_000;

/** Keeps the first documents in an order, however many there are: vaults, then objects, oldest first among equals. */
export class Best {
  readonly #length: number;
  readonly #order: readonly OrderKey[];
  readonly #rank: Rank | undefined;
  #best: Entry[] = [];
  #buffer: Entry[] = [];
  #found = 0;

  /** Without an ordering the rank decides, if there is one. */
  constructor(length: number, order: readonly OrderKey[], rank: Rank | undefined) {
    this.#length = length;
    this.#order = order;
    this.#rank = order.length === 0 ? rank : undefined;
  }

  /** How many documents were added. */
  get found(): number {
    return this.#found;
  }

  add(document: SearchDocument): void {
    const place = this.#found++;
    if (this.#length === 0) return;
    const isPlain = this.#order.length === 0 && this.#rank === undefined;
    if (isPlain && place >= this.#length) return;
    this.#buffer.push({ document, keys: this.#keysOf(document), place });
    if (this.#buffer.length >= bufferLength) this.#merge();
  }

  /** The documents from the one at `offset` on. */
  from(offset: number): readonly SearchDocument[] {
    this.#merge();
    return this.#best.slice(offset).map(({ document }) => document);
  }

  #keysOf(document: SearchDocument): readonly (string | number | null)[] {
    if (this.#rank) return [-this.#rank(document)];
    return this.#order.map(({ field, descending }) =>
      keyOf(documentField(field.name).read(document), descending),
    );
  }

  #compare(a: Entry, b: Entry): number {
    for (const [i, x] of a.keys.entries()) {
      const y = b.keys[i]!;
      if (x === y) continue;
      // Without a value last, in both directions.
      if (x === null || y === null) return x === null ? 1 : -1;
      return x < y === (this.#order[i]?.descending ?? false) ? 1 : -1;
    }
    return a.place - b.place;
  }

  #merge(): void {
    const more = this.#buffer.sort((a, b) => this.#compare(a, b));
    this.#buffer = [];
    if (this.#best.length === 0) {
      this.#best = more.slice(0, this.#length);
      return;
    }
    const merged: Entry[] = [];
    let [i, j] = [0, 0];
    while (merged.length < this.#length && (i < this.#best.length || j < more.length)) {
      const isOld =
        j >= more.length || (i < this.#best.length && this.#compare(this.#best[i]!, more[j]!) <= 0);
      merged.push(isOld ? this.#best[i++]! : more[j++]!);
    }
    this.#best = merged;
  }
}

/** Lists order by their smallest element ascending and their largest descending. */
function keyOf(value: DocumentValue, descending: boolean): string | number | null {
  const best =
    value === null || typeof value !== 'object'
      ? value
      : (value.toSorted(compareStrings).at(descending ? -1 : 0) ?? null);
  return typeof best === 'string' ? sortable(best) : best;
}

/** Maps a string so that JavaScript's order, by UTF-16 units, is the order of the original's code points: surrogates and what lies above them change sides. */
export function sortable(text: string): string {
  if (!/[\ud800-\uffff]/.test(text)) return text;
  return text.replaceAll(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
}
