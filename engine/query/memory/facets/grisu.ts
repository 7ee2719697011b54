/*
 * Grisu (Loitsch 2010) as the fmt library of the SQL engine has it, with 64-bit arithmetic: only to know for the few floats that
 * are next to undecidable whether it finds the shortest digits or gives up, which depends on its roundings.
 */

/** True if Grisu is sure of the shortest digits of this 32-bit float, which is above zero. */
export function isSureOf(float: number): boolean {
  const { f, e } = fraction(float);
  // Of a normal float the last of 24 bits lies 29 above that of a double.
  const half = 1n << 28n;
  const shift = 11n;
  const { significand, exponent } = powerFor(-60 - (e - 11 + 64));
  const scaled = multiply(f << shift, significand);
  const upper = multiply((f + half) << shift, significand) + 1n;
  const lower = multiply((f - (f === 1n << 52n ? half >> 1n : half)) << shift, significand) - 1n;
  const places = BigInt(-(e - 11 + exponent + 64));
  return isDecided(upper, upper - scaled, upper - lower, places);
}

/** The 53 bits of a double and their exponent. */
function fraction(value: number): { readonly f: bigint; readonly e: number } {
  bits.setFloat64(0, value);
  const all = bits.getBigUint64(0);
  return { f: (all & ((1n << 52n) - 1n)) | (1n << 52n), e: Number((all >> 52n) & 0x7ffn) - 1075 };
}

const bits = new DataView(new ArrayBuffer(8));

/** The power of ten, of every eighth, that brings numbers of an exponent into reach: 64 bits of it, rounded. */
function powerFor(least: number): {
  readonly significand: bigint;
  readonly exponent: number;
} {
  const decimal = Number((BigInt(least + 63) * 0x4d104d42n + ((1n << 32n) - 1n)) >> 32n);
  const power = -348 + (Math.trunc((decimal + 348 - 1) / 8) + 1) * 8;
  // Enough bits to divide by the power of ten, and then the first 64.
  const wide = power >= 0 ? (10n ** BigInt(power)) << 64n : (1n << 2400n) / 10n ** BigInt(-power);
  const length = wide.toString(2).length;
  const rounded = ((wide >> BigInt(length - 65)) + 1n) >> 1n;
  const exponent = length - 64 - (power >= 0 ? 64 : 2400);
  return { significand: rounded, exponent };
}

/** The upper half of a product, rounded. */
function multiply(a: bigint, b: bigint): bigint {
  const product = a * b;
  return (product >> 64n) + ((product >> 63n) & 1n);
}

/** Makes digits from the upper end until they lie within the error, and tells if the last one is beyond doubt. */
function isDecided(upper: bigint, distance: bigint, width: bigint, places: bigint): boolean {
  const one = 1n << places;
  let whole = upper >> places;
  let part = upper & (one - 1n);
  let error = width;
  let unit = 1n;
  for (let exponent = whole.toString().length - 1; exponent >= 0; exponent--) {
    const divisor = 10n ** BigInt(exponent);
    whole %= divisor;
    const rest = (whole << places) + part;
    if (rest < error) return isWeeded(rest, divisor << places, distance, error, unit);
  }
  for (;;) {
    part *= 10n;
    error *= 10n;
    unit *= 10n;
    part &= one - 1n;
    if (part < error) return isWeeded(part, one, distance, error, unit);
  }
}

function isWeeded(
  remainder: bigint,
  divisor: bigint,
  distance: bigint,
  error: bigint,
  unit: bigint,
): boolean {
  let rest = remainder;
  const up = (distance - 1n) * unit;
  while (
    rest < up &&
    error - rest >= divisor &&
    (rest + divisor < up || up - rest >= rest + divisor - up)
  )
    rest += divisor;
  const down = (distance + 1n) * unit;
  const isDoubtful =
    rest < down &&
    error - rest >= divisor &&
    (rest + divisor < down || down - rest > rest + divisor - down);
  return !isDoubtful && 2n * unit <= rest && rest <= error - 4n * unit;
}
