import { InputError } from '../../engine/core/errors.js';
import { parseJson } from '../../engine/core/json.js';
import type { Reader } from '../reader.js';
import { rejectUtf16 } from '../text/other-formats.js';
import { JsonlParser } from './jsonl-parser.js';

/** The reader of JSON lines: one JSON object per line; the types of the fields are inferred from the values. */
export const jsonlReader: Reader<null, null> = {
  name: 'json',
  extensions: ['json', 'jsonl', 'ndjson'],
  recognizes: beginsWithObject,
  parameters: {},
  params: () => null,
  tables: [{ extensions: ['json', 'jsonl'], readerParams: {}, isAllText: false }],
  async header(head) {
    const { bytes } = await head.firstBytes(256);
    rejectOtherFormats(head.name, bytes);
    return {
      header: null,
      bodyOffset: 0,
      bodyLine: 0,
      fields: [],
      genomeBuild: null,
      warnings: bytes.length === 0 ? ['the file is empty'] : [],
    };
  },
  read(chunk, _header, _params, out, report, options) {
    return new JsonlParser(out, report, options.columns, true).parseLines(chunk);
  },
};

/** Returns whether the first line is a JSON object, or begins like one if `start` ends before it does. */
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

/** Throws InputError for text that is certainly not JSON lines, so that there is one message and not one per line. */
function rejectOtherFormats(name: string, bytes: Uint8Array): void {
  rejectUtf16(name, bytes);
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
