import { basename } from 'node:path';
import { AppError } from '../core/errors.js';
import { blockBytes, VerifiedBlocks, type CheckedFile } from '../core/block-checksums.js';
import { openFile, type FileReader } from '../core/files.js';
import { RecentMap } from '../core/recent-map.js';
import { partNames, type ColumnSummary, type IndexPartName } from './column-writer.js';
import { indexMagic, indexTailBytes, indexVersion, type IndexSummary } from './index-writer.js';

/** An immutable file; `checksum` distinguishes it from an earlier file of the same name. */
export interface IndexedFile extends CheckedFile {
  readonly checksum: string;
}

/** The opened text index of one segment. */
export interface TextIndex {
  readonly file: IndexedFile;
  /** Unique in this process; serves as a short cache key. */
  readonly number: number;
  /** Number of rows of the segment. */
  readonly rows: number;
  /** By `indexedName`. */
  readonly columns: ReadonlyMap<string, ColumnLocation>;
}

/** The index of one column, and the positions of its parts in the file. */
export interface ColumnLocation {
  readonly summary: ColumnSummary;
  readonly begins: Readonly<Record<IndexPartName, number>>;
}

const footerTailBytes = 8;
const pageBytes = 64 << 10;
const maxPages = 128 << 20;
const maxSummaries = 16 << 20;

const pages = new RecentMap<string, Uint8Array>(maxPages);
const summaries = new RecentMap<string, TextIndex | null>(maxSummaries);
let opened = 0;

/** Opens the index in a segment's file; undefined if it has none of the current version. */
export async function openIndex(file: IndexedFile): Promise<TextIndex | undefined> {
  const key = `${file.path}\n${file.checksum}`;
  const known = summaries.get(key);
  if (known !== undefined) return known ?? undefined;
  const index = await readSummary(file);
  summaries.set(key, index ?? null, 500 + 500 * (index?.columns.size ?? 0));
  return index;
}

/** Reads `length` bytes at `from` of one part of a column's index; by default the whole part. */
export async function readPart(
  index: TextIndex,
  { summary, begins }: ColumnLocation,
  part: IndexPartName,
  from = 0,
  length = summary.sizes[part],
): Promise<Uint8Array> {
  if (from < 0 || length < 0 || from + length > summary.sizes[part]) {
    throw damagedIndex(index.file, `points outside its ${part}`);
  }
  return readBytes(index, begins[part] + from, length);
}

/** The error for an index whose bytes the writer would not have produced. */
export function damagedIndex(file: IndexedFile, problem: string, cause?: unknown): AppError {
  const message = `The text index of segment ${basename(file.path)} ${problem}; restore the file from a backup`;
  return new AppError('damaged', message, undefined, cause);
}

async function readSummary(file: IndexedFile): Promise<TextIndex | undefined> {
  const reader = await openFile(file.path);
  try {
    const blocks = verifiedBlocks(file, reader);
    const read = (from: number, length: number): Promise<Uint8Array> =>
      readVerified(reader, blocks, from, length);
    const footer = await read(reader.bytes - footerTailBytes, footerTailBytes);
    const end = reader.bytes - footerTailBytes - viewOf(footer).getUint32(0, true);
    if (end < indexTailBytes) throw damagedIndex(file, 'has no room before the footer');
    const tail = viewOf(await read(end - indexTailBytes, indexTailBytes));
    if (tail.getUint32(4, true) !== indexMagic) return undefined;
    const length = tail.getUint32(0, true);
    const text = await read(end - indexTailBytes - length, length);
    return parse(file, text, end - indexTailBytes - length);
  } finally {
    await reader.close();
  }
}

/** Undefined if the blocks of the file have no checksums. */
function verifiedBlocks(file: IndexedFile, { bytes }: FileReader): VerifiedBlocks | undefined {
  const altered = (): AppError => damagedIndex(file, 'does not match its checksum');
  return file.blockChecksums === undefined
    ? undefined
    : new VerifiedBlocks(file.blockChecksums, bytes, altered);
}

