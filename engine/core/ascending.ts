/*
 * Sets of numbers as ascending lists without duplicates. No function writes into its arguments.
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
