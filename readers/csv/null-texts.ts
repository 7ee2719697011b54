import { codes } from '../../engine/ingest/validation-codes.js';
import { isInfinite, isNotANumber } from '../text/numbers.js';

/** The kind of a cell that is no finite number. */
export const enum Odd {
  /** A text that stands for no value. */
  Null,
  NaN,
  Infinite,
  Text,
}

/** The texts that stand for no value in columns of numbers, in any letter case; the empty cell does so anyway. */
export class NullTexts {
  readonly #texts: readonly Uint8Array[];
  readonly #maxBytes: number;

  constructor(texts: readonly string[]) {
    this.#texts = texts.map((text) => new TextEncoder().encode(text.toLowerCase()));
    this.#maxBytes = Math.max(0, ...this.#texts.map((text) => text.length));
  }

  /** The kind of the cell `bytes[from..to)`, which is not empty and no finite number. */
  kindOf(bytes: Uint8Array, from: number, to: number): Odd {
    let start = from;
    let end = to;
    while (start < end && bytes[start] === 32) start++;
    while (end > start && bytes[end - 1] === 32) end--;
    if (start === end) return Odd.Text;
    // NaN is a number that cannot be stored, so it is reported even though it is null.
    if (isNotANumber(bytes, start, end)) return Odd.NaN;
    if (this.#has(bytes, start, end)) return Odd.Null;
    return isInfinite(bytes, start, end) ? Odd.Infinite : Odd.Text;
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
export function codeOf(odd: Odd.NaN | Odd.Infinite): number {
  return odd === Odd.NaN ? codes.nan : codes.infinity;
}

/** The name of such a number in messages. */
export function nameOf(odd: Odd.NaN | Odd.Infinite): string {
  return odd === Odd.NaN ? 'is NaN' : 'is infinite or too large for a double';
}

/** The warning that null is stored in its place. */
export function nullIsStored(odd: Odd.NaN | Odd.Infinite): string {
  return `a value ${nameOf(odd)}: null is stored`;
}
