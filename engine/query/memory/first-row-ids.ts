/** A row, with its row id as its only sort key. */
interface RowWithId {
  readonly values: readonly [id: number];
  readonly segment: number;
  readonly row: number;
}

/**
 * The `count` rows with the smallest row ids among those that are added, in a binary heap whose root is the row with the greatest id. Row
 * ids, segments and row numbers are kept in arrays of numbers, not in objects, for speed: a page of a version amid many upserts may add a
 * thousand rows.
 */
export class FirstRowIds {
  readonly #count: number;
  readonly #ids: number[] = [];
  readonly #segments: number[] = [];
  readonly #rows: number[] = [];

  /** `count` is how many rows are kept, at least 1. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Returns whether a row with this id would be kept. */
  isKept(id: number): boolean {
    return this.#ids.length < this.#count || id < this.#ids[0]!;
  }

  /** Adds a row for whose id `isKept` is true. */
  add(id: number, segment: number, row: number): void {
    if (this.#ids.length < this.#count) this.#siftUp(id, segment, row);
    else this.#siftDown(id, segment, row);
  }

  /** Returns the rows in ascending order of their ids. */
  inOrder(): readonly RowWithId[] {
    const order = [...this.#ids.keys()].sort((a, b) => this.#ids[a]! - this.#ids[b]!);
    return order.map((i) => ({
      values: [this.#ids[i]!],
      segment: this.#segments[i]!,
      row: this.#rows[i]!,
    }));
  }

  /** Adds a row at the end of the heap, and moves it towards the root. */
  #siftUp(id: number, segment: number, row: number): void {
    let at = this.#ids.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#ids[parent]! >= id) break;
      this.#copy(parent, at);
      at = parent;
    }
    this.#set(at, id, segment, row);
  }

  /** Replaces the root by a row, and moves it away from the root. */
  #siftDown(id: number, segment: number, row: number): void {
    const ids = this.#ids;
    const size = ids.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && ids[child + 1]! > ids[child]!) child++;
      if (ids[child]! <= id) break;
      this.#copy(child, at);
      at = child;
    }
    this.#set(at, id, segment, row);
  }

  #copy(from: number, to: number): void {
    this.#set(to, this.#ids[from]!, this.#segments[from]!, this.#rows[from]!);
  }

  #set(at: number, id: number, segment: number, row: number): void {
    this.#ids[at] = id;
    this.#segments[at] = segment;
    this.#rows[at] = row;
  }
}
