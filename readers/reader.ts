import type { NewField } from '../engine/core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../engine/core/types.js';
import type { BatchBuilder } from '../engine/ingest/batch.js';
import type { DeclaredEncoding } from './source/utf16.js';
import type { ChunkStart, Splitter } from './source/splitter.js';

/**
 * The declaration of a format: how it is recognized, and how its bytes become columns. Adding a format is one file or folder and
 * one line in `index.ts`. `P` are the parsed parameters, `H` what a chunk needs of the header; both are plain data that is sent
 * to every thread. `read` is called once per chunk, in any thread, and keeps nothing between chunks.
 */
export interface Reader<P = unknown, H = unknown> {
  readonly name: string;
  /** Extensions of file names, without `.gz` and the like. */
  readonly extensions: readonly string[];
  /** Whether a text with this start is certainly of this format, whatever the extension of the file name is. */
  readonly recognizes?: (start: string) => boolean;
  /** A carriage return alone ends a line, too; by default only a line feed does. */
  readonly endsLinesAtReturn?: boolean;
  /** The names of the format's `reader_params` with their meanings, besides `reader` and `genome_build`, which all readers have. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The encoding that `reader_params` declare, for `openSource`; absent for readers of UTF-8 alone. */
  readonly encodingOf?: (input: Readonly<Record<string, unknown>>) => DeclaredEncoding;
  /** Parses `reader_params`; throws `invalid('reader_params', …)`. Nothing else reads the raw parameters. */
  readonly params: (input: Readonly<Record<string, unknown>>) => P;
  /** Reads what comes before the first record. Throws InputError for a file of another format. */
  readonly header: (source: HeaderSource, params: P) => Promise<Header<H>>;
  /** Whether `ReadOptions.hints` make reading faster. */
  readonly usesHints?: true;
  /** The splitter, for formats whose records can contain line ends; text of other formats is split at line feeds. */
  readonly splitter?: (header: H, params: P) => Splitter;
  /** Reads the whole lines of one chunk into `out`; returns how many lines there were. */
  readonly read: (
    chunk: Uint8Array,
    header: H,
    params: P,
    out: BatchBuilder,
    report: Report,
    options: ReadOptions,
  ) => number;
}

/** The header of a source, read once: plain data. */
export interface Header<H> {
  /** The header, in the form that `Reader.read` needs. */
  readonly header: H;
  /** Decompressed bytes before the first record. */
  readonly bodyOffset: number;
  /** Lines before the first record. */
  readonly bodyLine: number;
  /** Titles, descriptions, entity types and order of fields, as far as the format has them. */
  readonly fields: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly warnings: readonly string[];
  /** Columns with reserved names, which are not read unless `ReadOptions.columns` has them. */
  readonly reserved?: readonly string[];
  /** The interpretation of values beyond what the format says, by field: for the import report. */
  readonly meanings?: readonly Readonly<Record<string, string | null>>[];
  /** Information about the file as a whole, for the metadata of the import. */
  readonly about?: JsonObject;
  /** Estimated bytes of memory per byte of text, for formats that may need a multiple of the text: their chunks are made smaller. */
  readonly memoryPerByte?: number;
  /** The error message for a source in which no chunk reports the end of the records, for formats that mark this end. */
  readonly unended?: string;
}

/** The decompressed start of a source. */
export interface HeaderSource {
  /** The file name in messages. */
  readonly name: string;
  /** Returns at least this many bytes from the start, or all bytes of the source; `isWhole` says which. */
  bytes(atLeast: number): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }>;
}

/** The options for reading a chunk. */
export interface ReadOptions {
  /** The dataset's columns; in the final pass, all columns with the types that they must have. */
  readonly columns: Columns;
  /** The chunk is read for the second time, with the types unified over all chunks. */
  readonly isFinal: boolean;
  /** The types inferred from earlier chunks: a reader may store values with them from the start. */
  readonly hints?: Columns;
  /** The state at the start of the chunk, for splitters that report one. */
  readonly start?: ChunkStart;
}

/**
 * Receives the errors and warnings of a reader (implemented in `engine/ingest/findings.ts`). `line` counts from 1 within the chunk. Codes are
 * defined in `engine/ingest/validation-codes.ts`.
 */
export interface Report {
  /** Reports an error: the record, which the reader has rolled back, counts as rejected. */
  reject(line: number, code: number, field: string | null, message: string): void;
  /** Reports a warning; returns true when strict validation makes it an error, and the reader has to roll the record back. */
  warn(line: number, code: number, field: string | null, message: string): boolean;
  /** Reports a warning about the type that a field gets, which strict validation leaves a warning. */
  warnOfType(code: number, field: string, message: string): void;
  /** Discards all reports: the reader starts the chunk again. */
  restart(): void;
  /**
   * Reports that the records end at this line (before the sequences after `##FASTA`, or the genes of Nirvana). The reader then returns.
   * Results of later chunks are discarded, so readers may take the content of any chunk for records.
   */
  end(): void;
  /** Reports that the records after an error cannot be told apart: the import fails, even if the request allows rejected records. */
  damaged(): void;
  /** Validation is off (`validation_params.disable`): values that do not fit become null without a report. */
  readonly isDisabled: boolean;
  /** Strict validation is on: every warning is an error. */
  readonly isStrict: boolean;
  /** Reading can stop: an error was reported and `raise_on_errors` is set. Checked once per line. */
  readonly isStopped: boolean;
}
