import type { RecordBatch } from 'apache-arrow';
import type { DelimitedLayout } from '../engine/query/results/delimited.js';
import type { Projected } from '../engine/query/results/projection.js';

/** A column of a delimited text format; nested columns have dotted names. */
export interface WriterColumn {
  readonly name: string;
  readonly title: string;
}

/** Options that a request may set. */
export interface WriterOptions {
  /** Put a quote before cells that a spreadsheet would interpret as formulas (`csv_safe`). */
  readonly isFormulaSafe: boolean;
}

/** The records of a part, in order, in each representation that a writer may need. */
export interface RecordSource {
  /** One line of JSON per record. */
  jsonLines(): Uint8Array;
  /** One line of delimited cells per record. */
  delimitedLines(layout: DelimitedLayout): Uint8Array;
  /** The records as columns with the names of the fields. */
  arrowBatch(): RecordBatch;
  /** The records as columns with their stored names, no two of which differ only in letter case. */
  storedBatch(): RecordBatch;
}

/** The properties of a file other than its records. */
export interface FileContext {
  /** Columns of the records. */
  readonly projection: readonly Projected[];
  /** Columns of the delimited cells. */
  readonly columns: readonly WriterColumn[];
  readonly options: WriterOptions;
}

/**
 * Converts records to the bytes of a file in two steps: several threads encode parts, and one joins them in order. `Part` must be plain
 * data. To add a format, add a file and a line in `index.ts`.
 */
export interface Writer<Part = unknown> {
  /** Name of the format in requests, in lower case. */
  readonly format: string;
  /** File extension without the first dot, such as `json.gz`. */
  readonly extension: string;
  readonly mediaType: string;
  /** One sentence for the API documentation. */
  readonly description: string;
  /** Maximum number of records of a part. */
  readonly partRecords: number;
  /** Encodes the records of a part. */
  encode(records: RecordSource, context: FileContext): Part;
  /** The bytes of the file, in order. Without parts, those of a valid file without records. */
  join(parts: AsyncIterable<Part>, context: FileContext): AsyncIterable<Uint8Array>;
}
