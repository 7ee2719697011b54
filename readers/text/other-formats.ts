import { InputError } from '../../engine/core/errors.js';

/** Throws InputError for UTF-16 that has not been decoded, and for HTML, so that there is one message and not one per line. */
export function rejectOtherFormats(name: string, bytes: Uint8Array): void {
  rejectUtf16(name, bytes);
  const start = Buffer.from(bytes.subarray(0, 256)).toString('latin1');
  if (/^\s*<(?:!doctype\s+html|html)[\s>]/i.test(start))
    throw new InputError(
      { file: name, byte: 0 },
      'this is an HTML page: was an error page saved in place of the file?',
    );
}

/** Throws InputError for UTF-16 without a byte order mark, which is recognized by zero bytes between ASCII characters. */
export function rejectUtf16(name: string, bytes: Uint8Array): void {
  const [a, b, c, d] = bytes;
  if ((a === 0 && b! > 0 && c === 0) || (a! > 0 && b === 0 && d === 0))
    throw new InputError(
      { file: name, byte: 0 },
      'this is UTF-16 text, not a UTF-8 file: save it as UTF-8',
    );
}
