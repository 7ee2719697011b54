/** Offsets of the fields of one record line (VCF 4.5, section 1.6). A parser reuses one object for all lines of a chunk. */
export class VcfLine {
  /** Number of the line in its chunk, from 1. */
  numberInChunk = 0;
  /** The line is `bytes[lineFrom..lineTo)`, without its line end. */
  bytes: Uint8Array = new Uint8Array(0);
  lineFrom = 0;
  lineTo = 0;
  /** The offset of CHROM, after the prefix `chr` if it has one. */
  chromFrom = 0;
  chromTo = 0;
  posFrom = 0;
  posTo = 0;
  idTo = 0;
  refFrom = 0;
  refTo = 0;
  altFrom = 0;
  altTo = 0;
  qualTo = 0;
  filterTo = 0;
  infoTo = 0;
  formatTo = 0;
  /** The value of the column POS. */
  start = 0;
  /** Whether ALT is not `.`. */
  hasAlternate = false;
  /** The value of QUAL; NaN when it is missing or stored as null. */
  qual = NaN;

  get infoFrom(): number {
    return this.filterTo + 1;
  }

  /** The position of the last base of REF. */
  get refStop(): number {
    return this.start + (this.refTo - this.refFrom) - 1;
  }
}
