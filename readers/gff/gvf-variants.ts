import type { GenomeBuild } from '../../engine/core/types.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { isBasesOrDash, VariantBuilder } from '../variant-builder.js';

/**
 * Fills `variant` for the features of a GVF file, which is GFF3 with alleles in the attributes `Variant_seq` and `Reference_seq` (GVF 1.10,
 * "Attributes").
 *
 * Choice: a feature of GVF has a variant only if it has exactly one allele besides the reference, because a record is one feature and has
 * one variant.
 */
export class GvfVariantBuilder {
  readonly #variants: VariantBuilder;
  readonly #build: GenomeBuild;
  /** The start of the feature's allele; `#alleleTo` is its end. */
  #alleleFrom = 0;
  #alleleTo = 0;

  constructor(column: ValueColumn, build: GenomeBuild) {
    this.#variants = new VariantBuilder(column);
    this.#build = build;
  }

  get column(): ValueColumn {
    return this.#variants.column;
  }

  /**
   * Adds the variant of a feature to the record `row`, if `#findAllele` finds its allele. Column i of the feature is
   * `bytes[from[i]..to[i])`; its first and last positions on the sequence are `first` and `last`.
   */
  add(
    row: number,
    bytes: Uint8Array,
    from: Int32Array,
    to: Int32Array,
    first: number,
    last: number,
  ): void {
    if (!this.#findAllele(bytes, from[8]!, to[8]!)) return;
    const { nextVariant } = this.#variants;
    nextVariant.build = this.#build;
    nextVariant.bytes = bytes;
    nextVariant.from = from[0]!;
    nextVariant.to = to[0]!;
    nextVariant.start = first;
    nextVariant.stop = last;
    nextVariant.alleleFrom = this.#alleleFrom;
    nextVariant.alleleTo = this.#alleleTo;
    nextVariant.isReverse = bytes[from[6]!] === 45;
    this.#variants.addNextVariant(row);
  }

  /**
   * Finds the only sequence of bases, or `-`, in `Variant_seq` that differs from `Reference_seq`; returns false if there is none or more
   * than one, or no `Reference_seq`.
   */
  #findAllele(bytes: Uint8Array, from: number, to: number): boolean {
    const variantsFrom = attributeValueStart(bytes, from, to, variantSeqKey);
    const referenceFrom = attributeValueStart(bytes, from, to, referenceSeqKey);
    if (variantsFrom < 0 || referenceFrom < 0) return false;
    const referenceTo = attributeValueEnd(bytes, referenceFrom, to);
    let alleleCount = 0;
    for (let at = variantsFrom; ; at++) {
      const end = attributeValueEnd(bytes, at, to);
      if (
        isBasesOrDash(bytes, at, end) &&
        !areEqualIgnoringCase(bytes, at, end, referenceFrom, referenceTo)
      ) {
        alleleCount++;
        this.#alleleFrom = at;
        this.#alleleTo = end;
      }
      at = end;
      if (at >= to || bytes[at] !== comma) return alleleCount === 1;
    }
  }
}

/** Returns the position of the value of an attribute; -1 if the attribute is absent. */
function attributeValueStart(bytes: Uint8Array, from: number, to: number, key: Uint8Array): number {
  for (let at = from; at < to; at++) {
    while (bytes[at] === space || bytes[at] === semicolon) at++;
    let i = 0;
    while (i < key.length && at + i < to && bytes[at + i] === key[i]) i++;
    if (i === key.length) return at + i;
    while (at < to && bytes[at] !== semicolon) at++;
  }
  return -1;
}

/** Returns the end of the value that begins at `from`: a comma, a semicolon or the end of the attributes. */
function attributeValueEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && bytes[end] !== comma && bytes[end] !== semicolon) end++;
  return end;
}

function areEqualIgnoringCase(
  bytes: Uint8Array,
  from: number,
  to: number,
  otherFrom: number,
  otherTo: number,
): boolean {
  if (to - from !== otherTo - otherFrom) return false;
  for (let i = 0; i < to - from; i++)
    if ((bytes[from + i]! | 32) !== (bytes[otherFrom + i]! | 32)) return false;
  return true;
}

const space = 32;
const comma = 44;
const semicolon = 59;
const encoder = new TextEncoder();
const variantSeqKey = encoder.encode('Variant_seq=');
const referenceSeqKey = encoder.encode('Reference_seq=');
