import type { Column, Mask, SegmentView } from '../column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { placeOf } from './sorted-numbers.js';
import { blockLength, doublesOf, eachBlock, keptValues, valueCount } from './blocks.js';
import type { NumberSlots, Slotting } from './number-ids.js';
import type { BucketsPartial } from './partial.js';
import { areSmall, SmallWholes } from './small-integers.js';
import { countDifferent, Tally } from './id-counts.js';

const found = new Uint32Array(blockLength);

/** How often each number of a field, or each bin of its numbers, is there. */
export class NumberBuckets {
  readonly #field: FieldRef;
  readonly #slots: NumberSlots;
  readonly #slotting: Slotting;
  /** Records whose list has the same number twice count once. */
  readonly #isByRecord: boolean;
  readonly #tally: Tally;
  #small: SmallWholes | undefined;

  constructor(field: FieldRef, slots: NumberSlots, slotting: Slotting, isByRecord: boolean) {
    this.#field = field;
    this.#slots = slots;
    this.#slotting = slotting;
    this.#isByRecord = isByRecord;
    this.#tally = new Tally(slots.size);
  }

  add(view: SegmentView, mask: Mask): void {
    const column = view.column(this.#field);
    if (!column) return;
    const kept = keptValues(column, mask);
    if (kept === null) return;
    if (column.offsets && this.#isByRecord) this.#addLists(column, mask);
    else if (
      column.values.kind === 'numbers' &&
      isShort(column.values.numbers) &&
      areSmall(column.values.numbers)
    )
      this.#addShort(column.values.numbers, kept, valueCount(column));
    else
      eachBlock(column, mask, this.#slots.overflow, (values, start, count) =>
        this.#add(values, start, count),
      );
  }

  #add(values: Float64Array, start: number, count: number): void {
    this.#slotting.find(values, start, count, found);
    this.#tally.ensure(this.#slots.size);
    this.#tally.add(found, count);
  }

  #addShort(numbers: Int32Array, kept: Uint8Array | undefined, length: number): void {
    const small = (this.#small ??= new SmallWholes());
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const { others, count } = small.add(numbers, kept, from, to);
      if (count > 0) this.#add(others, 0, count);
    }
  }

  #addLists(column: Column, mask: Mask): void {
    const length = valueCount(column);
    const slots = new Uint32Array(length);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      this.#slotting.find(doublesOf(column, from, to, this.#slots.overflow), 0, to - from, found);
      slots.set(found.subarray(0, to - from), from);
    }
    this.#tally.ensure(this.#slots.size);
    countDifferent(column, mask, slots, this.#tally.table);
  }

  /** The small whole numbers go to their bins. */
  #addSmall(): void {
    const one = new Float64Array(1);
    this.#small?.each((number, count) => {
      one[0] = number;
      this.#slotting.find(one, 0, 1, found);
      this.#tally.ensure(this.#slots.size);
      this.#tally.table[found[0]!]! += count;
    });
    this.#small = undefined;
  }

  partial(): BucketsPartial {
    this.#addSmall();
    const all = this.#tally.counts(this.#slots.size);
    let size = 0;
    for (let slot = 0; slot < all.length; slot++) if (all[slot]! > 0) size += 1;
    const [numbers, counts] = [new Float64Array(size), new Uint32Array(size)];
    let at = 0;
    for (let slot = 0; slot < all.length; slot++) {
      if (all[slot] === 0) continue;
      numbers[at] = this.#slotting.key(slot);
      counts[at++] = all[slot]!;
    }
    // In their order: the main thread then need not sort.
    const sorted = numbers.slice().sort();
    const ofSorted = new Uint32Array(size);
    for (let i = 0; i < size; i++) ofSorted[placeOf(sorted, numbers[i]!)] = counts[i]!;
    const keys = { kind: 'numbers', numbers: sorted } as const;
    return { kind: 'buckets', keys, keyOf: undefined, parents: undefined, counts: ofSorted, nested: [] }; // prettier-ignore
  }
}

/** By its name, because each thread and sandbox has constructors of its own. */
function isShort(numbers: Int32Array | Float64Array | Float32Array): numbers is Int32Array {
  return numbers[Symbol.toStringTag] === 'Int32Array';
}
