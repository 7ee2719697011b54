/**
 * Returns the double whose text represents a 32-bit float.
 *
 * Choice: a 32-bit float is written with the fewest digits that read back as the same float, in the layout of ECMAScript: `0.1`, not
 * `0.10000000149011612`. Of several such decimals, the nearest is taken.
 */
export function shortDouble(float: number): number {
  const magnitude = Math.abs(float);
  if (magnitude >= 1e-5 && magnitude <= 1e7) {
    for (let decimals = 0; decimals < powersOfTen.length; decimals++) {
      const scale = powersOfTen[decimals]!;
      // A float has 24 bits, so this product is exact.
      const product = magnitude * scale;
      const digits = roundHalfToEven(product);
      if (Math.fround(digits / scale) === magnitude) return (float < 0 ? -digits : digits) / scale;
      // Floats below a power of two are closer together than above it, so the next greater decimal may read back as the float when the
      // nearest decimal, below it, does not.
      if (digits < product && Math.fround((digits + 1) / scale) === magnitude)
        return (float < 0 ? -(digits + 1) : digits + 1) / scale;
    }
  }
  if (magnitude === 0 || !Number.isFinite(magnitude)) return float;
  return float < 0 ? -searchShortestDecimal(magnitude) : searchShortestDecimal(magnitude);
}

/** Decimal scales up to 10^12, whose product with a float has at most 53 bits. */
const powersOfTen = Float64Array.from({ length: 13 }, (_, decimals) => 10 ** decimals);

/** Rounds to the nearest integer; if two are equally near, to the even one (ECMA-262, Number::toString, note 2). */
function roundHalfToEven(value: number): number {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
}

/** Finds the shortest decimal of a float; nine digits are enough for every float (IEEE 754, 5.12.2). */
function searchShortestDecimal(magnitude: number): number {
  // Every float is a multiple of 2^-149, so distances can be compared exactly.
  const exact = BigInt(magnitude * 2 ** 149);
  for (let decimals = 0; decimals < 8; decimals++) {
    const text = magnitude.toExponential(decimals);
    const e = text.indexOf('e');
    const power = Number(text.slice(e + 1)) - decimals;
    const nearest = BigInt(text.slice(0, e).replace('.', ''));
    const candidates = [nearest - 1n, nearest, nearest + 1n]
      .map((digits) => ({ digits, short: Number(`${digits}e${power}`) }))
      .filter(({ short }) => Math.fround(short) === magnitude)
      .map((each) => ({ ...each, distance: distanceOf(each.digits, power, exact) }))
      .sort((a, b) => Number(a.distance - b.distance) || Number((a.digits % 2n) - (b.digits % 2n)));
    if (candidates.length > 0) return candidates[0]!.short;
  }
  return Number(magnitude.toExponential(8));
}

function distanceOf(digits: bigint, power: number, exact: bigint): bigint {
  const scaled = (digits * 10n ** BigInt(Math.max(0, power))) << 149n;
  const difference = scaled - exact * 10n ** BigInt(Math.max(0, -power));
  return difference < 0n ? -difference : difference;
}
