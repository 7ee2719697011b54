import type { Columns } from '../../engine/core/types.js';
import { Annotations } from './annotations.js';
import type { HeadSource } from '../reader.js';

/** Of the first record, no more than this is looked at. */
const most = 1 << 18;

/**
 * About how many bytes of memory a byte of text becomes. Every record has a place in every declared column, and every sample in
 * every FORMAT column, whether it has a value or not; so a file of short lines and many keys grows most. Lines of which
 * every annotation makes a record (those of the key `exploded`) repeat the rest in each.
 */
export async function growthOf(
  source: HeadSource,
  bodyOffset: number,
  columns: Columns,
  samples: readonly string[],
  exploded: string | null,
): Promise<number> {
  let bytes: Uint8Array;
  try {
    ({ bytes } = await source.bytes(bodyOffset + most));
  } catch {
    return 1; // damage is told by the chunk that holds it
  }
  const end = bytes.indexOf(10, bodyOffset);
  const text = (end < 0 ? bytes.length : end) - bodyOffset;
  if (text <= 0) return 1;
  const list = columns.find((column) => column.isList && column.type === 'object');
  const fixed = bytesOf(columns.filter((column) => column !== list));
  const names = samples.reduce((sum, name) => sum + name.length, 0);
  const all = fixed + names + samples.length * bytesOf(list?.children ?? []);
  const annotations = new Annotations(exploded ?? '', []);
  if (exploded !== null) {
    let info = bodyOffset;
    for (let tabs = 0; tabs < 7; tabs++) info = bytes.indexOf(9, info) + 1;
    const tab = bytes.indexOf(9, info);
    const stop = bodyOffset + text;
    if (info > bodyOffset) annotations.find(bytes, info, tab < 0 ? stop : Math.min(tab, stop));
  }
  const records = Math.max(1, annotations.count);
  const shared = text - Math.max(0, annotations.to - annotations.from);
  // Values themselves are about as large as their text.
  return 1 + (records * all + (records - 1) * shared) / text;
}

/** What a record without values takes in the columns: offsets, numbers, and a bit for what is missing. */
function bytesOf(columns: Columns): number {
  return columns.reduce((sum, { type, isList, children }) => {
    if (children) return sum + (isList ? 4 : 0) + bytesOf(children);
    return sum + (isList ? 4.1 : type === 'double' || type === 'long' ? 8.1 : 4.1);
  }, 0);
}

/** About how many lines there are, by those at the beginning. */
export function expectedLines(bytes: Buffer): number {
  const start = bytes.subarray(0, 1 << 16);
  let lines = 0;
  for (let at = start.indexOf(10); at >= 0; at = start.indexOf(10, at + 1)) lines++;
  return Math.ceil((1.05 * lines * bytes.length) / Math.max(1, start.length)) + 1;
}
