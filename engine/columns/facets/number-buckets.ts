import type { Mask, SegmentView } from '../column.js';
import type { FieldRef } from '../../query/predicate.js';
import type { Slotting } from './bin-slots.js';
import { blockLength, doublesOf, eachBlock, valueCount } from './blocks.js';
import { eachDifferent } from './lists.js';
import type { NumberSlots } from './number-slots.js';
import type { BucketsPartial } from './partial.js';
import { Tally } from './tally.js';

const found = new Uint32Array(blockLength);

/** How often each number of a field, or each bin of its numbers, is there. */
export class NumberBuckets {
  readonly #field: FieldRef;
  readonly #slots: NumberSlots;
  readonly #slotting: Slotting;
  /** Records whose list has the same number twice count once. */
  readonly #isByRecord: boolean;
  readonly #tally: Tally;

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
    const [slotting, tally] = [this.#slotting, this.#tally];
    if (!column.offsets || !this.#isByRecord) {
      eachBlock(column, mask, (values, start, count) => {
        slotting.find(values, start, count, found);
        tally.ensure(this.#slots.size);
        tally.add(found, count);
      });
      return;
    }
    const length = valueCount(column);
    const slots = new Uint32Array(length);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      slotting.find(doublesOf(column, from, to), 0, to - from, found);
      slots.set(found.subarray(0, to - from), from);
    }
    tally.ensure(this.#slots.size);
    eachDifferent(column, mask, slots, this.#slots.size, (slot) => tally.addOne(slot));
  }

  partial(): BucketsPartial {
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
    const keys = { kind: 'numbers', numbers } as const;
    return { kind: 'buckets', keys, keyOf: undefined, parents: undefined, counts, nested: [] };
  }
}
