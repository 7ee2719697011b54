import { parseInteger, latin1Text } from '../text/parse-numbers.js';
import type { VcfLine } from './line.js';

/** The INFO values of a line that determine the stop position of its symbolic alleles. */
export interface InfoExtent {
  /** INFO END; -1 when it is missing, NaN when it is not an integer. */
  readonly infoEnd: number;
  /** The value of INFO SVLEN is `bytes[svlenFrom..svlenTo)`; empty when it is missing. */
  readonly svlenFrom: number;
  readonly svlenTo: number;
}

/** Types of structural variants whose span on the reference is SVLEN (VCF 4.5, section 3, SVLEN). */
const spanningTypes = new Set(['DEL', 'DUP', 'INV', 'CNV']);
/**
 * Types of structural variants that join two positions. Where callers write END for such a variant, it may be a position on another
 * chromosome.
 */
const adjacencyTypes = new Set(['BND', 'TRA', 'CTX']);

// Choice: a record stops at the last base of REF, unless its allele is symbolic (`<DEL>`). Up to VCF 4.3, the stop of a symbolic allele is
// INFO END, or follows from the SVLEN of the allele if END is missing or before POS. From VCF 4.4 on, where END is that of the longest
// allele, SVLEN has precedence, and insertions stop at the last base of REF. A negative SVLEN counts as positive. `<BND>`, `<TRA>` and
// `<CTX>` are single positions and stop at the last base of REF.
/**
 * Returns the last position of the symbolic allele `line.bytes[from..to)`, the `index`-th of ALT, counted from 0 (VCF 4.5, section 1.6.1,
 * END and SVLEN).
 */
export function symbolicAlleleStop(
  line: VcfLine,
  from: number,
  to: number,
  index: number,
  version: number,
  extent: InfoExtent,
): number {
  const { bytes, start, refStop } = line;
  // The first level of the type counts: `<DUP:TANDEM>` is a DUP, `<CNV:TR>` a CNV.
  const [variantType = ''] = latin1Text(bytes, from + 1, to - 1).split(':', 1);
  if (adjacencyTypes.has(variantType)) return refStop;
  const usableEnd = extent.infoEnd >= start ? extent.infoEnd : -1;
  if (version >= 4.4) {
    if (variantType === 'INS') return refStop;
    if (spanningTypes.has(variantType)) {
      const length = svlenOf(bytes, index, extent);
      if (length >= 0) return start + length;
    }
  } else if (usableEnd < 0 && spanningTypes.has(variantType) && variantType !== 'CNV') {
    // Before VCF 4.4, SVLEN is the difference in length between the allele and REF: 0 for an inversion, and undefined for a CNV.
    const length = svlenOf(bytes, index, extent);
    if (length > 0) return start + length;
  }
  return usableEnd >= 0 ? usableEnd : refStop;
}

/** Returns the absolute value of the `index`-th item of SVLEN; -1 when it is missing or not an integer. */
function svlenOf(bytes: Uint8Array, index: number, extent: InfoExtent): number {
  const { svlenFrom, svlenTo } = extent;
  if (svlenFrom >= svlenTo) return -1;
  for (let item = 0, at = svlenFrom; at <= svlenTo; item++) {
    let end = at;
    while (end < svlenTo && bytes[end] !== 44) end++;
    if (item === index) {
      const value = Math.abs(parseInteger(bytes, at, end));
      return value >= 0 ? value : -1;
    }
    at = end + 1;
  }
  return -1;
}

/** Returns whether the allele is `<*>`, a reference block, which extends to END or, from VCF 4.5 on, by FORMAT LEN (section 5.5). */
export function isReferenceBlock(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from === 3 && bytes[from] === 60 && bytes[from + 1] === 42;
}

/** Returns the largest FORMAT LEN of the samples of a line; -1 when there is none. */
export function maxFormatLen({ bytes, infoTo, formatTo, lineTo }: VcfLine): number {
  const formatFrom = infoTo + 1;
  const lenIndex = latin1Text(bytes, formatFrom, formatTo, formatTo - formatFrom)
    .split(':')
    .indexOf('LEN');
  if (lenIndex < 0) return -1;
  let longest = -1;
  for (let at = formatTo + 1, partIndex = 0; at < lineTo; at++) {
    let end = at;
    while (end < lineTo && bytes[end] !== 58 && bytes[end] !== 9) end++;
    if (partIndex === lenIndex) {
      const length = parseInteger(bytes, at, end);
      if (length > longest) longest = length;
    }
    partIndex = bytes[end] === 9 ? 0 : partIndex + 1;
    at = end;
  }
  return longest;
}
