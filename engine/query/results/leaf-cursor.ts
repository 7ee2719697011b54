import type { PageLocations } from './page-locations.js';
import type { LeafPage } from './leaf-page.js';
import type { ScalarType } from './convert-leaf-values.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';

/** The loaded pages of one leaf in one row group, by page number. */
export interface LeafPages {
  readonly locations: PageLocations;
  readonly pages: (LeafPage | undefined)[];
  /** By page number, how many requests for a row of the page have counted towards decoding the page as a whole. */
  readonly rowRequestCounts: Map<number, number>;
}

/** A position in one leaf: the page that contains the current record, and the slots of the record (or of a part of it) in that page. */
export class LeafCursor {
  readonly leaf: SegmentLeaf;
  /** The type to which values are converted when read; undefined: the stored type. */
  readonly type: ScalarType | undefined;
  page!: LeafPage;
  /** First slot of the current record or element. */
  firstSlot = 0;
  /** The slot after the last slot of the current record or element. */
  endSlot = 0;
  /** The rows of the row group that are in `page`: from `firstPageRow` to `endPageRow` (exclusive). */
  firstPageRow = 0;
  endPageRow = 0;
  /** Number of the current page, whose `LeafPage` may not be loaded yet. */
  pageNumber = 0;
  #pages!: LeafPages;

  constructor(leaf: SegmentLeaf, type: ScalarType | undefined) {
    this.leaf = leaf;
    this.type = type;
  }

  /** Moves to a row group, in which no page is current yet. */
  enterRowGroup(pages: LeafPages): void {
    this.#pages = pages;
    this.firstPageRow = 0;
    this.endPageRow = 0;
  }

  /** Makes the page current that contains a row of the row group; returns false if the page has not been loaded. */
  selectPageOfRow(row: number): boolean {
    const { locations, pages } = this.#pages;
    const number = pageNumberOfRow(locations, row);
    this.pageNumber = number;
    this.firstPageRow = locations.firstRows[number]!;
    this.endPageRow = locations.firstRows[number + 1]!;
    const page = pages[number];
    if (page === undefined) return false;
    this.page = page;
    return true;
  }

  /** True if the current page has been loaded as a whole. */
  get isLoaded(): boolean {
    return this.#pages.pages[this.pageNumber] !== undefined;
  }

  /** The pages of the leaf in the current row group. */
  get pages(): LeafPages {
    return this.#pages;
  }

  /** Sets the current page after it has been loaded. */
  setLoadedPage(page: LeafPage): void {
    this.#pages.pages[this.pageNumber] = page;
    this.page = page;
  }

  /** Sets the current page to a page that consists only of the given row. */
  setRowPage(row: number, page: LeafPage): void {
    this.firstPageRow = row;
    this.endPageRow = row + 1;
    this.page = page;
  }

  /** Moves to a row of the current page, whose first row is 0. */
  moveTo(row: number): void {
    const { rowSlots } = this.page;
    this.firstSlot = rowSlots === undefined ? row : rowSlots[row]!;
    this.endSlot = rowSlots === undefined ? row + 1 : rowSlots[row + 1]!;
  }

  /** Returns the definition level of a slot. */
  levelAt(slot: number): number {
    const { definition, level } = this.page;
    return definition === undefined ? level : definition[slot]!;
  }

  /** Returns the index in `page.values` of a slot's value; -1 if the slot has none. */
  valueIndexAt(slot: number): number {
    const { page } = this;
    if (this.levelAt(slot) !== this.leaf.maxDefinition) return -1;
    const value = page.valueIndexes === undefined ? slot : page.valueIndexes[slot]!;
    return page.indices === undefined ? value : page.indices[value]!;
  }

  /**
   * Writes to `into`, for the first `length` of some rows of the row group, the index in `page.values` of the row's value, or -1 if it has
   * none. The rows must be in the current page, and have one slot each.
   */
  valuesAt(rows: Int32Array, length: number, into: Int32Array): void {
    const { page, firstPageRow, leaf } = this;
    const { indices, definition, valueIndexes, level } = page;
    if (definition === undefined) {
      if (level !== leaf.maxDefinition) into.fill(-1, 0, length);
      else for (let i = 0; i < length; i++) into[i] = rows[i]! - firstPageRow;
    } else {
      for (let i = 0; i < length; i++) {
        const slot = rows[i]! - firstPageRow;
        into[i] = definition[slot] === leaf.maxDefinition ? valueIndexes![slot]! : -1;
      }
    }
    if (indices === undefined) return;
    for (let i = 0; i < length; i++) if (into[i]! >= 0) into[i] = indices[into[i]!]!;
  }

  /** Returns the slot after the list element that begins at `slot`; `repetition` is the repetition level of the list's elements. */
  endOfElement(slot: number, repetition: number): number {
    const levels = this.page.repetition;
    let end = slot + 1;
    if (levels === undefined || this.leaf.maxRepetition === repetition) return end;
    while (end < levels.length && levels[end]! > repetition) end++;
    return end;
  }
}

function pageNumberOfRow({ firstRows, step }: PageLocations, row: number): number {
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

/** Iterates over the elements of a list of objects, whose members are in the slots of several cursors. */
export class ListElementIterator {
  readonly #cursors: readonly LeafCursor[];
  readonly #repetition: number;
  readonly #begins: Float64Array;
  readonly #ends: Float64Array;

  /** `cursors` are the cursors of all leaves in the list; `repetition` is the repetition level of its elements. */
  constructor(cursors: readonly LeafCursor[], repetition: number) {
    this.#cursors = cursors;
    this.#repetition = repetition;
    this.#begins = new Float64Array(cursors.length);
    this.#ends = new Float64Array(cursors.length);
  }

  /** Saves the positions of the cursors and moves them before the first element. */
  enterList(): void {
    for (const [i, cursor] of this.#cursors.entries()) {
      this.#begins[i] = cursor.firstSlot;
      this.#ends[i] = cursor.endSlot;
      cursor.endSlot = cursor.firstSlot;
    }
  }

  /** Moves the cursors to the next element. After the last element, moves them back to the whole list and returns false. */
  next(): boolean {
    const cursors = this.#cursors;
    if (cursors[0]!.endSlot >= this.#ends[0]!) {
      for (let i = 0; i < cursors.length; i++) {
        cursors[i]!.firstSlot = this.#begins[i]!;
        cursors[i]!.endSlot = this.#ends[i]!;
      }
      return false;
    }
    for (const cursor of cursors) {
      cursor.firstSlot = cursor.endSlot;
      cursor.endSlot = cursor.endOfElement(cursor.firstSlot, this.#repetition);
    }
    return true;
  }
}
