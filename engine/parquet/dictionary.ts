import { acquire, grown, release } from '../core/buffers.js';
import { bitWidth } from './hybrid.js';
import { hashBytes, isConstant, isSame, finalMix } from './hash.js';
import type { Near } from './number-encoder.js';
import type { Pairs, Texts, Words } from './values.js';

/** Distinct values in the order in which they come first, and for each value which of them it is. */
export interface Dictionary {
  readonly entries: number;
  /** Where among the values each entry comes first. */
  readonly firsts: Int32Array;
  readonly indices: Int32Array;
}

const mostEntries = 1 << 16;
/** After so many values a dictionary has to look as if it could pay, and after so many as it does now. */
const firstLook = 4096;
const nextLook = 16_384;
/** What the other encodings, compressed, take of the plain size: dictionaries have to be smaller than that. */
const otherwise = { words: 0.8, pairs: 0.9, texts: 0.5 };

/**
 * Builds the dictionary of a column's values; undefined as soon as it turns out not to pay. `near` are whole numbers that lie
 * close to each other, once more.
 */
export function buildDictionary(
  values: Words | Pairs | Texts,
  near: Near | undefined,
): Dictionary | undefined {
  const builder = new DictionaryBuilder(values);
  if (near !== undefined && near.span < mostEntries) builder.addNear(near);
  else if (values.kind === 'words') builder.addWords(values);
  else if (values.kind === 'pairs') builder.addPairs(values);
  else if (isConstant(values)) builder.addConstant();
  else builder.addTexts(values);
  return builder.finish();
}

/** Gives back the memory of a dictionary. */
export function releaseDictionary(dictionary: Dictionary): void {
  release(dictionary.firsts);
  release(dictionary.indices);
}

/** Per byte, the entry of the text of this byte alone (most alleles), and 1: these need no hashing. */
const letters = new Int32Array(256);

/**
 * A hash table with open addressing: a place holds the number of an entry and 1, or 0. Nothing is made per value; each type
 * has a loop of its own.
 */
class DictionaryBuilder {
  #entries = 0;
  #firsts = acquire(Int32Array, 1024);
  #hashes = acquire(Int32Array, 1024);
  /** Of texts: the entry that came behind each entry, the last time. */
  #followers = cleared(1024);
  #places = cleared(1024);
  #mask = 1023;
  #hasGivenUp = false;
  readonly #indices: Int32Array;
  readonly #values: Words | Pairs | Texts;
  readonly #bytes: number;

  constructor(values: Words | Pairs | Texts) {
    this.#values = values;
    this.#indices = acquire(Int32Array, values.count);
    this.#bytes = plainBytes(values) / Math.max(1, values.count);
  }

  /** One value in all places, as `_commit`. */
  addConstant(): void {
    this.#enter(0, 0);
    this.#indices.fill(0, 0, this.#values.count);
  }

