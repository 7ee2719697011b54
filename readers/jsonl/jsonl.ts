import { InputError } from '../../engine/core/errors.js';
import { parseJson } from '../../engine/core/json.js';
import type { Reader } from '../reader.js';
import { JsonlParser } from './parser.js';

/** JSONL: one JSON object per line, types found from the values. */
export const jsonl: Reader<null, null> = {
  name: 'json',
  extensions: ['json', 'jsonl', 'ndjson'],
  recognizes: beginsWithObject,
  params: () => null,
  async header(head) {
    const { bytes } = await head.bytes(256);
    rejectOtherFormats(head.name, bytes);
    return {
      header: null,
      bodyOffset: 0,
      bodyLine: 0,
      columns: [],
      fields: [],
      genomeBuild: null,
      warnings: bytes.length === 0 ? ['the file is empty'] : [],
    };
  },
  read(chunk, _header, _params, out, report, options) {
    return new JsonlParser(out, report, options.columns).read(chunk);
  },
};

/** Whether the first line is a JSON object; one too long to be seen whole must at least begin like one. */
function beginsWithObject(start: string): boolean {
  const end = start.indexOf('\n');
  const line = end < 0 ? start : start.slice(0, end);
  if (!/^\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})/.test(line)) return false;
  try {
    parseJson(line);
    return true;
  } catch {
    return end < 0;
  }
}

/** Text that is certainly no JSONL is named once here, instead of line by line. */
function rejectOtherFormats(name: string, bytes: Uint8Array): void {
  const [a, b, c, d] = bytes;
  if ((a === 0 && b! > 0 && c === 0) || (a! > 0 && b === 0 && d === 0))
    throw new InputError(
      { file: name, byte: 0 },
      'this is UTF-16 text, not a UTF-8 file: save it as UTF-8',
    );
  if (
    /^\s*\{\s*"header"\s*:\s*\{\s*"annotator"/.test(Buffer.from(bytes).toString('latin1', 0, 256))
  )
    throw new InputError(
      { file: name, byte: 0 },
      'this is Nirvana JSON, not JSONL: set reader_params.reader to "nirvana"',
    );
  if (bytes.find((byte) => byte > 32) === 0x3c)
    throw new InputError(
      { file: name, byte: 0 },
      'this is an HTML or XML page, not JSONL: one JSON object per line is expected',
    );
}
