import type { PageLocations } from './page-locations.js';
import type { LeafPage } from './leaf-page.js';
import type { ScalarType } from './converted.js';
import type { SegmentLeaf } from '../memory/segment-leaves.js';

/** The pages of one leaf in one row group that a reader has loaded, by number. */
export interface LeafPages {
  readonly locations: PageLocations;
  readonly pages: (LeafPage | undefined)[];
  /** The pages of which a row has been read. */
  readonly visited: Set<number>;
}

/**
 * A position in one leaf: the page that holds the current record, and the slots of the record (or of a part of it) in that
 * page.
 */
export class LeafCursor {
  readonly leaf: SegmentLeaf;
  /** The type as which its values are read; undefined: as stored. */
  readonly type: ScalarType | undefined;
  page!: LeafPage;
  /** First slot of the current record or element. */
  begin = 0;
  /** The end of its slots, exclusive. */
  end = 0;
  /** The rows of the row group in `page`: from `first` up to and not including `last`. */
  first = 0;
  last = 0;
  /** Number of the page; its `LeafPage` may still have to be loaded. */
  number = 0;
  #pages!: LeafPages;

  constructor(leaf: SegmentLeaf, type: ScalarType | undefined) {
    this.leaf = leaf;
    this.type = type;
  }

  /** Enters a row group; no page is current then. */
  enter(pages: LeafPages): void {
    this.#pages = pages;
    this.first = 0;
    this.last = 0;
  }

  /** Makes the page of a row of the row group current; false if it has not been loaded. */
  turnTo(row: number): boolean {
    const { locations, pages } = this.#pages;
    const number = pageOf(locations, row);
    this.number = number;
    this.first = locations.firstRows[number]!;
    this.last = locations.firstRows[number + 1]!;
    const page = pages[number];
    if (page === undefined) return false;
    this.page = page;
    return true;
  }

  /** True if the current page has been loaded. */
  get isLoaded(): boolean {
    return this.#pages.pages[this.number] !== undefined;
  }

  /** The pages of the row group. */
  get pages(): LeafPages {
    return this.#pages;
  }

  /** Sets the current page after it has been loaded. */
  load(page: LeafPage): void {
    this.#pages.pages[this.number] = page;
    this.page = page;
  }

  /** Sets the current page to one row of it. */
  loadRow(row: number, page: LeafPage): void {
    this.first = row;
    this.last = row + 1;
    this.page = page;
  }

  /** Moves to a row of the current page. */
  moveTo(row: number): void {
    const { rowSlots } = this.page;
    this.begin = rowSlots === undefined ? row : rowSlots[row]!;
    this.end = rowSlots === undefined ? row + 1 : rowSlots[row + 1]!;
  }

  /** The definition level of a slot. */
  levelAt(slot: number): number {
    const { definition, level } = this.page;
    return definition === undefined ? level : definition[slot]!;
  }

  /** The index in `page.values` of a slot's value; -1 if it has none. */
  valueAt(slot: number): number {
    const { page } = this;
    if (this.levelAt(slot) !== this.leaf.maxDefinition) return -1;
    const value = page.valueIndexes === undefined ? slot : page.valueIndexes[slot]!;
    return page.indices === undefined ? value : page.indices[value]!;
  }

  /** Like `valueAt`, for rows of a row group with one slot each. */
  valuesAt(rows: Int32Array, length: number, into: Int32Array): void {
    const { page, first, leaf } = this;
    const { indices, definition, valueIndexes, level } = page;
    if (definition === undefined) {
      if (level !== leaf.maxDefinition) into.fill(-1, 0, length);
      else for (let i = 0; i < length; i++) into[i] = rows[i]! - first;
    } else {
      for (let i = 0; i < length; i++) {
        const slot = rows[i]! - first;
        into[i] = definition[slot] === leaf.maxDefinition ? valueIndexes![slot]! : -1;
      }
    }
    if (indices === undefined) return;
    for (let i = 0; i < length; i++) if (into[i]! >= 0) into[i] = indices[into[i]!]!;
  }

  /** The slot behind the element of a list that begins at `slot`; `repetition` is the level of the list's own elements. */
  endOfElement(slot: number, repetition: number): number {
    const levels = this.page.repetition;
    let end = slot + 1;
    if (levels === undefined || this.leaf.maxRepetition === repetition) return end;
    while (end < levels.length && levels[end]! > repetition) end++;
    return end;
  }
}

function pageOf({ firstRows, step }: PageLocations, row: number): number {
  if (step > 0) return Math.floor(row / step);
  let low = 0;
  let high = firstRows.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (firstRows[middle]! <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Iterates over the elements of a list of objects, which are in the slots of several cursors. */
export class ElementWalk {
  readonly #cursors: readonly LeafCursor[];
  readonly #repetition: number;
  readonly #begins: Float64Array;
  readonly #ends: Float64Array;

  /** `cursors` belong to all leaves of the list; `repetition` is the level of its elements. */
  constructor(cursors: readonly LeafCursor[], repetition: number) {
    this.#cursors = cursors;
    this.#repetition = repetition;
    this.#begins = new Float64Array(cursors.length);
    this.#ends = new Float64Array(cursors.length);
  }

  /** Saves the positions of the cursors and moves them before the first element. */
  start(): void {
    for (const [i, cursor] of this.#cursors.entries()) {
      this.#begins[i] = cursor.begin;
      this.#ends[i] = cursor.end;
      cursor.end = cursor.begin;
    }
  }

  /** Moves the cursors to the next element. After the last one, moves them back to the whole list and returns false. */
  next(): boolean {
    const cursors = this.#cursors;
    if (cursors[0]!.end >= this.#ends[0]!) {
      for (let i = 0; i < cursors.length; i++) {
        cursors[i]!.begin = this.#begins[i]!;
        cursors[i]!.end = this.#ends[i]!;
      }
      return false;
    }
    for (const cursor of cursors) {
      cursor.begin = cursor.end;
      cursor.end = cursor.endOfElement(cursor.begin, this.#repetition);
    }
    return true;
  }
}
