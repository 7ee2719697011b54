import { hashFnv1a, Uint32List } from './bytes.js';
import { caseFoldCode } from './fold.js';
import { isSeparator } from './text-tokenizer.js';

/** For each ASCII code, its folded code; 0 for separators. */
const foldedAsciiCodes = Uint8Array.from({ length: 128 }, (_, code) =>
  isSeparator(code) ? 0 : caseFoldCode(code),
);

/**
 * Tokenizes texts in UTF-8, folds the tokens to terms, and numbers the terms in order of first occurrence. `tokenTerms` has the term
 * numbers of all tokens of all texts, in the order in which they were added.
 */
export class TermDictionary {
  /** The number of terms. */
  count = 0;
  readonly tokenTerms = new Uint32List(1 << 14);
  #arena = new Uint8Array(1 << 16);
  #end = 0;
  readonly #starts = new Uint32List();
  readonly #hashes = new Uint32List();
  #slots = new Uint32Array(1 << 11);

  /** Adds a text, `bytes[from..to)`; returns its number of tokens. */
  tokenizeText(bytes: Uint8Array, from: number, to: number): number {
    this.#reserve(2 * (to - from) + 8);
    const before = this.tokenTerms.length;
    const arena = this.#arena;
    let start = this.#end;
    let end = start;
    let at = from;
    while (at < to) {
      const byte = bytes[at]!;
      if (byte < 0x80) {
        at += 1;
        const foldedByte = foldedAsciiCodes[byte]!;
        if (foldedByte !== 0) arena[end++] = foldedByte;
        else if (end > start) end = start = this.#addToken(start, end);
        continue;
      }
      const code = codePointAt(bytes, at);
      at += code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (!isSeparator(code)) end = encodeUtf8(arena, end, caseFoldCode(code));
      else if (end > start) end = start = this.#addToken(start, end);
    }
    if (end > start) this.#addToken(start, end);
    return this.tokenTerms.length - before;
  }

  /** Returns the bytes of a term; valid until the next text is added. */
  termBytes(number: number): Uint8Array {
    const from = this.#starts.elements[number]!;
    const to = number + 1 < this.count ? this.#starts.elements[number + 1]! : this.#end;
    return this.#arena.subarray(from, to);
  }

  /** Adds the token that begins at `start` of the arena, behind the stored terms; returns the start of the next token. */
  #addToken(start: number, end: number): number {
    const arena = this.#arena;
    const hash = hashFnv1a(arena, start, end);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = this.#slots[slot]! - 1;
      if (number < 0) break;
      if (this.#hashes.elements[number] === hash >>> 0 && this.#isTerm(number, start, end)) {
        this.tokenTerms.push(number);
        return start;
      }
      slot = (slot + 1) & mask;
    }
    this.#starts.push(start);
    this.#hashes.push(hash >>> 0);
    this.#end = end;
    this.tokenTerms.push(this.count);
    this.count += 1;
    this.#slots[slot] = this.count;
    if (this.count * 2 > mask) this.#grow();
    return end;
  }

  #isTerm(number: number, start: number, end: number): boolean {
    const from = this.#starts.elements[number]!;
    const to = number + 1 < this.count ? this.#starts.elements[number + 1]! : this.#end;
    if (to - from !== end - start) return false;
    const arena = this.#arena;
    for (let p = from, q = start; p < to; p++, q++) if (arena[p] !== arena[q]) return false;
    return true;
  }

  #reserve(size: number): void {
    if (this.#end + size <= this.#arena.length) return;
    const widerArena = new Uint8Array(Math.max(this.#arena.length * 2, this.#end + size));
    widerArena.set(this.#arena.subarray(0, this.#end));
    this.#arena = widerArena;
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 4);
    const mask = slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = this.#hashes.elements[number]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

/** Returns the code point that begins at a byte above 127 of valid UTF-8. */
function codePointAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  const second = bytes[at + 1]! & 0x3f;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const thirdBits = bytes[at + 2]! & 0x3f;
  if (first < 0xf0) return ((first & 0x0f) << 12) | (second << 6) | thirdBits;
  return ((first & 0x07) << 18) | (second << 12) | (thirdBits << 6) | (bytes[at + 3]! & 0x3f);
}

/** Appends a code point in UTF-8; returns the new end. */
function encodeUtf8(into: Uint8Array, end: number, code: number): number {
  if (code < 0x80) {
    into[end] = code;
    return end + 1;
  }
  if (code < 0x800) {
    into[end] = 0xc0 | (code >> 6);
    into[end + 1] = 0x80 | (code & 0x3f);
    return end + 2;
  }
  if (code < 0x10000) {
    into[end] = 0xe0 | (code >> 12);
    into[end + 1] = 0x80 | ((code >> 6) & 0x3f);
    into[end + 2] = 0x80 | (code & 0x3f);
    return end + 3;
  }
  into[end] = 0xf0 | (code >> 18);
  into[end + 1] = 0x80 | ((code >> 12) & 0x3f);
  into[end + 2] = 0x80 | ((code >> 6) & 0x3f);
  into[end + 3] = 0x80 | (code & 0x3f);
  return end + 4;
}
