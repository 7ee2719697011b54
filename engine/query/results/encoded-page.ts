import type { DatasetField } from '../../core/dataset-field.js';
import { arrowEnd, arrowHead } from './arrow-messages.js';
import { cellNames, fieldTitles } from './cells.js';
import { delimitedCell } from './delimited.js';
import type { PageFormat, RecordBytes } from './page-format.js';
import type { Projected } from './projection.js';

const csvLayout = { delimiter: ',', lineEnd: '\r\n', isFormulaSafe: false } as const;

/** The format of lines of a table of text; `linesOf` separates them. */
export function lineFormat(delimiter: ',' | '\t'): LineFormat {
  return { kind: 'delimited', layout: { ...csvLayout, lineEnd: '\n', delimiter } };
}

type LineFormat = Extract<PageFormat, { readonly kind: 'delimited' }>;

/** The formats of pages other than a JSON array: of the records, and what stands before and behind them. */
export const pageFormats = {
  arrow: { format: { kind: 'arrow' }, head: arrowHead, tail: arrowEnd },
  json: {
    format: { kind: 'json', end: '\n' },
    head: () => new Uint8Array(),
    tail: new Uint8Array(),
  },
  csv: {
    format: { kind: 'delimited', layout: csvLayout },
    head: headerLine,
    tail: new Uint8Array(),
  },
} as const;

/** The bytes of a page, with its head and tail. */
export async function* encloseRecords(
  pieces: AsyncIterable<RecordBytes>,
  head: Uint8Array,
  tail: Uint8Array,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for await (const { bytes } of pieces) yield bytes;
  if (tail.length > 0) yield tail;
}

function headerLine(
  projection: readonly Projected[],
  fields: readonly Pick<DatasetField, 'path' | 'title'>[],
): Uint8Array {
  const names = cellNames(projection, fieldTitles(fields));
  return Buffer.from(`${names.map(({ title }) => delimitedCell(title, false, ',')).join(',')}\r\n`);
}

/** A JSON array of records from pieces in which every record has a comma behind it. */
export async function* jsonArray(
  pieces: AsyncIterable<RecordBytes>,
  records: number,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from('[');
  let made = 0;
  for await (const { bytes, ends } of pieces) {
    made += ends.length;
    yield made === records ? bytes.subarray(0, -1) : bytes;
  }
  yield Buffer.from(']');
}

/** The lines of text that `lineFormat` makes. */
export function linesOf({ bytes, ends }: RecordBytes): readonly string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from(ends, (end, i) => text.toString('utf8', i === 0 ? 0 : ends[i - 1]!, end - 1));
}
