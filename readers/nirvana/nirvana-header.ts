import type { JsonObject } from '../../engine/core/types.js';
import { InputError } from '../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../engine/core/json.js';
import type { HeaderSource } from '../source/source.js';
import { nextLineStart } from '../text/lines.js';
import { rejectOtherFormats } from '../text/other-formats.js';

/** The first line of a Nirvana file: the header object, and where the positions (records) begin. */
interface NirvanaHeader {
  /** The header object; empty for an empty file. */
  readonly header: JsonObject;
  readonly isEmpty: boolean;
  readonly bodyOffset: number;
  readonly bodyLine: number;
}

/** Maximum size in bytes of the first line. The header lists data sources and samples, usually in a few kilobytes. */
const maxHeaderBytes = 16 << 20;

/**
 * Reads the first line, `{"header":{…},"positions":[`. Nirvana writes each position on a line of its own, so positions can be read in
 * chunks. Throws InputError for other layouts.
 */
export async function readNirvanaHeader(source: HeaderSource): Promise<NirvanaHeader> {
  const { bytes, end, isWhole } = await readFirstLine(source);
  const headerError = (message: string) => new InputError({ file: source.name, line: 1 }, message);
  const line = decoder.decode(bytes.subarray(0, end)).trimEnd();
  if (line === '' && end === bytes.length && isWhole)
    return { header: {}, isEmpty: true, bodyOffset: 0, bodyLine: 0 };
  if (/^\s*[[{]?\s*$/.test(line))
    throw headerError(
      'the first line must hold the header and begin the positions, as Nirvana writes it: this file is pretty-printed or was written by another tool',
    );
  // One character for each byte, so that indices are offsets.
  const byteText = Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('latin1');
  const positionsStart = /"positions"\s*:\s*\[[ \t]*/g;
  while (positionsStart.test(byteText)) {
    const bodyOffset = positionsStart.lastIndex;
    const header = headerBeforePositions(decoder.decode(bytes.subarray(0, bodyOffset)));
    if (header === undefined) continue; // the match is inside a string of the header
    if (header === null)
      throw headerError(
        'there is no header object before the positions: Nirvana writes "header" first',
      );
    const next = byteText[bodyOffset];
    if (next === undefined)
      return { header, isEmpty: false, bodyOffset: nextLineStart(bytes, end), bodyLine: 1 };
    if (next !== ']')
      throw headerError('the positions must stand on lines of their own, as Nirvana writes them');
    return { header, isEmpty: false, bodyOffset, bodyLine: 0 };
  }
  throw headerError(
    'this is no Nirvana JSON: expected {"header":{…},"positions":[ on the first line; if it holds one record per line, set reader_params.reader to "json"',
  );
}

/** Returns the header of `{"header":{…},"positions":[`; null if there is none, undefined if the bracket does not open the positions. */
function headerBeforePositions(text: string): JsonObject | null | undefined {
  let value: unknown;
  try {
    value = parseJson(`${text}]}`);
  } catch {
    return undefined;
  }
  const { header, positions } = value as { header?: unknown; positions?: unknown };
  if (!Array.isArray(positions)) return undefined;
  if (typeof header !== 'object' || header === null || Array.isArray(header)) return null;
  return JSON.parse(stringifyJson(header as never, { nonFinite: 'null' })) as JsonObject;
}

async function readFirstLine(
  source: HeaderSource,
): Promise<{ bytes: Uint8Array; end: number; isWhole: boolean }> {
  for (let wantedBytes = 1 << 16; ; wantedBytes *= 4) {
    const { bytes, isWhole } = await source.firstBytes(wantedBytes);
    rejectOtherFormats(source.name, bytes);
    const end = bytes.findIndex((byte) => byte === 10 || byte === 13);
    if (end >= 0) return { bytes, end, isWhole };
    if (isWhole) return { bytes, end: bytes.length, isWhole };
    if (wantedBytes >= maxHeaderBytes)
      throw new InputError(
        { file: source.name, line: 1 },
        `the first line is longer than ${maxHeaderBytes} bytes: Nirvana writes the header and each position on a line of its own`,
      );
  }
}

const decoder = new TextDecoder();
