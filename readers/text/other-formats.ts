import { InputError } from '../../engine/core/errors.js';

/** Throws InputError for text that is certainly of another format: one message instead of one per line. */
export function rejectOtherFormats(name: string, bytes: Uint8Array): void {
  const [a, b, c, d] = bytes;
  if ((a === 0 && b! > 0 && c === 0) || (a! > 0 && b === 0 && d === 0))
    throw new InputError(
      { file: name, byte: 0 },
      'this is UTF-16 text, not a UTF-8 file: save it as UTF-8',
    );
  const start = Buffer.from(bytes.subarray(0, 256)).toString('latin1');
  if (/^\s*<(?:!doctype\s+html|html)[\s>]/i.test(start))
    throw new InputError(
      { file: name, byte: 0 },
      'this is an HTML page: was an error page saved in place of the file?',
    );
}
