/** Merges ascending lists. Returns the distinct numbers in ascending order, and for each list the indices of its numbers in the result. */
export function mergeSorted(lists: readonly Float64Array[]): {
  readonly all: Float64Array;
  readonly positions: readonly Uint32Array[];
} {
  const all = new Float64Array(lists.reduce((sum, { length }) => sum + length, 0));
  const positions = lists.map(({ length }) => new Uint32Array(length));
  const nextIndices = lists.map(() => 0);
  let size = 0;
  for (;;) {
    let least = Infinity;
    for (let i = 0; i < lists.length; i++) {
      const number = nextIndices[i]! < lists[i]!.length ? lists[i]![nextIndices[i]!]! : Infinity;
      if (number < least) least = number;
    }
    if (least === Infinity) return { all: all.subarray(0, size), positions };
    for (let i = 0; i < lists.length; i++) {
      if (lists[i]![nextIndices[i]!] !== least) continue;
      positions[i]![nextIndices[i]!] = size;
      nextIndices[i]! += 1;
    }
    all[size++] = least;
  }
}

/** Returns true if each number is greater than the one before it. */
export function isAscending(numbers: Float64Array): boolean {
  for (let i = 1; i < numbers.length; i++) if (numbers[i - 1]! >= numbers[i]!) return false;
  return true;
}

/** Returns the index of a number that is known to be in the list. */
export function sortedIndexOf(sorted: Float64Array, key: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
