import { delimitedCell, type DelimitedLayout } from '../engine/query/results/delimited.js';
import type { Writer, WriterOptions } from './writer.js';

/** The properties in which CSV and TSV differ. */
export type DelimitedFormat = Pick<Writer, 'format' | 'extension' | 'mediaType' | 'description'> &
  Pick<DelimitedLayout, 'delimiter' | 'lineEnd'>;

/** Creates the writer of a delimited text format whose first line has the titles of the fields. */
export function delimitedWriter(format: DelimitedFormat): Writer<Uint8Array> {
  const { delimiter, lineEnd } = format;
  const layout = ({ isFormulaSafe }: WriterOptions): DelimitedLayout => ({
    delimiter,
    lineEnd,
    isFormulaSafe,
  });
  return {
    format: format.format,
    extension: format.extension,
    mediaType: format.mediaType,
    description: format.description,
    partRecords: 8_192,
    encode: (records, { options }) => records.delimitedLines(layout(options)),
    async *join(parts, { columns, options }) {
      const titles = columns.map(({ title }) =>
        delimitedCell(title, options.isFormulaSafe, delimiter),
      );
      yield Buffer.from(titles.join(delimiter) + lineEnd);
      yield* parts;
    },
  };
}
