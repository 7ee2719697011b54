import { codes } from '../../engine/ingest/validation-codes.js';
import { isInfinite, isNotANumber } from '../text/parse-numbers.js';

/** The kind of a cell that is not a finite number. */
export const enum NonNumberKind {
  /** A text that stands for a missing value. */
  Null,
  NaN,
  Infinite,
  Text,
}

/** The texts that stand for a missing value in columns of numbers, in either case of ASCII letters. An empty cell is always missing. */
export class NullTexts {
  readonly #texts: readonly Uint8Array[];
  readonly #maxBytes: number;

  constructor(texts: readonly string[]) {
    this.#texts = texts.map((text) => new TextEncoder().encode(text).map(lowerCaseByte));
    this.#maxBytes = Math.max(0, ...this.#texts.map((text) => text.length));
  }

  /** Returns the kind of the cell `bytes[from..to)`, which must be neither empty nor a finite number. */
  nonNumberKindOf(bytes: Uint8Array, from: number, to: number): NonNumberKind {
    let start = from;
    let end = to;
    while (start < end && bytes[start] === 32) start++;
    while (end > start && bytes[end - 1] === 32) end--;
    if (start === end) return NonNumberKind.Text;
    // NaN is a number that cannot be stored, so it is reported even if it is one of the texts for null.
    if (isNotANumber(bytes, start, end)) return NonNumberKind.NaN;
    if (this.#isNullText(bytes, start, end)) return NonNumberKind.Null;
    return isInfinite(bytes, start, end) ? NonNumberKind.Infinite : NonNumberKind.Text;
  }

  #isNullText(bytes: Uint8Array, from: number, to: number): boolean {
    const size = to - from;
    if (size > this.#maxBytes) return false;
    for (const text of this.#texts) {
      if (text.length !== size) continue;
      let i = 0;
      while (i < size && text[i] === lowerCaseByte(bytes[from + i]!)) i++;
      if (i === size) return true;
    }
    return false;
  }
}

function lowerCaseByte(byte: number): number {
  return byte >= 65 && byte <= 90 ? byte + 32 : byte;
}

/** Returns the validation code of a number that cannot be stored. */
export function validationCodeOfNonFinite(
  kind: NonNumberKind.NaN | NonNumberKind.Infinite,
): number {
  return kind === NonNumberKind.NaN ? codes.nan : codes.infinity;
}

/** Returns how messages describe a number that cannot be stored. */
export function nonFiniteText(kind: NonNumberKind.NaN | NonNumberKind.Infinite): string {
  return kind === NonNumberKind.NaN ? 'is NaN' : 'is infinite or too large for a double';
}

/** Returns the warning that null is stored instead of a number that is NaN or infinite. */
export function nullStoredWarning(kind: NonNumberKind.NaN | NonNumberKind.Infinite): string {
  return `a value ${nonFiniteText(kind)}: null is stored`;
}
