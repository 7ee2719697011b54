import type { Strings } from '../column.js';
import { isSeparator } from '../../../text/tokenizer.js';
import type { SelectionVector } from './selection-vector.js';

/** Maps the bytes of A to Z to those of a to z, and others to themselves. */
const lower = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
/** 1 for the bytes of ASCII that separate terms. */
const separates = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x80 && isSeparator(byte) ? 1 : 0,
);

/**
 * Selects the values that contain an ASCII string in any letter case and pass the test. For `term`, which is a whole term, no test
 * is needed where ASCII separators enclose the string. A value with characters outside ASCII may contain the string in another
 * form, so it is always tested. Without a string all values are tested. The scan ends when the test returns undefined.
 */
export function scanFolded(
  { bytes, offsets }: Strings,
  count: number,
  part: Buffer | undefined,
  kind: 'term' | 'terms' | 'anywhere',
  test: (value: number) => boolean | undefined,
): SelectionVector {
  const selected = new Uint8Array(count);
  if (part === undefined) {
    for (let value = 0; value < count; value++) {
      const passes = test(value);
      if (passes === undefined) break;
      selected[value] = passes ? 1 : 0;
    }
    return selected;
  }
  const needsEdges = kind !== 'anywhere';
  for (let value = 0; value < count; value++) {
    const found = look(bytes, offsets[value]!, offsets[value + 1]!, part, needsEdges);
    if (found === 'none') continue;
    const passes = (found === 'found' && kind === 'term') || test(value);
    if (passes === undefined) break;
    selected[value] = passes ? 1 : 0;
  }
  return selected;
}

function look(
  bytes: Buffer,
  start: number,
  end: number,
  part: Buffer,
  needsEdges: boolean,
): 'found' | 'none' | 'unknown' {
  const { length } = part;
  const first = part[0]!;
  let any = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    any |= byte;
    if (lower[byte] !== first || at + length > end) continue;
    let same = 1;
    while (same < length && lower[bytes[at + same]!] === part[same]) same++;
    if (same < length) continue;
    if (!needsEdges) return 'found';
    const isBegin = at === start || separates[bytes[at - 1]!] === 1;
    const isEnd = at + length === end || separates[bytes[at + length]!] === 1;
    if (isBegin && isEnd) return 'found';
  }
  return any < 0x80 ? 'none' : 'unknown';
}
