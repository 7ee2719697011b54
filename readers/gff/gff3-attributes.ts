import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { AttributesBuilder } from './gff-attributes.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses `ID=a;Parent=b,c;Note=first%2C not second`: commas separate values, and percent escapes stand for separators within a value (GFF3
 * specification, "Column 9: attributes"). Returns the problem of malformed attributes, otherwise null.
 */
export function parseGff3Attributes(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: AttributesBuilder,
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
      if (keyEndFlags[(c = bytes[at]!)] === 0) continue;
      if (c !== percent) break;
      isEscaped = true;
    }
    const keyTo = trimEnd(bytes, keyFrom, at);
    if (keyTo === keyFrom) return 'an attribute has no name before its "="';
    into.beginAttribute(bytes, keyFrom, keyTo, isEscaped);
    // Choice: an attribute without a value has the empty string as value.
    if (at < to && c === equalsByte) at = parseAttributeValues(bytes, at + 1, to, into, context);
    else {
      into.appendAttributeValue(bytes, at, at, false);
      context.warn(
        codes.unreadableLine,
        'attributes',
        'an attribute has no "=": its value is the empty text',
      );
    }
  }
  return null;
}

/** Reads the values from `from` up to the next semicolon; returns their end. */
function parseAttributeValues(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: AttributesBuilder,
  context: RecordContext,
): number {
  let at = from;
  let valueCount = 0;
  let hasEmptyValue = false;
  for (;;) {
    while (at < to && bytes[at] === space) at++;
    const valueFrom = at;
    let isEscaped = false;
    let c = 0;
    for (; at < to; at++) {
      if (valueEndFlags[(c = bytes[at]!)] === 0) continue;
      if (c !== percent) break;
      isEscaped = true;
    }
    const valueTo = trimEnd(bytes, valueFrom, at);
    if (valueTo > valueFrom) {
      into.appendAttributeValue(bytes, valueFrom, valueTo, isEscaped);
      valueCount++;
    } else hasEmptyValue = true;
    if (at === to || c === semicolon) break;
    at++;
  }
  if (valueCount === 0) into.appendAttributeValue(bytes, at, at, false);
  else if (hasEmptyValue)
    context.warn(
      codes.unreadableLine,
      'attributes',
      'a list of values has an empty one, which is left out',
    );
  return at;
}

/** Returns the end of the text without its trailing spaces. */
function trimEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = to;
  while (end > from && bytes[end - 1] === space) end--;
  return end;
}

const space = 32;
const percent = 37;
const comma = 44;
const semicolon = 59;
const equalsByte = 61;

// For each byte, 1 if it ends a key (`keyEndFlags`) or a value (`valueEndFlags`), or begins an escape.
const keyEndFlags = new Uint8Array(256);
const valueEndFlags = new Uint8Array(256);
for (const c of [percent, semicolon]) keyEndFlags[c] = valueEndFlags[c] = 1;
keyEndFlags[equalsByte] = 1;
valueEndFlags[comma] = 1;
