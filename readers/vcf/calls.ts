import type { DoubleBuilder, IntegerBuilder, Utf8Builder } from '../../engine/ingest/builders.js';
import type { ListBuilder } from '../../engine/ingest/nested-builders.js';
import { floatAt } from '../text/numbers.js';
import { Kind, type Entry } from './values.js';

/**
 * The sample columns of one line: where each value begins and ends. Values are appended key by key, all samples at once, by
 * loops that know their type; sample by sample each value would first have to find out what it is. Half the time that
 * way, measured with a hundred samples of GT:AD:DP:GQ.
 *
 * Only what is plain is read here. At anything else (a fault, an escape, too many values) the caller takes everything
 * back and reads the line value by value, which tells what is wrong.
 */
export class Calls {
  /** Begin and end of value `key` of sample `i` at `2 * (i * keys + key)`; a begin of -1 where values are left out. */
  #bounds = new Int32Array(0);
  readonly #samples: number;
  #keys = 0;

  constructor(samples: number) {
    this.#samples = samples;
  }

  /** Finds the values of `keys` keys each in `bytes[from..to)`; false when there are other numbers of samples or values. */
  find(bytes: Uint8Array, from: number, to: number, keys: number): boolean {
    const size = 2 * this.#samples * keys;
    if (this.#bounds.length < size) this.#bounds = new Int32Array(size);
    this.#keys = keys;
    const bounds = this.#bounds;
    let at = from;
    let next = 0;
    while (next < size) {
      const end = next + 2 * keys;
      let c = 58;
      while (c === 58) {
        if (next === end) return false;
        bounds[next] = at;
        while (at < to && (c = bytes[at]!) !== 58 && c !== 9) at++;
        bounds[next + 1] = at;
        if (at === to) c = 0;
        at++;
        next += 2;
      }
      if (bounds[end - 2 * keys] === bounds[end - 2 * keys + 1]) return false;
      for (; next < end; next += 2) bounds[next] = -1;
      if (c !== 9 && next < size) return false;
    }
    return at === to + 1;
  }

  /** Appends the values of one key; false when one is not plain. What had been appended before is then to be taken back. */
  append(bytes: Uint8Array, key: number, entry: Entry): boolean {
    const { kind, isList, column, items } = entry;
    if (entry.name === 'GT' && (isList || kind !== Kind.Text)) return false;
    if (kind === Kind.Integer)
      return isList
        ? this.#integerLists(bytes, key, column as ListBuilder, items as IntegerBuilder)
        : this.#integers(bytes, key, items as IntegerBuilder);
    if (kind === Kind.Double)
      return isList
        ? this.#doubleLists(bytes, key, column as ListBuilder, items as DoubleBuilder)
        : this.#doubles(bytes, key, items as DoubleBuilder);
    if (kind !== Kind.Text || isList) return false;
    return entry.name === 'GT'
      ? this.#genotypes(bytes, key, items as Utf8Builder)
      : this.#texts(bytes, key, items as Utf8Builder);
  }

  #integers(bytes: Uint8Array, key: number, column: IntegerBuilder): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissing(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      if (to - from > 9) return false;
      let value = 0;
      for (let i = from; i < to; i++) {
        const digit = bytes[i]! - 48;
        if (digit < 0 || digit > 9) return false;
        value = value * 10 + digit;
      }
      column.append(value);
    }
    return true;
  }

  #integerLists(
    bytes: Uint8Array,
    key: number,
    column: ListBuilder,
    items: IntegerBuilder,
  ): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissingList(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      let value = 0;
      let start = from;
      for (let i = from; i <= to; i++) {
        const c = i < to ? bytes[i]! : 44;
        if (c !== 44) {
          if (c < 48 || c > 57) {
            if (c !== 46 || i > start || (i + 1 < to && bytes[i + 1] !== 44)) return false;
            continue; // a missing item
          }
          value = value * 10 + (c - 48);
          continue;
        }
        if (i - start > 9) return false;
        if (i === start || bytes[start] === 46) items.appendNull();
        else items.append(value);
        value = 0;
        start = i + 1;
      }
      column.endList();
    }
    return true;
  }

  #doubles(bytes: Uint8Array, key: number, column: DoubleBuilder): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissing(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      const value = floatAt(bytes, from, to);
      if (value - value !== 0) return false;
      column.append(value);
    }
    return true;
  }

  #doubleLists(bytes: Uint8Array, key: number, column: ListBuilder, items: DoubleBuilder): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissingList(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      for (let start = from; start <= to;) {
        let stop = start;
        while (stop < to && bytes[stop] !== 44) stop++;
        if (isMissing(bytes, start, stop)) items.appendNull();
        else {
          const value = floatAt(bytes, start, stop);
          if (value - value !== 0) return false;
          items.append(value);
        }
        start = stop + 1;
      }
      column.endList();
    }
    return true;
  }

  /** Allele numbers or `.` between `/` and `|` (VCF 4.4 allows a leading one). */
  #genotypes(bytes: Uint8Array, key: number, column: Utf8Builder): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissing(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      const size = to - from;
      if (size > longest) return false;
      const into = column.reserve(size);
      let out = column.end;
      for (let i = from; i < to; i++) {
        const c = bytes[i]!;
        // `.`, `/` and the digits follow each other.
        if ((c < 46 || c > 57) && c !== 124) return false;
        into[out++] = c;
      }
      column.commit(out);
    }
    return true;
  }

  #texts(bytes: Uint8Array, key: number, column: Utf8Builder): boolean {
    const bounds = this.#bounds;
    const step = 2 * this.#keys;
    const end = step * this.#samples;
    for (let at = 2 * key; at < end; at += step) {
      const from = bounds[at]!;
      const to = bounds[at + 1]!;
      if (isMissing(bytes, from, to)) {
        column.appendNull();
        continue;
      }
      const size = to - from;
      if (size > longest) return false;
      const into = column.reserve(size);
      let out = column.end;
      for (let i = from; i < to; i++) {
        const c = bytes[i]!;
        if (c === 37) return false;
        into[out++] = c;
      }
      column.commit(out);
    }
    return true;
  }
}

/** Texts up to here are plain. */
const longest = 1000;

/** Left out, empty, or `.`. */
function isMissing(bytes: Uint8Array, from: number, to: number): boolean {
  return from < 0 || from === to || (to - from === 1 && bytes[from] === 46);
}

/** An empty text is a list of one missing item, though. */
function isMissingList(bytes: Uint8Array, from: number, to: number): boolean {
  return from < 0 || (to - from === 1 && bytes[from] === 46);
}