  /** Numbers close to each other need no hashing. */
  addNear({ distances, span }: Near): void {
    const { count } = this.#values;
    const places = cleared(span + 1);
    const indices = this.#indices;
    let look = firstLook;
    for (let i = 0; i < count; i++) {
      const distance = distances[i]!;
      let entry = places[distance]! - 1;
      if (entry < 0) {
        entry = this.#enter(i, 0);
        places[distance] = entry + 1;
      }
      indices[i] = entry;
      if (i === look) {
        look += nextLook;
        if (!this.#looksGood(i)) break;
      }
    }
    release(places);
  }

  addWords({ count, words }: Words): void {
    const indices = this.#indices;
    let look = firstLook;
    for (let i = 0; i < count; i++) {
      const word = words[i]!;
      const hash = finalMix(word);
      const mask = this.#mask;
      let place = hash & mask;
      let entry = this.#places[place]! - 1;
      while (entry >= 0 && words[this.#firsts[entry]!] !== word) {
        place = (place + 1) & mask;
        entry = this.#places[place]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#places[place] = entry + 1;
        if (this.#entries * 2 > mask) this.#widen();
      }
      indices[i] = entry;
      if (i === look) {
        look += nextLook;
        if (!this.#looksGood(i)) return;
      }
    }
  }

  addPairs({ count, pairs }: Pairs): void {
    const indices = this.#indices;
    let look = firstLook;
    for (let i = 0; i < count; i++) {
      const low = pairs[2 * i]!;
      const high = pairs[2 * i + 1]!;
      const hash = finalMix(low ^ Math.imul(high, 0x9e3779b1));
      const mask = this.#mask;
      let place = hash & mask;
      let entry = this.#places[place]! - 1;
      while (entry >= 0) {
        const first = 2 * this.#firsts[entry]!;
        if (pairs[first] === low && pairs[first + 1] === high) break;
        place = (place + 1) & mask;
        entry = this.#places[place]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#places[place] = entry + 1;
        if (this.#entries * 2 > mask) this.#widen();
      }
      indices[i] = entry;
      if (i === look) {
        look += nextLook;
        if (!this.#looksGood(i)) return;
      }
    }
  }

  addTexts(texts: Texts): void {
    const { count, bytes, view, offsets } = texts;
    const indices = this.#indices;
    let look = firstLook;
    letters.fill(0);
    let before = 0;
    for (let i = 0; i < count; i++) {
      const from = offsets[i]!;
      const to = offsets[i + 1]!;
      if (to - from === 1) {
        let entry = letters[bytes[from]!]! - 1;
        if (entry < 0) {
          entry = this.#enter(i, 0);
          letters[bytes[from]!] = entry + 1;
        }
        indices[i] = entry;
        continue;
      }
      // What followed the value before, the last time: right for runs, and for the samples of each record.
      const guess = this.#followers[before]!;
      if (guess < this.#entries && isSame(texts, i, this.#firsts[guess]!)) {
        indices[i] = before = guess;
        continue;
      }
      const hash = hashBytes(view, bytes, from, to);
      const mask = this.#mask;
      let place = hash & mask;
      let entry = this.#places[place]! - 1;
      while (entry >= 0) {
        if (this.#hashes[entry] === hash && isSame(texts, i, this.#firsts[entry]!)) break;
        place = (place + 1) & mask;
        entry = this.#places[place]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#places[place] = entry + 1;
        if (this.#entries * 2 > mask) this.#widen();
      }
      this.#followers[before] = entry;
      indices[i] = before = entry;
      if (i >= look) {
        look = i + nextLook;
        if (!this.#looksGood(i)) return;
      }
    }
  }

  finish(): Dictionary | undefined {
    release(this.#hashes);
    release(this.#followers);
    release(this.#places);
    const { count } = this.#values;
    const dictionary = {
      entries: this.#entries,
      firsts: this.#firsts,
      indices: this.#indices,
    };
    if (!this.#hasGivenUp && count > 0 && this.#size(count) < 1) return dictionary;
    releaseDictionary(dictionary);
    return undefined;
  }

  /** The size with a dictionary, as a share of what another encoding would take. */
  #size(seen: number): number {
    const indices = (seen * bitWidth(this.#entries - 1)) / 8;
    const other = seen * this.#bytes * otherwise[this.#values.kind];
    return (this.#entries * this.#bytes + indices) / other;
  }

  /** New entries become rarer as values go by, so a dictionary may look a little too large on the way. */
  #looksGood(seen: number): boolean {
    const isSmall = seen < nextLook ? this.#entries < seen * 0.95 : this.#size(seen) < 1.2;
    this.#hasGivenUp = !isSmall || this.#entries > mostEntries;
    return !this.#hasGivenUp;
  }

  #enter(i: number, hash: number): number {
    const entry = this.#entries++;
    if (entry === this.#firsts.length) this.#firsts = grown(this.#firsts, entry + 1);
    if (entry === this.#hashes.length) this.#hashes = grown(this.#hashes, entry + 1);
    if (entry === this.#followers.length) this.#followers = grown(this.#followers, entry + 1);
    this.#followers[entry] = 0;
    this.#firsts[entry] = i;
    this.#hashes[entry] = hash;
    return entry;
  }

  #widen(): void {
    const mask = this.#mask * 4 + 3;
    const places = cleared(mask + 1);
    for (let entry = 0; entry < this.#entries; entry++) {
      let place = this.#hashes[entry]! & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = entry + 1;
    }
    release(this.#places);
    this.#places = places;
    this.#mask = mask;
  }
}

function cleared(length: number): Int32Array {
  return acquire(Int32Array, length).fill(0, 0, length);
}

/** Bytes of the values in PLAIN, the only ones whose size varies being texts. */
export function plainBytes(values: Words | Pairs | Texts): number {
  const { kind, count } = values;
  if (kind !== 'texts') return count * (kind === 'pairs' ? 8 : 4);
  return count * 4 + values.offsets[count]! - values.offsets[0]!;
}
