import type { Texts } from '../column.js';
import { isSeparator } from '../../../text/tokenizer.js';
import type { Selection } from './selection.js';

/** Bytes with A to Z as a to z. */
const lower = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
/** 1 for what stands between words, of ASCII. */
const isBetween = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x80 && isSeparator(byte) ? 1 : 0,
);

/**
 * The values that hold an ASCII text in any letter case and pass the test; of a single word its edges are test enough. A text
 * that is not all ASCII may hold it in another form, and is always put to the test. Without a text to look for all are.
 */
export function scanFolded(
  { bytes, offsets }: Texts,
  count: number,
  part: Buffer | undefined,
  kind: 'word' | 'words' | 'anywhere',
  test: (value: number) => boolean,
): Selection {
  const mask = new Uint8Array(count);
  if (part === undefined) {
    for (let value = 0; value < count; value++) mask[value] = test(value) ? 1 : 0;
    return mask;
  }
  const needsEdges = kind !== 'anywhere';
  for (let value = 0; value < count; value++) {
    const found = look(bytes, offsets[value]!, offsets[value + 1]!, part, needsEdges);
    if (found === 'none') continue;
    mask[value] = (found === 'found' && kind === 'word') || test(value) ? 1 : 0;
  }
  return mask;
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
    const isBegin = at === start || isBetween[bytes[at - 1]!] === 1;
    const isEnd = at + length === end || isBetween[bytes[at + length]!] === 1;
    if (isBegin && isEnd) return 'found';
  }
  return any < 0x80 ? 'none' : 'unknown';
}
