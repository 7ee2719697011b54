/*
 * Set operations on ascending lists of numbers without duplicates, and the ascending order of any list of whole numbers. No function
 * changes its arguments.
 */

/** The numbers that both lists have. */
export function intersectSorted(a: Int32Array, b: Int32Array): Int32Array {
  const result = new Int32Array(Math.min(a.length, b.length));
  let count = 0;
  for (let i = 0, k = 0; i < a.length && k < b.length;) {
    const [x, y] = [a[i]!, b[k]!];
    if (x === y) result[count++] = x;
    if (x <= y) i++;
    if (y <= x) k++;
  }
  return result.subarray(0, count);
}

/** Returns the numbers of `a` that `b` does not contain. */
export function subtractSorted(a: Int32Array, b: Int32Array): Int32Array {
  const result = new Int32Array(a.length);
  let count = 0;
  let k = 0;
  let excluded = b[0] ?? Infinity;
  for (let i = 0; i < a.length; i++) {
    const number = a[i]!;
    while (excluded < number) excluded = b[++k] ?? Infinity;
    if (excluded !== number) result[count++] = number;
  }
  return result.slice(0, count);
}

/** The union of two ascending lists of numbers. */
export function unionSorted(a: Int32Array, b: Int32Array): Int32Array {
  const result = new Int32Array(a.length + b.length);
  let count = 0;
  let k = 0;
  for (let i = 0; i < a.length; i++) {
    while (k < b.length && b[k]! < a[i]!) result[count++] = b[k++]!;
    if (k < b.length && b[k] === a[i]) k++;
    result[count++] = a[i]!;
  }
  while (k < b.length) result[count++] = b[k++]!;
  return result.subarray(0, count);
}

/**
 * Returns the indices of whole numbers in ascending order of the numbers; equal numbers keep their order. Returns undefined if the numbers
 * are already ascending.
 */
export function ascendingOrder(numbers: ArrayLike<number>): Int32Array | undefined {
  const count = numbers.length;
  let [least, most] = [Infinity, -Infinity];
  let isSorted = true;
  for (let i = 0; i < count; i++) {
    const numberAt = numbers[i]!;
    if (numberAt < most) isSorted = false;
    if (numberAt < least) least = numberAt;
    if (numberAt > most) most = numberAt;
  }
  if (isSorted) return undefined;
  if (most - least < 2 ** 32) return radixOrder(numbers, least, most);
  const order = new Int32Array(count);
  // Number and index are combined into one number to sort: sorting with a comparison function takes twenty times as long.
  if ((most - least + 1) * count <= Number.MAX_SAFE_INTEGER) {
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i++) keys[i] = (numbers[i]! - least) * count + i;
    keys.sort();
    for (let i = 0; i < count; i++) order[i] = keys[i]! % count;
    return order;
  }
  for (let i = 0; i < count; i++) order[i] = i;
  return order.sort((a, b) => numbers[a]! - numbers[b]! || a - b);
}

const radixBits = 11;
const radixBuckets = 1 << radixBits;

/**
 * Returns the order of numbers from `least` to `most`, which differ by less than 2^32, by a radix sort that begins with the lowest digit.
 * 100,000 numbers take 2 ms; sorting each number combined with its index takes 10 ms.
 */
function radixOrder(numbers: ArrayLike<number>, least: number, most: number): Int32Array {
  const count = numbers.length;
  let [keys, order] = [new Uint32Array(count), new Int32Array(count)];
  for (let i = 0; i < count; i++) {
    keys[i] = numbers[i]! - least;
    order[i] = i;
  }
  let [nextKeys, nextOrder] = [new Uint32Array(count), new Int32Array(count)];
  const places = new Int32Array(radixBuckets);
  for (let shift = 0; shift < 32 && most - least >= 2 ** shift; shift += radixBits) {
    places.fill(0);
    for (let i = 0; i < count; i++) places[(keys[i]! >>> shift) % radixBuckets]!++;
    let end = 0;
    for (let digit = 0; digit < radixBuckets; digit++) {
      const begin = end;
      end += places[digit]!;
      places[digit] = begin;
    }
    for (let i = 0; i < count; i++) {
      const place = places[(keys[i]! >>> shift) % radixBuckets]!++;
      nextKeys[place] = keys[i]!;
      nextOrder[place] = order[i]!;
    }
    [keys, nextKeys] = [nextKeys, keys];
    [order, nextOrder] = [nextOrder, order];
  }
  return order;
}
