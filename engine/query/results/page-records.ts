import { arrowBatchMessage, gatherArrowMessage, type RowSourceOrder } from './arrow-messages.js';
import type { RowRef } from '../../store/store.js';
import { delimitedLines, jsonRecords, materialise } from './materialise.js';
import type { SegmentSource } from './row-blocks.js';
import type { PageFormat, PageLayout, PageRecords, RecordBytes } from './page-format.js';

/** Returns the records in these rows, in the order of `rows`. Throws `damaged` for a file that cannot be read. */
export function pageRecords<F extends PageFormat>(
  source: SegmentSource,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
): PageRecords<F>;
export function pageRecords(
  source: SegmentSource,
  rows: readonly RowRef[],
  { projection, format }: PageLayout,
): PageRecords {
  const ends: number[] = [];
  switch (format.kind) {
    case 'texts':
      return materialise(source, rows, projection, 'json');
    case 'json':
      return recordBytesOf(jsonRecords(source, rows, projection, format.end, ends), ends);
    case 'delimited':
      return recordBytesOf(delimitedLines(source, rows, projection, format.layout, ends), ends);
    case 'arrow':
      return recordBytesOf(arrowBatchMessage(materialise(source, rows, projection, 'arrow')), ends);
  }
}

function recordBytesOf(bytes: Uint8Array<ArrayBuffer>, ends: readonly number[]): RecordBytes {
  return { bytes, ends: Uint32Array.from(ends) };
}

/** A part of a page's records, and the index of each record in the page. */
interface PageRecordsPart<F extends PageFormat = PageFormat> {
  readonly records: PageRecords<F>;
  readonly indices: readonly number[];
}

/** Joins parts that together contain all records of a page. */
export function joinedRecords<F extends PageFormat>(
  parts: readonly PageRecordsPart<F>[],
  layout: PageLayout<F>,
): PageRecords<F>;
export function joinedRecords(
  parts: readonly PageRecordsPart[],
  { projection, format }: PageLayout,
): PageRecords {
  const [first] = parts;
  if (parts.length === 1 && first!.indices.every((index, i) => index === i)) return first!.records;
  const count = parts.reduce((sum, { indices }) => sum + indices.length, 0);
  if (format.kind === 'texts') {
    const texts: string[] = Array.from({ length: count });
    for (const { records, indices } of parts)
      for (const [i, to] of indices.entries()) texts[to] = (records as readonly string[])[i]!;
    return texts;
  }
  const pieces = parts.map(({ records }) => records as RecordBytes);
  const order = { part: new Uint16Array(count), index: new Uint32Array(count) };
  for (const [part, { indices }] of parts.entries())
    for (const [i, to] of indices.entries()) {
      order.part[to] = part;
      order.index[to] = i;
    }
  if (format.kind === 'arrow') {
    const messages = pieces.map(({ bytes }) => bytes);
    return recordBytesOf(gatherArrowMessage(messages, projection, order), []);
  }
  return copyRecordsInOrder(pieces, order);
}

function copyRecordsInOrder(
  pieces: readonly RecordBytes[],
  { part, index }: RowSourceOrder,
): RecordBytes {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.bytes.length, 0));
  const ends = new Uint32Array(index.length);
  let end = 0;
  for (let i = 0; i < index.length; i++) {
    const piece = pieces[part[i]!]!;
    const at = index[i]!;
    const from = at === 0 ? 0 : piece.ends[at - 1]!;
    const to = piece.ends[at]!;
    bytes.set(piece.bytes.subarray(from, to), end);
    ends[i] = end += to - from;
  }
  return { bytes, ends };
}
