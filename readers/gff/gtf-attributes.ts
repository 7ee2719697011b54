import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { AttributesBuilder } from './gff-attributes.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses `gene_id "a"; tag "b"; tag "c"; level 2;`: a key, a space, and a value, which may be quoted and then contain semicolons (GTF 2.2,
 * "Fields"). A repeated key has a list of values. Returns the problem of malformed attributes, otherwise null.
 */
export function parseGtfAttributes(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: AttributesBuilder,
  context: RecordContext,
): string | null {
  let at = from;
  for (;;) {
    while (at < to && (bytes[at] === space || bytes[at] === semicolon)) at++;
    if (at === to) return null;
    const keyFrom = at;
    while (at < to && bytes[at] !== space && bytes[at] !== semicolon) at++;
    if (bytes[keyFrom] === quote) return 'an attribute begins with its value: a name is expected';
    into.beginAttribute(bytes, keyFrom, at, false);
    while (at < to && bytes[at] === space) at++;
    if (at < to && bytes[at] === quote) {
      const valueFrom = at + 1;
      const valueTo = findClosingQuote(bytes, valueFrom, to);
      if (valueTo < 0) return 'the quoted value of an attribute does not end';
      into.appendAttributeValue(bytes, valueFrom, valueTo, false);
      at = valueTo + 1;
      continue;
    }
    const valueFrom = at;
    while (at < to && bytes[at] !== semicolon) at++;
    let valueTo = at;
    while (valueTo > valueFrom && bytes[valueTo - 1] === space) valueTo--;
    into.appendAttributeValue(bytes, valueFrom, valueTo, false);
    if (valueTo === valueFrom)
      context.warn(
        codes.unreadableLine,
        'attributes',
        'an attribute has no value: it is the empty text',
      );
  }
}

/**
 * Returns the position of the quote that ends a value: the first quote that is followed, apart from spaces, by a semicolon or the end of
 * the column. Other quotes are part of the value. Returns -1 if there is none.
 */
function findClosingQuote(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    if (bytes[at] !== quote) continue;
    let next = at + 1;
    while (next < to && bytes[next] === space) next++;
    if (next === to || bytes[next] === semicolon) return at;
  }
  return -1;
}

const space = 32;
const quote = 34;
const semicolon = 59;