/** Reads bytes of a file, fewer at its end, and compares the blocks that hold them with their checksums. */
async function readVerified(
  reader: FileReader,
  blocks: VerifiedBlocks | undefined,
  from: number,
  length: number,
): Promise<Uint8Array> {
  if (blocks === undefined) return reader.read(from, length);
  const first = Math.floor(from / blockBytes);
  const begin = first * blockBytes;
  const end = Math.ceil((from + length) / blockBytes) * blockBytes;
  const bytes = await reader.read(begin, end - begin);
  blocks.verifyAll(first, bytes);
  return bytes.subarray(from - begin, from - begin + length);
}

/** Parses the summary, which begins at position `at`; undefined if the index has another version. */
function parse(file: IndexedFile, text: Uint8Array, at: number): TextIndex | undefined {
  try {
    const summary = JSON.parse(Buffer.from(text).toString()) as IndexSummary;
    return summary.version === indexVersion
      ? located(file, summary, at - summary.bytes)
      : undefined;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw damagedIndex(file, 'has a summary that cannot be read', error);
  }
}

function located(file: IndexedFile, summary: IndexSummary, begin: number): TextIndex {
  let at = begin;
  const columns = new Map<string, ColumnLocation>();
  for (const column of summary.columns) {
    const numbers = [column.records, column.texts, column.words, ...Object.values(column.sizes)];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) {
      throw damagedIndex(file, `has a summary of ${column.name} without a valid count or size`);
    }
    const begins = {} as Record<IndexPartName, number>;
    for (const part of partNames) {
      begins[part] = at;
      at += column.sizes[part];
    }
    columns.set(column.name, { summary: column, begins });
  }
  if (!(begin >= 0 && at === begin + summary.bytes)) {
    throw damagedIndex(file, `has parts of ${at - begin} bytes, should be ${summary.bytes}`);
  }
  return { file, number: ++opened, rows: summary.rows, columns };
}

/** Reads through the page cache, so that a lookup in an index used before opens no file. */
async function readBytes(index: TextIndex, from: number, length: number): Promise<Uint8Array> {
  const first = Math.floor(from / pageBytes);
  const last = Math.floor((from + Math.max(length, 1) - 1) / pageBytes);
  const found: (Uint8Array | undefined)[] = [];
  for (let page = first; page <= last; page++) found.push(pages.get(keyOf(index, page)));
  if (found.includes(undefined)) await fill(index, first, found);
  const start = from - first * pageBytes;
  const whole = found as Uint8Array[];
  if (start + length > whole.length * pageBytes - pageBytes + whole.at(-1)!.length) {
    throw damagedIndex(index.file, 'ends early');
  }
  if (whole.length === 1) return whole[0]!.subarray(start, start + length);
  const bytes = new Uint8Array(length);
  for (const [i, page] of whole.entries()) {
    const at = i * pageBytes - start; // the first page begins before the wanted bytes
    bytes.set(page.subarray(Math.max(0, -at), length - at), Math.max(0, at));
  }
  return bytes;
}

async function fill(
  index: TextIndex,
  first: number,
  found: (Uint8Array | undefined)[],
): Promise<void> {
  const reader = await openFile(index.file.path);
  try {
    const blocks = verifiedBlocks(index.file, reader);
    for (let i = 0; i < found.length;) {
      let run = 0;
      while (i + run < found.length && found[i + run] === undefined) run += 1;
      if (run === 0) {
        i += 1;
        continue;
      }
      const from = (first + i) * pageBytes;
      const bytes = await readVerified(reader, blocks, from, run * pageBytes);
      for (let j = 0; j < run; j++, i++) {
        // A copy, so that a cached page does not keep its neighbours in memory.
        const page = bytes.slice(j * pageBytes, (j + 1) * pageBytes);
        found[i] = page;
        pages.set(keyOf(index, first + i), page, page.length);
      }
    }
  } finally {
    await reader.close();
  }
}

function keyOf({ number }: TextIndex, page: number): string {
  return `${number} ${page}`;
}

function viewOf(bytes: Uint8Array): DataView {
  if (bytes.length < 8) return new DataView(new ArrayBuffer(8));
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
