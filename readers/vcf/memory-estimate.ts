import type { Columns } from '../../engine/core/types.js';
import { LineAnnotations } from './line-annotations.js';
import type { HeaderSource } from '../source/source.js';

/** Number of bytes from the first record on that are requested for the estimate. */
const estimateSampleBytes = 1 << 18;

/**
 * Estimates the bytes of memory per byte of text, from the first record. Every record takes space in every declared column,
 * and every sample in every FORMAT column, whether it has a value or not, so files of short lines and many keys need most. A
 * line whose annotations (of the key `explodedKey`) become records of their own repeats the rest of the line in each of them.
 */
export async function estimateMemoryPerByte(
  source: HeaderSource,
  bodyOffset: number,
  columns: Columns,
  sampleNames: readonly string[],
  explodedKey: string | null,
): Promise<number> {
  let bytes: Uint8Array;
  try {
    ({ bytes } = await source.firstBytes(bodyOffset + estimateSampleBytes));
  } catch {
    return 1; // the reader of the damaged chunk reports the error
  }
  const end = bytes.indexOf(10, bodyOffset);
  const lineBytes = (end < 0 ? bytes.length : end) - bodyOffset;
  if (lineBytes <= 0) return 1;
  const samplesColumn = columns.find((column) => column.isList && column.type === 'object');
  const fixedBytes = columnBytesPerRow(columns.filter((column) => column !== samplesColumn));
  const nameBytes = sampleNames.reduce((sum, name) => sum + name.length, 0);
  const recordBytes =
    fixedBytes + nameBytes + sampleNames.length * columnBytesPerRow(samplesColumn?.children ?? []);
  const annotations = new LineAnnotations(explodedKey ?? '', []);
  if (explodedKey !== null) {
    let infoFrom = bodyOffset;
    for (let tabs = 0; tabs < 7; tabs++) infoFrom = bytes.indexOf(9, infoFrom) + 1;
    const tab = bytes.indexOf(9, infoFrom);
    const lineEnd = bodyOffset + lineBytes;
    if (infoFrom > bodyOffset)
      annotations.findAnnotations(bytes, infoFrom, tab < 0 ? lineEnd : Math.min(tab, lineEnd));
  }
  const recordCount = Math.max(1, annotations.annotationCount);
  const sharedBytes = lineBytes - Math.max(0, annotations.valueTo - annotations.valueFrom);
  // The values themselves take about as much memory as their text.
  return 1 + (recordCount * recordBytes + (recordCount - 1) * sharedBytes) / lineBytes;
}

/**
 * Returns an estimate of the bytes that a record takes in the columns, without the bytes of its texts and of the elements of its lists; a
 * list of objects counts with one element.
 */
function columnBytesPerRow(columns: Columns): number {
  return columns.reduce((sum, { type, isList, children }) => {
    if (children) return sum + (isList ? 4 : 0) + columnBytesPerRow(children);
    return sum + (isList ? 4.1 : type === 'double' || type === 'long' ? 8.1 : 4.1);
  }, 0);
}

/** Estimates the number of lines from the first 64 KiB, and adds 5 %, so that the estimate is rarely too low. */
export function estimateLineCount(bytes: Buffer): number {
  const start = bytes.subarray(0, 1 << 16);
  let lines = 0;
  for (let at = start.indexOf(10); at >= 0; at = start.indexOf(10, at + 1)) lines++;
  return Math.ceil((1.05 * lines * bytes.length) / Math.max(1, start.length)) + 1;
}
