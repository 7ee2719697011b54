import { basename } from 'node:path';
import { AppError } from '../core/errors.js';
import { partNames, type ColumnSummary, type IndexPartName } from './column-writer.js';
import { indexMagic, indexTrailerBytes, indexVersion, type IndexSummary } from './index-writer.js';

/** A segment's file. The bytes that `read` returns have been compared with the file's checksums. */
interface IndexedFile {
  readonly path: string;
  /** Offset of the footer; the index is directly before it. */
  readonly footerOffset: number;
  read(from: number, length: number): Uint8Array;
}

/** The text index of one segment. */
export interface TextIndex {
  readonly file: IndexedFile;
  /** Number of rows of the segment. */
  readonly rows: number;
  /** The columns by `indexedName`. */
  readonly columns: ReadonlyMap<string, ColumnLocation>;
}

/** The index of one column, and the positions of its parts in the file. */
export interface ColumnLocation {
  readonly summary: ColumnSummary;
  readonly begins: Readonly<Record<IndexPartName, number>>;
}

/** Reads the summary of the text index in a segment's file; returns undefined if the file has no index of the current version. */
export function openIndex(file: IndexedFile): TextIndex | undefined {
  const end = file.footerOffset;
  if (end < indexTrailerBytes) throw damagedIndexError(file, 'has no room before the footer');
  const trailer = Buffer.from(file.read(end - indexTrailerBytes, indexTrailerBytes));
  if (trailer.readUInt32LE(4) !== indexMagic) return undefined;
  const begin = end - indexTrailerBytes - trailer.readUInt32LE(0);
  if (begin < 0) throw damagedIndexError(file, 'has a summary longer than the file');
  return parseIndex(file, file.read(begin, end - indexTrailerBytes - begin), begin);
}

/** Reads `length` bytes at `from` of one part of a column's index; by default the whole part. */
export function readPart(
  { file }: TextIndex,
  { summary, begins }: ColumnLocation,
  part: IndexPartName,
  from = 0,
  length = summary.sizes[part],
): Uint8Array {
  if (from < 0 || length < 0 || from + length > summary.sizes[part]) {
    throw damagedIndexError(file, `points outside its ${part}`);
  }
  return file.read(begins[part] + from, length);
}

/** Returns the error for an index whose bytes the writer would not have produced. */
export function damagedIndexError(
  { path }: Pick<IndexedFile, 'path'>,
  problem: string,
  cause?: unknown,
): AppError {
  const message = `The text index of segment ${basename(path)} ${problem}; restore the file from a backup`;
  return new AppError('damaged', message, undefined, cause);
}

/** Parses the summary, which begins at position `at`; returns undefined if the index has another version. */
function parseIndex(file: IndexedFile, text: Uint8Array, at: number): TextIndex | undefined {
  try {
    const summary = JSON.parse(Buffer.from(text).toString()) as IndexSummary;
    return summary.version === indexVersion
      ? locateIndex(file, summary, at - summary.bytes)
      : undefined;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw damagedIndexError(file, 'has a summary that cannot be read', error);
  }
}

function locateIndex(file: IndexedFile, summary: IndexSummary, begin: number): TextIndex {
  let at = begin;
  const columns = new Map<string, ColumnLocation>();
  for (const column of summary.columns) {
    const numbers = [column.records, column.texts, column.words, ...Object.values(column.sizes)];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) {
      throw damagedIndexError(
        file,
        `has a summary of ${column.name} without a valid count or size`,
      );
    }
    const begins = {} as Record<IndexPartName, number>;
    for (const part of partNames) {
      begins[part] = at;
      at += column.sizes[part];
    }
    columns.set(column.name, { summary: column, begins });
  }
  if (!(begin >= 0 && at === begin + summary.bytes)) {
    throw damagedIndexError(file, `has parts of ${at - begin} bytes, should be ${summary.bytes}`);
  }
  return { file, rows: summary.rows, columns };
}
