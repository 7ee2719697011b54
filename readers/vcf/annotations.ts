import { latin1 } from '../text/numbers.js';

/**
 * The annotations of one line, found once for all of its records: where each begins and ends, and whose it is.
 *
 * Choice: with `explode_annotations`, an annotation makes a record of the allele that it names (by its `Allele`, as SnpEff
 * writes it or as VEP shortens it, or by `ALLELE_NUM`); one that names none of the line's alleles makes one of each.
 * An allele without an annotation is one record without it. Values of a key whose header has no format are exploded as they are.
 */
export class Annotations {
  /** Annotations on this line; 0 when the key is absent. */
  count = 0;
  /** The whole value. */
  from = 0;
  to = 0;
  starts = new Int32Array(64);
  /** Per annotation: the index of its allele, -1 for every allele. */
  #alleles = new Int32Array(64);
  readonly #key: Uint8Array;
  /** The part that names the allele, -1 when none does. */
  readonly #part: number;
  readonly #isNumber: boolean;
  readonly #isShortened: boolean;

  constructor(key: string, names: readonly string[]) {
    this.#key = new TextEncoder().encode(key);
    const numbered = names.indexOf('ALLELE_NUM');
    this.#isNumber = numbered >= 0;
    this.#part = this.#isNumber ? numbered : names.indexOf('Allele');
    this.#isShortened = names.includes('Consequence');
  }

  /** Looks for the key in the INFO text `bytes[from..to)` and for the items of its value. */
  find(bytes: Uint8Array, from: number, to: number): void {
    this.count = 0;
    this.from = -1;
    this.to = -1;
    const key = this.#key;
    let at = from;
    while (at < to && !isKey(key, bytes, at, to)) {
      while (at < to && bytes[at] !== 59) at++;
      at++;
    }
    if (at >= to) return;
    this.from = at + key.length + 1;
    at = this.from;
    this.#begin(at);
    for (; at < to && bytes[at] !== 59; at++) if (bytes[at] === 44) this.#begin(at + 1);
    this.to = at;
  }

  /** Where the annotation ends. */
  endOf(index: number): number {
    return index + 1 < this.count ? this.starts[index + 1]! - 1 : this.to;
  }

  /** Tells the annotations which alleles they belong to; returns the number of records that the line makes. */
  share(bytes: Uint8Array, refFrom: number, refTo: number, altFrom: number, altTo: number): number {
    if (this.count === 0) return 0;
    const isOne = bytes.subarray(altFrom, altTo).indexOf(44) < 0;
    if (isOne || this.#part < 0) {
      this.#alleles.fill(-1, 0, this.count);
      return this.count * (isOne ? 1 : latin1(bytes, altFrom, altTo, Infinity).split(',').length);
    }
    const reference = latin1(bytes, refFrom, refTo, Infinity);
    const alleles = latin1(bytes, altFrom, altTo, Infinity).split(',');
    const byName = this.#names(reference, alleles);
    const counts = new Int32Array(alleles.length);
    let everyones = 0;
    for (let i = 0; i < this.count; i++) {
      const name = this.#nameIn(bytes, this.starts[i]!, this.endOf(i));
      const allele = byName.get(name) ?? -1;
      this.#alleles[i] = allele;
      if (allele < 0) everyones++;
      else counts[allele]!++;
    }
    return counts.reduce((sum, own) => sum + Math.max(1, own + everyones), 0);
  }

  /** The first annotation from `index` on that belongs to the allele, or -1. */
  next(allele: number, index: number): number {
    for (let i = index; i < this.count; i++)
      if (this.#alleles[i] === -1 || this.#alleles[i] === allele) return i;
    return -1;
  }

  #begin(at: number): void {
    if (this.count === this.starts.length) {
      this.starts = doubled(this.starts);
      this.#alleles = doubled(this.#alleles);
    }
    this.starts[this.count++] = at;
  }

  /** What annotations may call the alleles; the tool's own way comes first. */
  #names(reference: string, alleles: readonly string[]): ReadonlyMap<string, number> {
    const names = new Map<string, number>();
    const add = (list: readonly string[]) =>
      list.forEach((name, i) => !names.has(name) && names.set(name, i));
    if (this.#isNumber) add(alleles.map((_, i) => String(i + 1)));
    else if (this.#isShortened) {
      add(shortened(reference, alleles));
      add(alleles);
    } else {
      add(alleles);
      add(shortened(reference, alleles));
    }
    return names;
  }

  #nameIn(bytes: Uint8Array, from: number, to: number): string {
    let at = from;
    for (let part = 0; part < this.#part; part++) {
      while (at < to && bytes[at] !== 124) at++;
      at++;
    }
    let end = at;
    while (end < to && bytes[end] !== 124) end++;
    return latin1(bytes, at, end, Infinity).trim();
  }
}

/** VEP drops the first base that all alleles of an insertion or deletion share, and writes `-` for nothing. */
function shortened(reference: string, alleles: readonly string[]): readonly string[] {
  const all = [reference, ...alleles].filter((allele) => !allele.includes('*'));
  const isShared = all.every((allele) => allele[0] === reference[0]);
  if (!isShared || all.every((allele) => allele.length === reference.length)) return alleles;
  return alleles.map((allele) => (allele.includes('*') ? allele : allele.slice(1) || '-'));
}

function isKey(key: Uint8Array, bytes: Uint8Array, at: number, to: number): boolean {
  const end = at + key.length;
  if (end >= to || bytes[end] !== 61) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[at + i]) return false;
  return true;
}

function doubled(list: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const bigger = new Int32Array(list.length * 2);
  bigger.set(list);
  return bigger;
}
