import type { GenomeBuild } from '../../engine/core/types.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { isBases, Variants } from '../variants.js';

/**
 * Fills `variant` for the features of a GVF file, which is GFF3 with alleles in the attributes `Variant_seq` and `Reference_seq` (GVF
 * 1.10, "Attributes").
 *
 * Choice: a feature of GVF has a variant only if it has one allele besides that of the reference: a record is one feature, and has one variant.
 */
export class GvfVariants {
  readonly #variants: Variants;
  readonly #build: GenomeBuild;
  /** The range of the feature's allele. */
  #from = 0;
  #to = 0;

  constructor(column: ValueColumn, build: GenomeBuild) {
    this.#variants = new Variants(column);
    this.#build = build;
  }

  get column(): ValueColumn {
    return this.#variants.column;
  }

  /** Adds the variant of the feature from `first` to `last` whose column i is `bytes[from[i]..to[i])`. */
  add(
    row: number,
    bytes: Uint8Array,
    from: Int32Array,
    to: Int32Array,
    first: number,
    last: number,
  ): void {
    if (!this.#find(bytes, from[8]!, to[8]!)) return;
    const { next } = this.#variants;
    next.build = this.#build;
    next.bytes = bytes;
    next.from = from[0]!;
    next.to = to[0]!;
    next.start = first;
    next.stop = last;
    next.alleleFrom = this.#from;
    next.alleleTo = this.#to;
    next.isReverse = bytes[from[6]!] === 45;
    this.#variants.add(row);
  }

  /** Finds the only sequence of `Variant_seq` that differs from `Reference_seq`; returns false if there is none, or several. */
  #find(bytes: Uint8Array, from: number, to: number): boolean {
    const variants = valueOf(bytes, from, to, variantSeq);
    const reference = valueOf(bytes, from, to, referenceSeq);
    if (variants < 0 || reference < 0) return false;
    const referenceTo = endOf(bytes, reference, to);
    let found = 0;
    for (let at = variants; ; at++) {
      const end = endOf(bytes, at, to);
      if (isBases(bytes, at, end) && !isSame(bytes, at, end, reference, referenceTo)) {
        found++;
        this.#from = at;
        this.#to = end;
      }
      at = end;
      if (at >= to || bytes[at] !== comma) return found === 1;
    }
  }
}

/** The position of the value of an attribute; -1 when there is none. */
function valueOf(bytes: Uint8Array, from: number, to: number, key: Uint8Array): number {
  for (let at = from; at < to; at++) {
    while (bytes[at] === space || bytes[at] === semicolon) at++;
    let i = 0;
    while (i < key.length && at + i < to && bytes[at + i] === key[i]) i++;
    if (i === key.length) return at + i;
    while (at < to && bytes[at] !== semicolon) at++;
  }
  return -1;
}

/** The end of the value that begins at `from`: a comma, a semicolon or the end of the attributes. */
function endOf(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && bytes[end] !== comma && bytes[end] !== semicolon) end++;
  return end;
}

function isSame(bytes: Uint8Array, from: number, to: number, other: number, end: number): boolean {
  if (to - from !== end - other) return false;
  for (let i = 0; i < to - from; i++)
    if ((bytes[from + i]! | 32) !== (bytes[other + i]! | 32)) return false;
  return true;
}

const space = 32;
const comma = 44;
const semicolon = 59;
const encoder = new TextEncoder();
const variantSeq = encoder.encode('Variant_seq=');
const referenceSeq = encoder.encode('Reference_seq=');
