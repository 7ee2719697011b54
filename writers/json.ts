import { gzipMember } from './gzip-writer.js';
import type { Writer } from './writer.js';

/** JSON Lines, compressed with gzip: one record per line, which an import reads back (contract, section 11.5). */
export const jsonWriter: Writer<Uint8Array> = {
  format: 'json',
  extension: 'json.gz',
  mediaType: 'application/gzip',
  description: 'JSON Lines, compressed with gzip: one record per line, which an import reads back.',
  partRecords: 32_768,
  writesJsonLines: true,
  encode: (records) => gzipMember(records.jsonLines()),
  bytesOf: (part) => [part],
  async *join(parts) {
    let isEmpty = true;
    for await (const part of parts) {
      isEmpty = false;
      yield part;
    }
    if (isEmpty) yield gzipMember(Buffer.of());
  },
};
