import { invalidError } from '../../../engine/core/errors.js';
import { defaultFormat, losslessFormat, writerNamed, writers } from '../../../writers/index.js';
import type { Writer } from '../../../writers/writer.js';

export { defaultFormat, losslessFormat };

/** Names and descriptions of the export formats. */
export const exportFormats: readonly Pick<Writer, 'format' | 'description'>[] = writers;

/** Returns the name of a file of the default format, for examples. */
export function exampleFilename(name: string): string {
  return `${name}.${requireWriter(defaultFormat).extension}`;
}

/** Returns the writer of a format. Throws `invalid` for the field `format` if the format is unknown. */
export function requireWriter(format: string): Writer {
  const writer = writerNamed(format);
  if (writer !== undefined) return writer;
  const known = writers.map((one) => one.format).join(', ');
  throw invalidError(
    'format',
    `Unknown format "${format.slice(0, 40)}", expected one of ${known}.`,
  );
}
