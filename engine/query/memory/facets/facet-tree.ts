import type { MemoryColumn, SelectionBytes, SegmentView } from '../match/column.js';
import type { Facet } from '../../request/facet-request.js';
import { blockLength, doublesOf, listSelected } from './blocks.js';
import { NumberIds } from './number-ids.js';
import type { FacetOverflow } from './facet-overflow.js';
import { BucketIds } from './bucket-ids.js';
import type { BucketedFacet, PartialBuckets, FacetPartial, PartialKeys } from './facet-partial.js';
import { numberGrouping } from './number-grouping.js';
import { Stats } from './stats-facet.js';
import { facetKeysOfStringsWithin, StringIds } from './string-ids.js';

/**
 * Counts a facet with nested facets. Block by block, the value of each row is assigned to a bucket below that of its parent. No field of
 * the facets is a list.
 */
export class FacetTree {
  readonly #root: BucketsNode;
  readonly #rows = new Uint32Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: BucketedFacet, overflow: FacetOverflow) {
    this.#root = new BucketsNode(facet, overflow);
  }

  add(view: SegmentView, selection: SelectionBytes): void {
    if (selection === 'none') return;
    this.#root.begin(view);
    const selected = selection === 'all' ? undefined : selection;
    for (let from = 0; from < view.rows; from += blockLength) {
      const to = Math.min(from + blockLength, view.rows);
      const count = listSelected(selected, from, to, this.#rows);
      this.#root.add(from, to, this.#rows, this.#groups, count);
    }
  }

  partial(): PartialBuckets {
    return this.#root.partial();
  }
}

interface FacetTreeNode {
  /** Starts a segment, to which the rows of the following calls of `add` belong. */
  begin(view: SegmentView): void;
  /**
   * Adds `count` rows of the block from `from` to `to`. `rows` holds their offsets in the block, `groups` the numbers of their parent
   * buckets.
   */
  add(from: number, to: number, rows: Uint32Array, groups: Uint32Array, count: number): void;
  partial(): FacetPartial;
}

function createFacetNode(facet: Facet, overflow: FacetOverflow): FacetTreeNode {
  return facet.kind === 'stats' ? new StatsNode(facet, overflow) : new BucketsNode(facet, overflow);
}

class BucketsNode implements FacetTreeNode {
  readonly #facet: BucketedFacet;
  readonly #pairs: BucketIds;
  readonly #source: StringIdSource | NumberIdSource;
  readonly #nested: readonly FacetTreeNode[];
  #column: MemoryColumn | undefined;
  readonly #rows = new Uint32Array(blockLength);
  readonly #parents = new Uint32Array(blockLength);
  readonly #ids = new Uint32Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: BucketedFacet, overflow: FacetOverflow) {
    this.#facet = facet;
    this.#pairs = new BucketIds(overflow);
    this.#source =
      facet.field.type === 'string'
        ? new StringIdSource(overflow)
        : new NumberIdSource(facet, overflow);
    this.#nested =
      'nested' in facet ? facet.nested.map((inner) => createFacetNode(inner, overflow)) : [];
  }

  begin(view: SegmentView): void {
    this.#column = view.column(this.#facet.field);
    for (const node of this.#nested) node.begin(view);
  }

  add(from: number, to: number, rows: Uint32Array, groups: Uint32Array, count: number): void {
    const column = this.#column;
    if (!column) return;
    const { present } = column;
    let presentCount = 0;
    for (let i = 0; i < count; i++) {
      this.#rows[presentCount] = rows[i]!;
      this.#parents[presentCount] = groups[i]!;
      presentCount += present ? present[from + rows[i]!]! : 1;
    }
    if (presentCount === 0) return;
    this.#source.ids(column, from, to, this.#rows, presentCount, this.#ids);
    this.#pairs.add(this.#parents, this.#ids, presentCount, this.#groups);
    for (const node of this.#nested) node.add(from, to, this.#rows, this.#groups, presentCount);
  }

  partial(): PartialBuckets {
    const { parents, ids, counts } = this.#pairs;
    const numberById = new Map<number, number>();
    const keyOf = ids.map((id) => {
      const knownNumber = numberById.get(id);
      if (knownNumber !== undefined) return knownNumber;
      numberById.set(id, numberById.size);
      return numberById.size - 1;
    });
    const keys = this.#source.partialKeys([...numberById.keys()]);
    const nested = this.#nested.map((node) => node.partial());
    return { kind: 'buckets', keys, keyOf, parents, counts, nested };
  }
}

class StatsNode implements FacetTreeNode {
  readonly #facet: Facet;
  readonly #overflow: FacetOverflow;
  readonly #stats: Stats;
  #column: MemoryColumn | undefined;
  readonly #values = new Float64Array(blockLength);
  readonly #groups = new Uint32Array(blockLength);

  constructor(facet: Extract<Facet, { kind: 'stats' }>, overflow: FacetOverflow) {
    this.#facet = facet;
    this.#overflow = overflow;
    this.#stats = new Stats(facet.extended);
  }

  begin(view: SegmentView): void {
    this.#column = view.column(this.#facet.field);
  }

  add(from: number, to: number, rows: Uint32Array, groups: Uint32Array, count: number): void {
    const column = this.#column;
    if (!column) return;
    const { present } = column;
    const block = doublesOf(column, from, to, this.#overflow);
    let presentCount = 0;
    for (let i = 0; i < count; i++) {
      this.#values[presentCount] = block[rows[i]!]!;
      this.#groups[presentCount] = groups[i]!;
      presentCount += present ? present[from + rows[i]!]! : 1;
    }
    this.#stats.addGrouped(this.#values, this.#groups, presentCount);
  }

  partial(): FacetPartial {
    return this.#stats.partial();
  }
}

class StringIdSource {
  readonly #ids: StringIds;
  readonly #overflow: FacetOverflow;

  constructor(overflow: FacetOverflow) {
    this.#overflow = overflow;
    this.#ids = new StringIds(overflow);
  }

  ids(
    column: MemoryColumn,
    from: number,
    to: number,
    rows: Uint32Array,
    count: number,
    into: Uint32Array,
  ): void {
    this.#ids.idsOf(column, from, rows, count, into);
  }

  partialKeys(ids: readonly number[]): PartialKeys {
    return facetKeysOfStringsWithin(
      ids.map((id) => this.#ids.text(id)),
      this.#overflow,
    );
  }
}

class NumberIdSource {
  readonly #grouping;
  readonly #overflow: FacetOverflow;
  readonly #values = new Float64Array(blockLength);

  constructor(facet: BucketedFacet, overflow: FacetOverflow) {
    this.#overflow = overflow;
    this.#grouping = numberGrouping(facet, new NumberIds(overflow));
  }

  ids(
    column: MemoryColumn,
    from: number,
    to: number,
    rows: Uint32Array,
    count: number,
    into: Uint32Array,
  ): void {
    const block = doublesOf(column, from, to, this.#overflow);
    for (let i = 0; i < count; i++) this.#values[i] = block[rows[i]!]!;
    this.#grouping.assign(this.#values, 0, count, into);
  }

  partialKeys(ids: readonly number[]): PartialKeys {
    return {
      kind: 'numbers',
      numbers: Float64Array.from(ids, (id) => this.#grouping.key(id)),
    };
  }
}
