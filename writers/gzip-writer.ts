import { gzipSync } from 'node:zlib';
import type { Writer } from './writer.js';

/**
 * For lines of VCF records, level 3 takes two fifths of the time of gzip's default level, and its output is a quarter larger; level 4 takes
 * half as much time again as level 3, and its output is a twentieth smaller.
 */
const gzipLevel = 3;

/** Returns a gzip member; a gzip file is a sequence of members (RFC 1952, section 2.2). */
export function gzipMember(bytes: Uint8Array): Uint8Array {
  return gzipSync(bytes, { level: gzipLevel });
}

/**
 * Returns the writer of a format `<format>-gz`, whose files are those of `writer` compressed with gzip. The threads that encode parts also
 * compress them.
 */
export function gzipWriter(writer: Writer<Uint8Array>): Writer<Uint8Array> {
  return {
    ...writer,
    format: `${writer.format}-gz`,
    extension: `${writer.extension}.gz`,
    mediaType: 'application/gzip',
    description: `Like ${writer.format}, compressed with gzip.`,
    encode: (records, context) => gzipMember(writer.encode(records, context)),
    async *join(parts, context, warn) {
      for await (const head of writer.join(emptyByteStream(), context, warn))
        yield gzipMember(head);
      yield* parts;
    },
  };
}

async function* emptyByteStream(): AsyncGenerator<never> {}
