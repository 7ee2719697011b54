import type { Utf8Builder } from '../../engine/ingest/builders.js';
import type { ListBuilder } from '../../engine/ingest/nested-builders.js';

/** Copies `bytes[from..to)` in upper case; returns the position behind it. */
export function upper(
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

/** Writes a whole number in decimal; returns the position behind it. */
export function digits(into: Uint8Array, at: number, value: number): number {
  let size = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size++;
  let rest = value;
  for (let i = at + size - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10);
    into[i] = 48 + (rest - tenth * 10);
    rest = tenth;
  }
  return at + size;
}

/** Appends `<BUILD>-<chromosome>-<start>-<stop>-<allele>`, all upper case (contract 10.6); `prefix` is the build with its dash. */
export function appendVariant(
  column: Utf8Builder,
  prefix: Uint8Array,
  bytes: Uint8Array,
  chromFrom: number,
  chromTo: number,
  posFrom: number,
  posTo: number,
  start: number,
  stop: number,
  alleleFrom: number,
  alleleTo: number,
): void {
  const room =
    prefix.length + (chromTo - chromFrom) + (posTo - posFrom) + (alleleTo - alleleFrom) + 24;
  const into = column.reserve(room);
  let at = column.end;
  for (let i = 0; i < prefix.length; i++) into[at++] = prefix[i]!;
  at = upper(into, at, bytes, chromFrom, chromTo);
  into[at++] = 45;
  const startAt = at;
  // The position as it stands, unless it has a sign or leading zeros.
  if (bytes[posFrom]! > 48) for (let i = posFrom; i < posTo; i++) into[at++] = bytes[i]!;
  else at = digits(into, at, start);
  const startEnd = at;
  into[at++] = 45;
  if (stop === start) for (let i = startAt; i < startEnd; i++) into[at++] = into[i]!;
  else at = digits(into, at, stop);
  into[at++] = 45;
  at = upper(into, at, bytes, alleleFrom, alleleTo);
  column.commit(at);
}

/** Appends the text, `.` and nothing as null. */
export function appendIdentifier(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  if (from === to || (to - from === 1 && bytes[from] === 46)) column.appendNull();
  else column.appendBytes(bytes, from, to);
}

/** Appends the items between separators. */
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

/** Appends the names of failed filters: none for PASS, null for `.`; false when an item is no name. */
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
