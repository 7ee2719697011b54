/*
 * Sets of numbers as ascending lists without duplicates, and the order of other lists. No function writes into its arguments.
 */

/** The numbers that both lists have. */
export function common(a: Int32Array, b: Int32Array): Int32Array {
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

/** The numbers of `a` that `b` lacks. */
export function without(a: Int32Array, b: Int32Array): Int32Array {
  let k = 0;
  return a.filter((row) => {
    while (k < b.length && b[k]! < row) k++;
    return b[k] !== row;
  });
}

/** The numbers that one or both lists have. */
export function merged(a: Int32Array, b: Int32Array): Int32Array {
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

/** The indices of whole numbers, none of them negative, in the order of these; equal ones stay in their order. */
export function ascendingOrder(numbers: Float64Array): Int32Array {
  const order = Int32Array.from(numbers.keys());
  let isSorted = true;
  for (let i = 1; i < numbers.length && isSorted; i++) isSorted = numbers[i - 1]! <= numbers[i]!;
  if (isSorted) return order;
  const least = numbers.reduce((a, b) => Math.min(a, b));
  const most = numbers.reduce((a, b) => Math.max(a, b));
  const count = numbers.length;
  // Twenty times as fast as a sort that calls a function: number and index together as one number.
  if ((most - least + 1) * count <= Number.MAX_SAFE_INTEGER)
    return Int32Array.from(numbers.map((one, i) => (one - least) * count + i).sort(), (one) => one % count); // prettier-ignore
  return order.sort((a, b) => numbers[a]! - numbers[b]! || a - b);
}
