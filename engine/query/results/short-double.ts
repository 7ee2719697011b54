/**
 * Returns the double whose text represents a 32-bit float.
 *
 * Choice: a 32-bit float is written with the fewest digits that read back as the same float, in the layout of ECMAScript: `0.1`, not
 * `0.10000000149011612`. Of several such decimals, the nearest is taken.
 */
export function shortDouble(float: number): number {
  const size = Math.abs(float);
  if (size >= 1e-5 && size <= 1e7) {
    for (let decimals = 0; decimals < powersOfTen.length; decimals++) {
      const scale = powersOfTen[decimals]!;
      // A float has 24 bits, so this product is exact.
      const product = size * scale;
      const digits = roundHalfToEven(product);
      if (Math.fround(digits / scale) === size) return (float < 0 ? -digits : digits) / scale;
      // Floats below a power of two are closer together than above it, so the next greater decimal may read back as the float when the
      // nearest decimal, below it, does not.
      if (digits < product && Math.fround((digits + 1) / scale) === size)
        return (float < 0 ? -(digits + 1) : digits + 1) / scale;
    }
  }
  if (size === 0 || !Number.isFinite(size)) return float;
  return float < 0 ? -searchShortestDecimal(size) : searchShortestDecimal(size);
}

/** Decimal scales up to 10^12, whose product with a float has at most 53 bits. */
const powersOfTen = Float64Array.from({ length: 13 }, (_, decimals) => 10 ** decimals);

/** Rounds to the nearest integer; if two are equally near, to the even one (ECMA-262, Number::toString, step 5). */
function roundHalfToEven(value: number): number {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
}

/** Finds the shortest decimal of a float; nine digits are enough for every float (IEEE 754, 5.12.2). */
function searchShortestDecimal(size: number): number {
  // Every float is a multiple of 2^-149, so distances can be compared exactly.
  const exact = BigInt(size * 2 ** 149);
  for (let decimals = 0; decimals < 8; decimals++) {
    const text = size.toExponential(decimals);
    const e = text.indexOf('e');
    const power = Number(text.slice(e + 1)) - decimals;
    const nearest = BigInt(text.slice(0, e).replace('.', ''));
    const found = [nearest - 1n, nearest, nearest + 1n]
      .map((digits) => ({ digits, short: Number(`${digits}e${power}`) }))
      .filter(({ short }) => Math.fround(short) === size)
      .map((each) => ({ ...each, distance: distanceOf(each.digits, power, exact) }))
      .sort((a, b) => Number(a.distance - b.distance) || Number((a.digits % 2n) - (b.digits % 2n)));
    if (found.length > 0) return found[0]!.short;
  }
  return Number(size.toExponential(8));
}

function distanceOf(digits: bigint, power: number, exact: bigint): bigint {
  const scaled = (digits * 10n ** BigInt(Math.max(0, power))) << 149n;
  const difference = scaled - exact * 10n ** BigInt(Math.max(0, -power));
  return difference < 0n ? -difference : difference;
}
