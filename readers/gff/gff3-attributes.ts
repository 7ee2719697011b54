import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { Attributes } from './attributes.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses `ID=a;Parent=b,c;Note=first%2C not second`: commas separate values, and percent escapes stand for separators within a value (GFF3
 * specification, "Column 9: attributes"). Returns the problem of malformed attributes, else null.
 */
export function gff3Attributes(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: Attributes,
  context: RecordContext,
): string | null {
  let at = from;
  while (at < to) {
    while (at < to && (bytes[at] === space || bytes[at] === semicolon)) at++;
    if (at === to) break;
    const keyFrom = at;
    let isEscaped = false;
    let c = 0;
    for (; at < to; at++) {
      if (endsKey[(c = bytes[at]!)] === 0) continue;
      if (c !== percent) break;
      isEscaped = true;
    }
    const keyTo = trimEnd(bytes, keyFrom, at);
    if (keyTo === keyFrom) return 'an attribute has no name before its "="';
    into.key(bytes, keyFrom, keyTo, isEscaped);
    // Choice: an attribute without a value has the empty string.
    if (at < to && c === equals) at = readValues(bytes, at + 1, to, into, context);
    else {
      into.value(bytes, at, at, false);
      context.warn(
        codes.unreadableLine,
        'attributes',
        'an attribute has no "=": its value is the empty text',
      );
    }
  }
  return null;
}

/** Reads the values from `from` to the next semicolon; returns their end. */
function readValues(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: Attributes,
  context: RecordContext,
): number {
  let at = from;
  let count = 0;
  let hasEmpty = false;
  for (;;) {
    while (at < to && bytes[at] === space) at++;
    const valueFrom = at;
    let isEscaped = false;
    let c = 0;
    for (; at < to; at++) {
      if (endsValue[(c = bytes[at]!)] === 0) continue;
      if (c !== percent) break;
      isEscaped = true;
    }
    const valueTo = trimEnd(bytes, valueFrom, at);
    if (valueTo > valueFrom) {
      into.value(bytes, valueFrom, valueTo, isEscaped);
      count++;
    } else hasEmpty = true;
    if (at === to || c === semicolon) break;
    at++;
  }
  if (count === 0) into.value(bytes, at, at, false);
  else if (hasEmpty)
    context.warn(
      codes.unreadableLine,
      'attributes',
      'a list of values has an empty one, which is left out',
    );
  return at;
}

/** The end of the text without trailing spaces. */
function trimEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = to;
  while (end > from && bytes[end - 1] === space) end--;
  return end;
}

const space = 32;
const percent = 37;
const comma = 44;
const semicolon = 59;
const equals = 61;

// For each byte, 1 if it ends a key or a value, or begins an escape.
const endsKey = new Uint8Array(256);
const endsValue = new Uint8Array(256);
for (const c of [percent, semicolon]) endsKey[c] = endsValue[c] = 1;
endsKey[equals] = 1;
endsValue[comma] = 1;
