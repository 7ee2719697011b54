import { stringifyJson } from '../engine/core/json.js';
import {
  arrowBatchMessage,
  arrowEndOfStream,
  arrowSchemaMessage,
} from '../engine/query/results/arrow-messages.js';
import type { Writer } from './writer.js';

/**
 * The Arrow IPC streaming format: a schema message, whose metadata has the provenance, one message per batch, and an end-of-stream marker.
 */
export const arrowWriter: Writer<Uint8Array> = {
  format: 'arrow',
  extension: 'arrows',
  mediaType: 'application/vnd.apache.arrow.stream',
  description: 'Arrow IPC stream, uncompressed, with lists and objects as such.',
  partRecords: 16_384,
  encode: (records) => arrowBatchMessage(records.arrowBatch()),
  bytesOf: (part) => [part],
  async *join(parts, { projection, provenance }) {
    const metadata = new Map([['strandlake.provenance', stringifyJson(provenance)]]);
    yield arrowSchemaMessage(projection, metadata);
    yield* parts;
    yield arrowEndOfStream;
  },
};
