import type { Column, Mask, SegmentView } from '../column.js';
import type { Facet } from '../../request/facets.js';
import { blockLength, doublesOf } from './blocks.js';
import { NumberSlots } from './number-ids.js';
import type { Overflow } from './overflow.js';
import { PairSlots } from './bucket-ids.js';
import type { BucketedFacet, BucketsPartial, Partial, PartialKeys } from './partial.js';
import { slottingOf } from './number-grouping.js';
import { Stats } from './stats.js';
import { joinedTexts, TextSlots } from './string-ids.js';

/**
 * A facet with others below it: record by record, in blocks, each value is brought to its bucket below the bucket of the facet
 * above. No field of the tree is a list.
 */
export class Tree {
  readonly #root: Buckets;
  readonly #places = new Uint32Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: BucketedFacet, overflow: Overflow) {
    this.#root = new Buckets(facet, overflow);
  }

  add(view: SegmentView, mask: Mask): void {
    if (mask === 'none') return;
    this.#root.begin(view);
    for (let from = 0; from < view.rows; from += blockLength) {
      const to = Math.min(from + blockLength, view.rows);
      let count = 0;
      for (let row = from; row < to; row++) {
        this.#places[count] = row - from;
        count += mask === 'all' ? 1 : mask[row]!;
      }
      this.#root.add(from, to, this.#places, this.#groups, count);
    }
  }

  partial(): BucketsPartial {
    return this.#root.partial();
  }
}

/** A facet of the tree. */
interface Node {
  /** From now on records are those of this segment. */
  begin(view: SegmentView): void;
  /** Adds `count` records of a block, by their places in it, each to the bucket above. */
  add(from: number, to: number, places: Uint32Array, groups: Uint32Array, count: number): void;
  partial(): Partial;
}

function nodeOf(facet: Facet, overflow: Overflow): Node {
  return facet.kind === 'stats' ? new Sums(facet, overflow) : new Buckets(facet, overflow);
}

class Buckets implements Node {
  readonly #facet: BucketedFacet;
  readonly #pairs: PairSlots;
  readonly #source: TextSource | NumberSource;
  readonly #nested: readonly Node[];
  #column: Column | undefined;
  readonly #places = new Uint32Array(blockLength);
  readonly #parents = new Uint32Array(blockLength);
  readonly #slots = new Uint32Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: BucketedFacet, overflow: Overflow) {
    this.#facet = facet;
    this.#pairs = new PairSlots(overflow);
    this.#source =
      facet.field.type === 'string' ? new TextSource(overflow) : new NumberSource(facet, overflow);
    this.#nested = 'nested' in facet ? facet.nested.map((inner) => nodeOf(inner, overflow)) : [];
  }

  begin(view: SegmentView): void {
    this.#column = view.column(this.#facet.field);
    for (const node of this.#nested) node.begin(view);
  }

  add(from: number, to: number, places: Uint32Array, groups: Uint32Array, count: number): void {
    const column = this.#column;
    if (!column) return;
    const { present } = column;
    let own = 0;
    for (let i = 0; i < count; i++) {
      this.#places[own] = places[i]!;
      this.#parents[own] = groups[i]!;
      own += present ? present[from + places[i]!]! : 1;
    }
    if (own === 0) return;
    this.#source.slots(column, from, to, this.#places, own, this.#slots);
    this.#pairs.add(this.#parents, this.#slots, own, this.#groups);
    for (const node of this.#nested) node.add(from, to, this.#places, this.#groups, own);
  }

  partial(): BucketsPartial {
    const { parents, slots, counts } = this.#pairs;
    const numbers = new Map<number, number>();
    const keyOf = slots.map((slot) => {
      const known = numbers.get(slot);
      if (known !== undefined) return known;
      numbers.set(slot, numbers.size);
      return numbers.size - 1;
    });
    const keys = this.#source.keys([...numbers.keys()]);
    const nested = this.#nested.map((node) => node.partial());
    return { kind: 'buckets', keys, keyOf, parents, counts, nested };
  }
}

class Sums implements Node {
  readonly #facet: Facet;
  readonly #overflow: Overflow;
  readonly #stats: Stats;
  #column: Column | undefined;
  readonly #values = new Float64Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: Extract<Facet, { kind: 'stats' }>, overflow: Overflow) {
    this.#facet = facet;
    this.#overflow = overflow;
    this.#stats = new Stats(facet.extended);
  }

  begin(view: SegmentView): void {
    this.#column = view.column(this.#facet.field);
  }

  add(from: number, to: number, places: Uint32Array, groups: Uint32Array, count: number): void {
    const column = this.#column;
    if (!column) return;
    const { present } = column;
    const block = doublesOf(column, from, to, this.#overflow);
    let own = 0;
    for (let i = 0; i < count; i++) {
      this.#values[own] = block[places[i]!]!;
      this.#groups[own] = groups[i]!;
      own += present ? present[from + places[i]!]! : 1;
    }
    this.#stats.addGrouped(this.#values, this.#groups, own);
  }

  partial(): Partial {
    return this.#stats.partial();
  }
}

class TextSource {
  readonly #slots: TextSlots;

  constructor(overflow: Overflow) {
    this.#slots = new TextSlots(overflow);
  }

  slots(
    column: Column,
    from: number,
    to: number,
    places: Uint32Array,
    count: number,
    into: Uint32Array,
  ): void {
    const all = this.#slots.slots(column, column.present, from, to);
    for (let i = 0; i < count; i++) into[i] = all[places[i]!]!;
  }

  keys(slots: readonly number[]): PartialKeys {
    return joinedTexts(slots.map((slot) => this.#slots.text(slot)));
  }
}

class NumberSource {
  readonly #slotting;
  readonly #overflow: Overflow;
  readonly #values = new Float64Array(blockLength);

  constructor(facet: BucketedFacet, overflow: Overflow) {
    this.#overflow = overflow;
    this.#slotting = slottingOf(facet, new NumberSlots(overflow));
  }

  slots(
    column: Column,
    from: number,
    to: number,
    places: Uint32Array,
    count: number,
    into: Uint32Array,
  ): void {
    const block = doublesOf(column, from, to, this.#overflow);
    for (let i = 0; i < count; i++) this.#values[i] = block[places[i]!]!;
    this.#slotting.find(this.#values, 0, count, into);
  }

  keys(slots: readonly number[]): PartialKeys {
    return {
      kind: 'numbers',
      numbers: Float64Array.from(slots, (slot) => this.#slotting.key(slot)),
    };
  }
}
