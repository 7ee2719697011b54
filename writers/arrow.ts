import { RecordBatch, RecordBatchStreamWriter, Schema } from 'apache-arrow';
import { stringifyJson } from '../engine/core/json.js';
import { ResultColumnBuilder, recordBatch } from '../engine/query/results/column-builders.js';
import type { Writer } from './writer.js';

/**
 * The Arrow IPC streaming format: a schema message, whose metadata has the provenance, one message per batch, and an end-of-stream marker. Nothing is compressed, because
 * other implementations read the compressed buffers of apache-arrow 21 incorrectly.
 */
export const arrowWriter: Writer<Uint8Array> = {
  format: 'arrow',
  extension: 'arrows',
  mediaType: 'application/vnd.apache.arrow.stream',
  description: 'Arrow IPC stream, uncompressed, with lists and objects as such.',
  partRecords: 16_384,
  encode: (records) => splitMessages(records.arrowBatch()).batch,
  bytesOf: (part) => [part],
  async *join(parts, { projection, provenance }) {
    const builders = projection.map(({ column }) => new ResultColumnBuilder(column));
    const { schema, data } = recordBatch(builders, 0, 'own');
    const metadata = new Map([['strandlake.provenance', stringifyJson(provenance)]]);
    yield splitMessages(new RecordBatch(new Schema(schema.fields, metadata), data)).schema;
    yield* parts;
    yield endOfStream;
  },
};

/** The end-of-stream marker: the continuation marker of four bytes and the length 0. */
const endOfStream = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

/**
 * Splits an Arrow stream of one batch into its messages. A message begins with the continuation marker and the length of its metadata; a
 * schema message has no body.
 */
function splitMessages(batch: RecordBatch): {
  readonly schema: Uint8Array;
  readonly batch: Uint8Array;
} {
  const stream = RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true);
  const metadataBytes = new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
  const end = 8 + metadataBytes;
  return {
    schema: stream.slice(0, end),
    batch: stream.slice(end, stream.length - endOfStream.length),
  };
}
