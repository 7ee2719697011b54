import type { NewField } from '../engine/core/dataset-field.js';
import type { BatchBuilder } from '../engine/ingest/batch.js';
import type { Cutter, Start } from './source/splitter.js';
import type { Columns, GenomeBuild, JsonObject } from '../engine/core/types.js';

/** What a reader learns from the start of a source, once; plain data, sent to every thread. */
export interface Head<H> {
  readonly header: H;
  /** Decoded bytes and lines before the first record. */
  readonly bodyOffset: number;
  readonly bodyLine: number;
  /** Columns known before any record is read (VCF declares them); empty when they are found from the values. */
  readonly columns: Columns;
  /** What the format says about its fields beyond their types: titles, descriptions, entity types, order. */
  readonly fields: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly warnings: readonly string[];
  /** What the format says about the file as a whole; kept in the import's metadata. */
  readonly about?: JsonObject;
  /** About how many bytes of memory a byte of text becomes, where that can be much: chunks are made smaller then. */
  readonly memoryPerByte?: number;
  /** For formats that close their records with a mark: what is wrong when no chunk has reported the end. */
  readonly unended?: string;
}

/** Decoded bytes from the start of a source, as many as asked for or as there are. */
export interface HeadSource {
  /** The file's name to people, for messages. */
  readonly name: string;
  bytes(atLeast: number): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }>;
}

/**
 * Where a reader says what is wrong with a line; `engine/ingest/findings.ts` implements it. `line` counts from 1 within the
 * chunk. Codes are those of the specification's "Validation codes"; 0 stands for a line that cannot be read at all.
 */
export interface Report {
  /** An error: the record is not stored (the reader has rolled its values back) and counts as rejected. */
  reject(line: number, code: number, field: string | null, message: string): void;
  /** A warning: the record is stored. True when strict validation makes it an error: the reader then rolls back. */
  warn(line: number, code: number, field: string | null, message: string): boolean;
  /** Forgets all that was reported: the reader begins the chunk again. */
  restart(): void;
  /**
   * The records end here, whatever follows (sequences behind `##FASTA`, the genes of Nirvana). The reader returns; what later
   * chunks came to is dropped, so `read` may take what it is given for records.
   */
  end(): void;
  /** Validation is off (`validation_params.disable`): what does not fit becomes null, quietly. */
  readonly isDisabled: boolean;
  /** Nothing more needs to be read: `raise_on_errors` and an error has come. Checked once per line. */
  readonly isStopped: boolean;
}

/** What a chunk is read with. */
export interface Given {
  readonly columns: Columns;
  readonly isFinal: boolean;
  /** What the fields came to in the chunks before: a reader may store values as that from the start. */
  readonly hints?: Columns;
  /** Where the chunk begins, from cutters that tell. */
  readonly start?: Start;
}

/**
 * Bytes to columns. Adding a format is one file and one line in `index.ts`.
 * `read` is called once per chunk, in any thread; a chunk holds whole lines, and nothing may be kept between chunks.
 */
export interface Reader<P = unknown, H = unknown> {
  readonly name: string;
  readonly extensions: readonly string[];
  /** Whether a text that begins so can only be of this format; asked when the name of a file says another one. */
  readonly recognizes?: (start: string) => boolean;
  /** Lines also end with a carriage return alone; without it, with a line feed only. */
  readonly endsLinesAtReturn?: boolean;
  /** The only place where raw `reader_params` are looked at; throws `invalid('reader_params', …)`. */
  readonly params: (input: Readonly<Record<string, unknown>>) => P;
  readonly header: (head: HeadSource, params: P) => Promise<Head<H>>;
  /** `Given.hints` are of use to it. */
  readonly takesHints?: true;
  /** Where the text may be cut when its records can hold line ends; without it, it is cut at line feeds. */
  readonly cutter?: (header: H, params: P) => Cutter;
  /**
   * Reads the lines of one chunk; returns how many there were. `columns` are the dataset's fields and, in a second pass
   * (`isFinal`), all columns as they must come out; a reader that declares its columns in the head may ignore them.
   */
  readonly read: (
    chunk: Uint8Array,
    header: H,
    params: P,
    out: BatchBuilder,
    report: Report,
    given: Given,
  ) => number;
}
