import type { DatasetField } from '../../core/dataset-field.js';
import { arrowEndOfStream, arrowSchemaMessage } from './arrow-messages.js';
import { cellNames, fieldTitles } from './cells.js';
import { csvLayout, delimitedLine } from './delimited.js';
import type { PageFormat, RecordBytes } from './page-format.js';
import type { ProjectedColumn } from './projection.js';

/** Returns the format of lines of delimited text; `splitLines` separates them. */
export function lineFormat(delimiter: ',' | '\t'): LineFormat {
  return { kind: 'delimited', layout: { ...csvLayout, lineEnd: '\n', delimiter } };
}

type LineFormat = Extract<PageFormat, { readonly kind: 'delimited' }>;

/** The formats of pages other than a JSON array: the format of the records, and the bytes before and after them. */
export const pageFormats = {
  arrow: {
    format: { kind: 'arrow' },
    head: (projection: readonly ProjectedColumn[]) => arrowSchemaMessage(projection),
    tail: arrowEndOfStream,
  },
  json: {
    format: { kind: 'json', end: '\n' },
    head: () => new Uint8Array(),
    tail: new Uint8Array(),
  },
  csv: {
    format: { kind: 'delimited', layout: csvLayout },
    head: csvHeaderLine,
    tail: new Uint8Array(),
  },
} as const;

/** Yields the bytes of a page, including its head and tail. */
export async function* encloseRecords(
  pieces: AsyncIterable<RecordBytes>,
  head: Uint8Array,
  tail: Uint8Array,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for await (const { bytes } of pieces) yield bytes;
  if (tail.length > 0) yield tail;
}

function csvHeaderLine(
  projection: readonly ProjectedColumn[],
  fields: readonly Pick<DatasetField, 'path' | 'title'>[],
): Uint8Array {
  const names = cellNames(projection, fieldTitles(fields));
  const titles = names.map(({ title }) => title);
  return Buffer.from(delimitedLine(titles, csvLayout));
}

/** Yields a JSON array of records, from pieces in which a comma follows every record. */
export async function* jsonArray(
  pieces: AsyncIterable<RecordBytes>,
  recordCount: number,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from('[');
  let yieldedCount = 0;
  for await (const { bytes, ends } of pieces) {
    yieldedCount += ends.length;
    yield yieldedCount === recordCount ? bytes.subarray(0, -1) : bytes;
  }
  yield Buffer.from(']');
}

/** Returns records whose line end is a single byte as strings, without the line ends. */
export function splitLines({ bytes, ends }: RecordBytes): readonly string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from(ends, (end, i) => text.toString('utf8', i === 0 ? 0 : ends[i - 1]!, end - 1));
}
