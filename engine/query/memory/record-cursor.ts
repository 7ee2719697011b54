import type { RecordPage } from './record-page.js';
import type { SegmentLeaf } from './segment-leaves.js';

/** A leaf of the records that are being written: the page of the current one, and its slots there. */
export class RecordCursor {
  readonly leaf: SegmentLeaf;
  page!: RecordPage;
  /** The first slot of the current record, or of the part of it that is being written, */
  begin = 0;
  /** and the one behind the last. */
  end = 0;

  constructor(leaf: SegmentLeaf) {
    this.leaf = leaf;
  }

  /** Moves to a row of the page. */
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

  /** Where the element of a list ends that begins with a slot; `repetition` is the level of the list's own elements. */
  endOfElement(slot: number, repetition: number): number {
    const levels = this.page.repetition;
    let end = slot + 1;
    if (levels === undefined || this.leaf.maxRepetition === repetition) return end;
    while (end < levels.length && levels[end]! > repetition) end++;
    return end;
  }
}
