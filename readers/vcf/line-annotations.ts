import { latin1Text } from '../text/parse-numbers.js';
import type { VcfLine } from './line.js';

/**
 * The offsets of the annotations of one line, and the alleles to which they belong; they are found once for all records of the line.
 *
 * Choice: with `explode_annotations`, an annotation becomes a record of the allele that it names, by `Allele` (as SnpEff writes it, or as
 * VEP shortens it) or by `ALLELE_NUM`; an annotation that names no allele of the line becomes a record of each allele. An allele without
 * annotations is one record. If the header names no subfields, the values of the key are exploded as they are.
 */
export class LineAnnotations {
  /** Number of annotations on this line; 0 if the key is absent. */
  annotationCount = 0;
  /** The start of the key's value in the line; `valueTo` is its end. Both are -1 if the key is absent. */
  valueFrom = 0;
  valueTo = 0;
  /** The start of each annotation in the line. */
  annotationStarts = new Int32Array(64);
  /** Index of the allele of each annotation; -1 for all alleles. */
  #alleleIndices = new Int32Array(64);
  readonly #keyBytes: Uint8Array;
  /** Index of the subfield that names the allele; -1 if there is none. */
  readonly #subfieldIndex: number;
  /** Whether that subfield has the number of the allele (`ALLELE_NUM`), not its bases. */
  readonly #hasAlleleNumbers: boolean;
  /** Whether the annotations are those of VEP, which shortens alleles (`trimmedAlleles`). */
  readonly #shortensAlleles: boolean;

  constructor(key: string, subfields: readonly string[]) {
    this.#keyBytes = new TextEncoder().encode(key);
    const alleleNumberAt = subfields.indexOf('ALLELE_NUM');
    this.#hasAlleleNumbers = alleleNumberAt >= 0;
    this.#subfieldIndex = this.#hasAlleleNumbers ? alleleNumberAt : subfields.indexOf('Allele');
    this.#shortensAlleles = subfields.includes('Consequence');
  }

  /** Finds the key in the INFO column `bytes[from..to)`, and the items of its value. */
  findAnnotations(bytes: Uint8Array, from: number, to: number): void {
    this.annotationCount = 0;
    this.valueFrom = -1;
    this.valueTo = -1;
    const key = this.#keyBytes;
    let at = from;
    while (at < to && !isKeyAt(key, bytes, at, to)) {
      while (at < to && bytes[at] !== 59) at++;
      at++;
    }
    if (at >= to) return;
    this.valueFrom = at + key.length + 1;
    at = this.valueFrom;
    this.#addAnnotation(at);
    for (; at < to && bytes[at] !== 59; at++) if (bytes[at] === 44) this.#addAnnotation(at + 1);
    this.valueTo = at;
  }

  /** Returns the offset at which an annotation ends. */
  annotationEnd(index: number): number {
    return index + 1 < this.annotationCount ? this.annotationStarts[index + 1]! - 1 : this.valueTo;
  }

  /**
   * Assigns the annotations to the alleles of the line. Returns the number of records that the line becomes, or 0 if it has no annotations.
   */
  assignToAlleles({ bytes, refFrom, refTo, altFrom, altTo }: VcfLine): number {
    if (this.annotationCount === 0) return 0;
    const hasOneAllele = bytes.subarray(altFrom, altTo).indexOf(44) < 0;
    if (hasOneAllele || this.#subfieldIndex < 0) {
      this.#alleleIndices.fill(-1, 0, this.annotationCount);
      return (
        this.annotationCount *
        (hasOneAllele ? 1 : latin1Text(bytes, altFrom, altTo, Infinity).split(',').length)
      );
    }
    const reference = latin1Text(bytes, refFrom, refTo, Infinity);
    const alleles = latin1Text(bytes, altFrom, altTo, Infinity).split(',');
    const indexByName = this.#indexAlleleNames(reference, alleles);
    const ownCounts = new Int32Array(alleles.length);
    let sharedCount = 0;
    for (let i = 0; i < this.annotationCount; i++) {
      const name = this.#alleleNameIn(bytes, this.annotationStarts[i]!, this.annotationEnd(i));
      const alleleIndex = indexByName.get(name) ?? -1;
      this.#alleleIndices[i] = alleleIndex;
      if (alleleIndex < 0) sharedCount++;
      else ownCounts[alleleIndex]!++;
    }
    return ownCounts.reduce((sum, own) => sum + Math.max(1, own + sharedCount), 0);
  }

  /** Returns the first annotation, from `index` on, that belongs to the allele; -1 if there is none. */
  nextOfAllele(alleleIndex: number, index: number): number {
    for (let i = index; i < this.annotationCount; i++)
      if (this.#alleleIndices[i] === -1 || this.#alleleIndices[i] === alleleIndex) return i;
    return -1;
  }

  #addAnnotation(at: number): void {
    if (this.annotationCount === this.annotationStarts.length) {
      this.annotationStarts = doubleCapacity(this.annotationStarts);
      this.#alleleIndices = doubleCapacity(this.#alleleIndices);
    }
    this.annotationStarts[this.annotationCount++] = at;
  }

  /**
   * Returns the index of an allele for each name that annotations may use for it. If two alleles share a name, the form that the annotating
   * tool writes takes precedence.
   */
  #indexAlleleNames(reference: string, alleles: readonly string[]): ReadonlyMap<string, number> {
    const indexByName = new Map<string, number>();
    const addNames = (list: readonly string[]) =>
      list.forEach((name, i) => !indexByName.has(name) && indexByName.set(name, i));
    if (this.#hasAlleleNumbers) addNames(alleles.map((_, i) => String(i + 1)));
    else if (this.#shortensAlleles) {
      addNames(trimmedAlleles(reference, alleles));
      addNames(alleles);
    } else {
      addNames(alleles);
      addNames(trimmedAlleles(reference, alleles));
    }
    return indexByName;
  }

  #alleleNameIn(bytes: Uint8Array, from: number, to: number): string {
    let at = from;
    for (let i = 0; i < this.#subfieldIndex; i++) {
      while (at < to && bytes[at] !== 124) at++;
      at++;
    }
    let end = at;
    while (end < to && bytes[end] !== 124) end++;
    return latin1Text(bytes, at, end, Infinity).trim();
  }
}

/**
 * Returns the alleles as VEP writes them: without the first base if all alleles of an insertion or deletion share it, and `-` for an empty
 * allele.
 */
function trimmedAlleles(reference: string, alleles: readonly string[]): readonly string[] {
  const plainAlleles = [reference, ...alleles].filter((allele) => !allele.includes('*'));
  const shareFirstBase = plainAlleles.every((allele) => allele[0] === reference[0]);
  if (!shareFirstBase || plainAlleles.every((allele) => allele.length === reference.length))
    return alleles;
  return alleles.map((allele) => (allele.includes('*') ? allele : allele.slice(1) || '-'));
}

function isKeyAt(key: Uint8Array, bytes: Uint8Array, at: number, to: number): boolean {
  const end = at + key.length;
  if (end >= to || bytes[end] !== 61) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[at + i]) return false;
  return true;
}

function doubleCapacity(list: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const doubledList = new Int32Array(list.length * 2);
  doubledList.set(list);
  return doubledList;
}
