import { integerAt, latin1 } from '../text/numbers.js';

/** What a line says about how far its symbolic alleles reach. */
export interface Extent {
  /** INFO END; -1 when there is none. */
  readonly end: number;
  /** The value of INFO SVLEN; empty when there is none. */
  readonly lengthsFrom: number;
  readonly lengthsTo: number;
}

/** Structural variants that replace or repeat a stretch of the reference, which SVLEN measures. */
const spanning = new Set(['DEL', 'DUP', 'INV', 'CNV']);
/** Adjacencies: END, where callers give it, is a place on the other chromosome. */
const adjacent = new Set(['BND', 'TRA', 'CTX']);

// Choice: only symbolic alleles (`<DEL>`) stop elsewhere than at the last base of REF. Up to VCF 4.3 that is INFO END, else what
// SVLEN says of the allele; from 4.4 on, where END is that of the longest allele, SVLEN comes first, and insertions stop at REF.
// A negative SVLEN counts as positive. `<BND>`, `<TRA>` and `<CTX>` are places, not stretches: they stop at REF.
/**
 * The last position of the symbolic allele in `bytes[from..to)`, the `index`-th of its line (VCF 4.5, section 1.6.1, END and
 * SVLEN). `refStop` is the last base of REF, for alleles of which nothing else is known.
 */
export function symbolStop(
  bytes: Uint8Array,
  from: number,
  to: number,
  index: number,
  start: number,
  refStop: number,
  version: number,
  extent: Extent,
): number {
  // `<DUP:TANDEM>` is a DUP, `<CNV:TR>` a CNV.
  const [kind = ''] = latin1(bytes, from + 1, to - 1).split(':', 1);
  if (adjacent.has(kind)) return refStop;
  const end = extent.end >= start ? extent.end : -1;
  if (version >= 4.4) {
    if (kind === 'INS') return refStop;
    if (spanning.has(kind)) {
      const length = lengthOf(bytes, index, extent);
      if (length >= 0) return start + length;
    }
  } else if (end < 0 && spanning.has(kind) && kind !== 'CNV') {
    // Before 4.4 SVLEN is the difference in length: 0 for an inversion, and nothing that measures a CNV.
    const length = lengthOf(bytes, index, extent);
    if (length > 0) return start + length;
  }
  return end >= 0 ? end : refStop;
}

/** The size of the `index`-th item of SVLEN; -1 when it has none. */
function lengthOf(bytes: Uint8Array, index: number, extent: Extent): number {
  const { lengthsFrom, lengthsTo } = extent;
  if (lengthsFrom >= lengthsTo) return -1;
  for (let item = 0, at = lengthsFrom; at <= lengthsTo; item++) {
    let end = at;
    while (end < lengthsTo && bytes[end] !== 44) end++;
    if (item === index) {
      const value = Math.abs(integerAt(bytes, at, end));
      return value >= 0 ? value : -1;
    }
    at = end + 1;
  }
  return -1;
}

/** Whether this is `<*>`: the reference, as far as END says, or from VCF 4.5 on the LEN of the samples. */
export function isReferenceBlock(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from === 3 && bytes[from] === 60 && bytes[from + 1] === 42;
}

/** The largest FORMAT LEN of a line's samples, which measures `<*>` from VCF 4.5 on; -1 when there is none. */
export function longestBlock(
  bytes: Uint8Array,
  formatFrom: number,
  formatTo: number,
  to: number,
): number {
  const key = latin1(bytes, formatFrom, formatTo, formatTo - formatFrom)
    .split(':')
    .indexOf('LEN');
  if (key < 0) return -1;
  let longest = -1;
  for (let at = formatTo + 1, part = 0; at < to; at++) {
    let end = at;
    while (end < to && bytes[end] !== 58 && bytes[end] !== 9) end++;
    if (part === key) {
      const length = integerAt(bytes, at, end);
      if (length > longest) longest = length;
    }
    part = bytes[end] === 9 ? 0 : part + 1;
    at = end;
  }
  return longest;
}
