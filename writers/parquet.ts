import {
  encodeRowGroup,
  joinRowGroups,
  type EncodedRowGroup,
} from '../engine/parquet/file-encoder.js';
import { stringifyJson } from '../engine/core/json.js';
import { AppError } from '../engine/core/errors.js';
import type { ParquetColumn } from '../engine/parquet/parquet-schema.js';
import { parquetColumnsWithoutReserved } from '../engine/store/arrow-columns.js';
import { createdBy } from '../engine/store/segment.js';
import type { FileContext, Writer } from './writer.js';

/**
 * Parquet, compressed with zstd: each part is a row group. The columns of a segment's row group are copied without decoding if the
 * group has exactly the records of a part, and has every column of the file in the same type and with a single encoding. Columns have their
 * stored names. The provenance is in the key-value metadata of the footer.
 */
export const parquetWriter: Writer<EncodedRowGroup> = {
  format: 'parquet',
  extension: 'parquet',
  mediaType: 'application/vnd.apache.parquet',
  description: 'Parquet, compressed with zstd, with lists and objects as such.',
  partRecords: 65_536,
  copiesRowGroups: true,
  encode(records, context) {
    const columns = parquetColumnsOf(context);
    return records.storedRowGroup(columns) ?? encodeRowGroup(columns, records.storedBatch());
  },
  bytesOf: ({ bytes }) => [bytes],
  join: (parts, context) =>
    joinRowGroups(parquetColumnsOf(context), parts, createdBy, [
      ['strandlake.provenance', stringifyJson(context.provenance)],
    ]),
};

function parquetColumnsOf({ projection }: FileContext): readonly ParquetColumn[] {
  if (projection.length === 0)
    throw new AppError('invalid', 'A Parquet file needs at least one field.');
  return parquetColumnsWithoutReserved(projection.map(({ column }) => column));
}
