import { delimitedFormat, delimitedLine } from '../engine/query/results/delimited.js';
import type { DelimitedLayout } from '../engine/query/results/page-format.js';
import { fileCells, type Writer, type WriterOptions } from './writer.js';

/** The properties in which delimited formats differ. */
type DelimitedFormat = Pick<Writer, 'format' | 'extension' | 'mediaType' | 'description'> & {
  readonly expandsLists?: boolean;
  /** The layout of a request without `csv_safe`. */
  readonly layout: DelimitedLayout;
};

/** Creates the writer of a delimited text format whose first line has the titles of the fields. */
export function delimitedWriter({ layout, ...format }: DelimitedFormat): Writer<Uint8Array> {
  const requestedLayout = ({ isFormulaSafe }: WriterOptions): DelimitedLayout => ({
    ...layout,
    isFormulaSafe,
  });
  return {
    ...format,
    partRecords: 32_768,
    encode: (records, { options }) => records.cells(delimitedFormat(requestedLayout(options))),
    bytesOf: (part) => [part],
    async *join(parts, context) {
      const titles = fileCells(context).map(({ title }) => title);
      yield Buffer.from(delimitedLine(titles, requestedLayout(context.options)));
      yield* parts;
    },
  };
}
