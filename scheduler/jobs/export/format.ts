import { invalid } from '../../../engine/core/errors.js';
import { writerNamed, writers } from '../../../writers/index.js';
import type { Writer } from '../../../writers/writer.js';

/** The names of the formats, and what the documentation says of each. */
export const exportFormats: readonly Pick<Writer, 'format' | 'description'>[] = writers;

/** The writer of a requested format; an unknown one is refused with the request's field. */
export function checkFormat(format: string): Writer {
  const writer = writerNamed(format);
  if (writer !== undefined) return writer;
  const known = writers.map((one) => one.format).join(', ');
  throw invalid('format', `Unknown format "${format.slice(0, 40)}", expected one of ${known}.`);
}
