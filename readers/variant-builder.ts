import { genomeBuilds, type Column, type GenomeBuild } from '../engine/core/types.js';
import type { ValueColumn } from '../engine/ingest/value-column.js';
import { hasChrPrefix } from './coordinates.js';

/** The column of a record's variant (contract 10.6). */
export const variantColumn: Column = {
  name: 'variant',
  physical: 'variant',
  type: 'string',
  isList: false,
};

/** A variant in a reader's bytes. A reader fills the same object for each record. */
interface VariantSource {
  build: GenomeBuild;
  bytes: Uint8Array;
  /** The chromosome name is `bytes[from..to)`. */
  from: number;
  to: number;
  /** The first position, counted from 1; `stop` is the last position, which is included. */
  start: number;
  stop: number;
  /** The allele is `bytes[alleleFrom..alleleTo)`. */
  alleleFrom: number;
  alleleTo: number;
  /** Whether the allele is given on the reverse strand. */
  isReverse: boolean;
}

/**
 * Fills `variant` with `<BUILD>-<chromosome>-<start>-<stop>-<allele>`, for readers that create columns while they read.
 *
 * Choice: outside VCF, a variant has the positions and the allele that its file gives: an insertion is not moved to the base before it, and
 * the allele of a deletion is `-`. Alleles on the reverse strand are reverse-complemented.
 */
export class VariantBuilder {
  readonly column: ValueColumn;
  #text: Uint8Array = new Uint8Array(256);

  constructor(column: ValueColumn) {
    this.column = column;
  }

  /** The variant that the next call of `addNextVariant` adds. */
  readonly nextVariant: VariantSource = {
    build: 'GRCh38',
    bytes: new Uint8Array(0),
    from: 0,
    to: 0,
    start: 0,
    stop: 0,
    alleleFrom: 0,
    alleleTo: 0,
    isReverse: false,
  };

  /** Adds `nextVariant` as the variant of a row. */
  addNextVariant(row: number): void {
    const { build, bytes, from, to, start, stop, alleleFrom, alleleTo, isReverse } =
      this.nextVariant;
    const prefix = variantPrefixes[build];
    const neededBytes = prefix.length + (to - from) + (alleleTo - alleleFrom) + 48;
    if (this.#text.length < neededBytes) this.#text = new Uint8Array(2 * neededBytes);
    const text = this.#text;
    text.set(prefix);
    let at = prefix.length;
    at = copyUpper(text, at, bytes, hasChrPrefix(bytes, from, to) ? from + 3 : from, to);
    text[at++] = 45;
    at = writeDigits(text, at, start);
    text[at++] = 45;
    at = writeDigits(text, at, stop);
    text[at++] = 45;
    const alleleOffset = at;
    at = copyUpper(text, at, bytes, alleleFrom, alleleTo);
    if (isReverse) reverseComplement(text, alleleOffset, at);
    this.column.padTo(row);
    this.column.addString(text, 0, at);
  }
}

/** Returns whether the text is an allele as tables write it: bases, or `-` for none. */
export function isBasesOrDash(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from === 1 && bytes[from] === 45) return true;
  for (let at = from; at < to; at++) if (complementBases[bytes[at]!] === 0) return false;
  return to > from;
}

/** Copies `bytes[from..to)` in upper case; returns the position after it. */
export function copyUpper(
  into: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  for (let i = from; i < to; i++) {
    const c = bytes[i]!;
    into[at++] = c >= 97 && c <= 122 ? c - 32 : c;
  }
  return at;
}

/** Writes an integer in decimal; returns the position after it. */
export function writeDigits(into: Uint8Array, at: number, value: number): number {
  let digitCount = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digitCount++;
  let valueLeft = value;
  for (let i = at + digitCount - 1; i >= at; i--) {
    const tenth = Math.floor(valueLeft / 10);
    into[i] = 48 + (valueLeft - tenth * 10);
    valueLeft = tenth;
  }
  return at + digitCount;
}

function reverseComplement(bytes: Uint8Array, from: number, to: number): void {
  const allele = bytes.subarray(from, to).reverse();
  for (let i = 0; i < allele.length; i++) allele[i] = complementBases[allele[i]!] || allele[i]!;
}

/** The complement of each base, and of each IUPAC code for several bases, in either letter case; 0 for any other byte. */
const complementBases = new Uint8Array(256);
for (const pair of ['AT', 'CG', 'RY', 'MK', 'BV', 'DH', 'SS', 'WW', 'NN'])
  for (const [base, other] of [pair, `${pair[1]}${pair[0]}`])
    for (const one of [base!, base!.toLowerCase()])
      complementBases[one.charCodeAt(0)] = other!.charCodeAt(0);
complementBases[0x55] = complementBases[0x75] = 65; // U and u, whose complement is A

const variantPrefixes = Object.fromEntries(
  genomeBuilds.map((build) => [build, new TextEncoder().encode(`${build.toUpperCase()}-`)]),
) as Readonly<Record<GenomeBuild, Uint8Array>>;
