import { doubleText } from './double-text.js';
import { isSureOf } from './grisu.js';

/**
 * The shortest digits that are this 32-bit float again. Where the SQL engine's algorithm cannot tell which those are, as two
 * decimals are as near or one lies halfway to the next float, it takes the number for a double, and so do we.
 */
export function floatText(value: number): string {
  if (!Number.isFinite(value) || value === 0) return doubleText(value);
  return value < 0 ? `-${sizeText(-value)}` : sizeText(value);
}

const powers = Array.from({ length: 16 }, (_, power) => 10 ** power);

function sizeText(size: number): string {
  if (size < 1e-5 || size > 1e7) return carefully(size);
  // Every decimal of six digits comes back from a float. Powers up to 10^22 are exact, so a quotient is the decimal's double.
  const last = -Math.floor(Math.log10(size));
  for (let places = Math.max(0, 5 + last); places < 8 + last; places++) {
    const scale = powers[places]!;
    const short = Math.round(size * scale) / scale;
    if (Math.fround(short) === size)
      return mayBeUndecided(size, scale) ? carefully(size) : doubleText(short);
  }
  return carefully(size);
}

function carefully(size: number): string {
  // Among the smallest, decimals of six digits do not all come back; with nine every float does.
  for (let digits = size < 1.2e-38 ? 1 : 6; digits < 10; digits++) {
    const text = size.toExponential(digits - 1);
    const exponent = Number(text.slice(text.indexOf('e') + 1));
    const short = Number(text);
    if (Math.fround(short) === size) {
      const isSure = !mayBeUndecided(size, 10 ** (digits - 1 - exponent)) || isSureOf(size);
      return doubleText(isSure ? short : size);
    }
    // Below a power of two floats lie closer, so that a decimal above it may be near enough where a nearer one below is not.
    const above = Number(`${Number(text.slice(0, text.indexOf('e')).replace('.', '')) + 1}e${exponent - digits + 1}`); // prettier-ignore
    if (short < size && Math.fround(above) === size) return doubleText(above);
  }
  return doubleText(size);
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** True if a float, or the middle between it and one next to it, has hardly more digits than `scale` makes whole; rarely so. */
function mayBeUndecided(size: number, scale: number): boolean {
  float[0] = size;
  bits[0]! += 1;
  const half = (float[0] - size) / 2;
  return (
    isNearWhole(size * scale - 0.5) ||
    isNearWhole((size + half) * scale) ||
    isNearWhole((size - half) * scale)
  );
}

function isNearWhole(number: number): boolean {
  return Math.abs(number - Math.round(number)) < 1e-6;
}
