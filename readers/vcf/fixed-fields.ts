import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ListBuilder } from '../../engine/ingest/nested-builders.js';

import { copyUpper, writeDigits } from '../variant-builder.js';
import type { VcfLine } from './line.js';

/** Returns whether the text is a CHROM: no white space, not `.`, and `<ID>` must close its bracket (VCF 4.5, section 1.6.1). */
export function isChromosome(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || (bytes[from] === 46 && to - from === 1)) return false;
  if (bytes[from] === 60 && (bytes[to - 1] !== 62 || to - from < 3)) return false;
  for (let at = from; at < to; at++) if (bytes[at]! <= 32) return false;
  return true;
}

// Choice: REF may hold IUPAC ambiguity codes, because old reference genomes do; ALT may not (VCF 4.5, section 1.6.1).
/** For each byte, the sum of 1 if it is a base that ALT may hold, and 2 if it is one that REF may hold. */
const baseFlags = new Uint8Array(256);
for (const c of 'ACGTNacgtn') baseFlags[c.charCodeAt(0)] = 3;
for (const c of 'RYKMSWBDHVUrykmswbdhvu') baseFlags[c.charCodeAt(0)] = 2;

/** Returns whether the text is a REF: one base or more. */
export function isReference(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return false;
  for (let at = from; at < to; at++) if (!baseFlags[bytes[at]!]) return false;
  return true;
}

/** Returns whether the text is an allele of ALT: bases, `*`, a symbolic allele or a breakend (VCF 4.5, sections 1.6.1 and 5.4). */
export function isAllele(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return false;
  let at = from;
  while (at < to && (baseFlags[bytes[at]!]! & 1) === 1) at++;
  if (at === to) return true;
  const c = bytes[at]!;
  if (to - from === 1) return c === 42;
  if (c === 60 && at === from) return bytes[to - 1] === 62 && to - from > 2;
  // The accepted forms are breakends (`G[17:198982[`, `]13:123456]T`), single breakends (`.TC`, `CT.`) and an inserted contig (`C<ctg1>`).
  if (c === 91 || c === 93) return bytes.subarray(at + 1, to).includes(c);
  if (c === 46) return at === from || at === to - 1;
  return c === 60 && bytes[to - 1] === 62;
}

/**
 * Appends `<BUILD>-<chromosome>-<start>-<stop>-<allele>` in upper case (contract 10.6); `prefix` is the build and its dash, the
 * allele is `line.bytes[alleleFrom..alleleTo)`.
 */
export function appendVariant(
  column: Utf8Builder,
  prefix: Uint8Array,
  line: VcfLine,
  stop: number,
  alleleFrom: number,
  alleleTo: number,
): void {
  const { bytes, chromFrom, chromTo, posFrom, posTo, start } = line;
  const neededBytes =
    prefix.length + (chromTo - chromFrom) + (posTo - posFrom) + (alleleTo - alleleFrom) + 24;
  const targetBytes = column.reserve(neededBytes);
  let at = column.usedBytes;
  for (let i = 0; i < prefix.length; i++) targetBytes[at++] = prefix[i]!;
  at = copyUpper(targetBytes, at, bytes, chromFrom, chromTo);
  targetBytes[at++] = 45;
  const startAt = at;
  // POS is copied as it is written, unless it has a sign or leading zeros.
  if (bytes[posFrom]! > 48) for (let i = posFrom; i < posTo; i++) targetBytes[at++] = bytes[i]!;
  else at = writeDigits(targetBytes, at, start);
  const startEnd = at;
  targetBytes[at++] = 45;
  if (stop === start) for (let i = startAt; i < startEnd; i++) targetBytes[at++] = targetBytes[i]!;
  else at = writeDigits(targetBytes, at, stop);
  targetBytes[at++] = 45;
  at = copyUpper(targetBytes, at, bytes, alleleFrom, alleleTo);
  column.endValue(at);
}

/** Appends ID; `.` and the empty text are null. */
export function appendIdentifier(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  if (from === to || (to - from === 1 && bytes[from] === 46)) column.appendNull();
  else column.appendBytes(bytes, from, to);
}

/** Appends the items between separators to the elements of a list. */
export function appendSplit(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
  separator: number,
): void {
  for (let at = from; at <= to;) {
    let end = at;
    while (end < to && bytes[end] !== separator) end++;
    column.appendBytes(bytes, at, end);
    at = end + 1;
  }
}

/** Appends FILTER as a list of failed filters: empty for PASS, null for `.`. Returns false when an item is not a filter name. */
export function appendFilter(
  column: ListBuilder<Utf8Builder>,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  if (to - from === 1 && bytes[from] === 46) {
    column.appendNull();
    return true;
  }
  const isPass =
    to - from === 4 &&
    bytes[from] === 80 &&
    bytes[from + 1] === 65 &&
    bytes[from + 2] === 83 &&
    bytes[from + 3] === 83;
  if (!isPass) {
    for (let at = from; at <= to;) {
      let end = at;
      while (end < to && bytes[end] !== 59) end++;
      if (end === at || (end - at === 1 && bytes[at] === 46)) return false;
      column.items.appendBytes(bytes, at, end);
      at = end + 1;
    }
  }
  column.endList();
  return true;
}
