import { delimitedCell, delimitedFormat } from '../engine/query/results/delimited.js';
import type { DelimitedLayout } from '../engine/query/results/page-format.js';
import { fileCells, type Writer, type WriterOptions } from './writer.js';

/** The properties in which delimited formats differ. */
type DelimitedFormat = Pick<Writer, 'format' | 'extension' | 'mediaType' | 'description'> & {
  readonly expandsLists?: boolean;
} & Pick<DelimitedLayout, 'delimiter' | 'lineEnd'>;

/** Creates the writer of a delimited text format whose first line has the titles of the fields. */
export function delimitedWriter({
  delimiter,
  lineEnd,
  ...format
}: DelimitedFormat): Writer<Uint8Array> {
  const layout = ({ isFormulaSafe }: WriterOptions): DelimitedLayout => ({
    delimiter,
    lineEnd,
    isFormulaSafe,
  });
  return {
    ...format,
    partRecords: 32_768,
    encode: (records, { options }) => records.cells(delimitedFormat(layout(options))),
    bytesOf: (part) => [part],
    async *join(parts, context) {
      const titles = fileCells(context).map(({ title }) =>
        delimitedCell(title, context.options.isFormulaSafe, delimiter),
      );
      yield Buffer.from(titles.join(delimiter) + lineEnd);
      yield* parts;
    },
  };
}
