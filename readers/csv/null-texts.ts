import { codes } from '../../engine/ingest/validation-codes.js';
import { isInfinite, isNotANumber } from '../text/numbers.js';

/** The kind of a cell that is not a finite number. */
export const enum NonNumber {
  /** A text that stands for a missing value. */
  Null,
  NaN,
  Infinite,
  Text,
}

/** The texts that stand for a missing value in columns of numbers, in any letter case. An empty cell always is missing. */
export class NullTexts {
  readonly #texts: readonly Uint8Array[];
  readonly #maxBytes: number;

  constructor(texts: readonly string[]) {
    this.#texts = texts.map((text) => new TextEncoder().encode(text.toLowerCase()));
    this.#maxBytes = Math.max(0, ...this.#texts.map((text) => text.length));
  }

  /** The kind of the cell `bytes[from..to)`, which is neither empty nor a finite number. */
  kindOf(bytes: Uint8Array, from: number, to: number): NonNumber {
    let start = from;
    let end = to;
    while (start < end && bytes[start] === 32) start++;
    while (end > start && bytes[end - 1] === 32) end--;
    if (start === end) return NonNumber.Text;
    // NaN is a number that cannot be stored, so it is reported even though it is null.
    if (isNotANumber(bytes, start, end)) return NonNumber.NaN;
    if (this.#has(bytes, start, end)) return NonNumber.Null;
    return isInfinite(bytes, start, end) ? NonNumber.Infinite : NonNumber.Text;
  }

  #has(bytes: Uint8Array, from: number, to: number): boolean {
    const size = to - from;
    if (size > this.#maxBytes) return false;
    for (const text of this.#texts) {
      if (text.length !== size) continue;
      let i = 0;
      while (i < size && text[i] === lowerCase(bytes[from + i]!)) i++;
      if (i === size) return true;
    }
    return false;
  }
}

function lowerCase(byte: number): number {
  return byte >= 65 && byte <= 90 ? byte + 32 : byte;
}

/** The validation code of a number that cannot be stored. */
export function nonFiniteCode(kind: NonNumber.NaN | NonNumber.Infinite): number {
  return kind === NonNumber.NaN ? codes.nan : codes.infinity;
}

/** How messages describe a number that cannot be stored. */
export function nonFiniteText(kind: NonNumber.NaN | NonNumber.Infinite): string {
  return kind === NonNumber.NaN ? 'is NaN' : 'is infinite or too large for a double';
}

/** The warning that null is stored instead of such a number. */
export function nullWarning(kind: NonNumber.NaN | NonNumber.Infinite): string {
  return `a value ${nonFiniteText(kind)}: null is stored`;
}
