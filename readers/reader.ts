import type { NewField } from '../engine/core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../engine/core/types.js';
import type { BatchBuilder } from '../engine/ingest/batch.js';
import type { DeclaredEncoding } from './source/utf16.js';
import type { HeaderSource } from './source/source.js';
import type { ChunkStart, Splitter } from './source/splitter.js';

/**
 * The declaration of a format: how it is recognized, and how its bytes become columns. To add a format, add one file or folder and one line
 * in `index.ts`. `P` is the type of the parsed parameters, `H` that of the header data that each chunk needs; both are plain data that is
 * sent to every thread. `read` is called for one chunk at a time, in any thread, and for some chunks again; it keeps nothing between calls.
 */
export interface Reader<P = unknown, H = unknown> {
  readonly name: string;
  /** Extensions of file names, without `.gz` and the like. */
  readonly extensions: readonly string[];
  /** Returns whether a text that begins like this is certainly of this format, whatever the extension of the file name. */
  readonly recognizes?: (start: string) => boolean;
  /** Whether only a line feed ends a line. By default, a carriage return alone does, too, as in `text/lines.ts`. */
  readonly endsLinesOnlyAtLineFeed?: true;
  /** The names of the format's `reader_params` with their descriptions, without `reader` and `genome_build`, which all readers have. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Returns the encoding that `reader_params` declare, for `openSource`; absent for readers without such a parameter. */
  readonly encodingOf?: (input: Readonly<Record<string, unknown>>) => DeclaredEncoding;
  /**
   * Parses `reader_params`; throws `invalid` for the field `reader_params`. Apart from `encodingOf`, no other function of a reader reads
   * the raw parameters.
   */
  readonly params: (input: Readonly<Record<string, unknown>>) => P;
  /** Reads everything before the first record. Throws InputError for a file of another format. */
  readonly header: (source: HeaderSource, params: P) => Promise<Header<H>>;
  /** Whether `ReadOptions.hints` make reading faster. */
  readonly usesHints?: true;
  /**
   * Creates the splitter, for formats whose records can contain line ends or depend on earlier lines; text of other formats is split at
   * line feeds.
   */
  readonly splitter?: (header: H, params: P) => Splitter;
  /** How uploaded files of the format are queried without an import; absent if they cannot be. */
  readonly tables?: readonly TableReading[];
  /** Reads the whole lines or, with a splitter, the whole records of one chunk into `out`; returns the number of lines. */
  readonly read: (
    chunk: Uint8Array,
    header: H,
    params: P,
    out: BatchBuilder,
    report: Report,
    options: ReadOptions,
  ) => number;
}

/** How uploaded files with some extensions are read as tables, for queries without an import. */
export interface TableReading {
  /** Extensions of file names, without `.gz` and the like. */
  readonly extensions: readonly string[];
  readonly readerParams: JsonObject;
  /** Whether all values are strings and the columns are those of the header row. */
  readonly isAllText: boolean;
}

/** The header of a source, which is read once; plain data. */
export interface Header<H> {
  /** The header, in the form that `Reader.read` needs. */
  readonly header: H;
  /** Number of decompressed bytes before the text that is passed to `Reader.read`, not counting a byte order mark. */
  readonly bodyOffset: number;
  /** Number of lines before that text. */
  readonly bodyLine: number;
  /** Titles, descriptions, entity types and order of fields, as far as the format provides them. */
  readonly fields: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly warnings: readonly string[];
  /** Names of columns that are reserved and therefore not read, unless `ReadOptions.columns` has them. */
  readonly reserved?: readonly string[];
  /** How values are interpreted beyond the definition of the format, by field; for the import report. */
  readonly meanings?: readonly Readonly<Record<string, string | null>>[];
  /** Information about the file as a whole, for the metadata of the import. */
  readonly about?: JsonObject;
  /** Estimated bytes of memory per byte of text, for formats that may need a multiple of the text's size; their chunks are made smaller. */
  readonly memoryPerByte?: number;
  /** For formats that mark the end of the records: the error message if no chunk of a source reports that end. */
  readonly missingEndMessage?: string;
}

/** The options for reading a chunk. */
export interface ReadOptions {
  /** The dataset's columns; in the final pass, all columns with the types that they must have. */
  readonly columns: Columns;
  /** Whether the chunk is read again, for example with types that were unified over all chunks. */
  readonly isFinal: boolean;
  /** The types inferred from earlier chunks. A reader may store values with these types from the start. */
  readonly hints?: Columns;
  /** The state of the text at the start of the chunk, for formats whose splitter reports one. */
  readonly start?: ChunkStart;
}

/**
 * Receives the errors and warnings of a reader; implemented in `engine/ingest/findings.ts`. `line` is counted from 1 within the chunk.
 * Codes are defined in `engine/ingest/validation-codes.ts`.
 */
export interface Report {
  /** Reports an error: the record counts as rejected, and the reader removes it from its columns. */
  reject(line: number, code: number, field: string | null, message: string): void;
  /**
   * Reports a warning. Returns true if strict validation turns it into an error; the reader must then remove the record from its columns.
   */
  warn(line: number, code: number, field: string | null, message: string): boolean;
  /** Reports a warning about the type that a field gets. Even with strict validation, it remains a warning. */
  warnOfType(code: number, field: string, message: string): void;
  /** Discards all reports, because the reader begins the chunk again. */
  restart(): void;
  /**
   * Reports that the records end at this line (before the sequences after `##FASTA`, or the genes of Nirvana). The reader must then return.
   * Results of later chunks are discarded, so a reader may treat the content of any chunk as records.
   */
  markEndOfRecords(): void;
  /** Reports that the records after an error cannot be separated: the import fails, even if the request allows rejected records. */
  markDamaged(): void;
  /** Whether validation is off (`validation_params.disable`): values that do not fit become null without a report. */
  readonly isDisabled: boolean;
  /** Whether `warn` reports errors: validation is strict and not off, and the chunk is not read again. */
  readonly isStrict: boolean;
  /** Whether reading can stop, because an error was reported and `raise_on_errors` is set. Readers check it between records or runs. */
  readonly isStopped: boolean;
}
