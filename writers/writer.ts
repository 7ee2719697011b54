import type { RecordBatch } from 'apache-arrow';
import type { DelimitedLayout } from '../engine/query/results/delimited.js';
import type { Projected } from '../engine/query/results/projection.js';

/** One column of a table of text; the name of a nested one is dotted. */
export interface WriterColumn {
  readonly name: string;
  readonly title: string;
}

/** What a request may ask of a writer. */
export interface WriterOptions {
  /** Cells that a spreadsheet would run as formulas get a quote in front (`csv_safe`). */
  readonly isFormulaSafe: boolean;
}

/** Some records of an export, in order, in any of the forms that a writer can need. */
export interface RecordSource {
  /** A line of JSON for each record. */
  jsonLines(): Uint8Array;
  /** A line of cells for each record. */
  delimitedLines(layout: DelimitedLayout): Uint8Array;
  /** The records as columns, under the fields' own names. */
  arrowBatch(): RecordBatch;
  /** The same under the names of the stored columns, of which no two differ by letter case alone. */
  storedBatch(): RecordBatch;
}

/** What a whole file is made of beside its records. */
export interface FileContext {
  /** The columns of the records. */
  readonly projection: readonly Projected[];
  /** The columns of their cells. */
  readonly columns: readonly WriterColumn[];
  readonly options: WriterOptions;
}

/**
 * Records to the bytes of a file, in two steps: parts are encoded in several threads, and joined in order in one. `Part` is plain
 * data. Adding a format is one file and one line in `index.ts`.
 */
export interface Writer<Part = unknown> {
  /** The name in requests, in lower case. */
  readonly format: string;
  /** Extension of the file, without the first dot: `json.gz`. */
  readonly extension: string;
  readonly mediaType: string;
  /** One sentence for the documentation. */
  readonly description: string;
  /** Records of one part, at most. */
  readonly partRecords: number;
  encode(records: RecordSource, context: FileContext): Part;
  /** The file's bytes, in order, also of no part at all. */
  join(parts: AsyncIterable<Part>, context: FileContext): AsyncIterable<Uint8Array>;
}
