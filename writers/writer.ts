import type { RecordBatch } from 'apache-arrow';
import type { EncodedRowGroup } from '../engine/parquet/file-encoder.js';
import type { ParquetColumn } from '../engine/parquet/schema.js';
import { stringifyJson } from '../engine/core/json.js';
import type { JsonObject } from '../engine/core/types.js';
import {
  cellColumns,
  type ProjectedCells,
  type CellFormat,
} from '../engine/query/results/cells.js';
import type { Projected } from '../engine/query/results/projection.js';

/** A column of cells; nested columns have dotted names. */
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
  /** Number of records of the file before these. */
  readonly first: number;
  /** One line of JSON per record. */
  jsonLines(): Uint8Array;
  /** The cells of each record (`fileCells`). */
  cells(format: CellFormat): Uint8Array;
  /** The records as columns with the names of the fields. */
  arrowBatch(): RecordBatch;
  /** The records as columns with their stored names, no two of which differ only in letter case. */
  storedBatch(): RecordBatch;
  /** The records as a row group of these columns that a segment has; undefined unless they are a whole one, and it has these columns. */
  storedRowGroup(columns: readonly ParquetColumn[]): EncodedRowGroup | undefined;
}

/** The properties of a file other than its records. */
export interface FileContext {
  /** Columns of the records. */
  readonly projection: readonly Projected[];
  /** Columns of the cells: those of `cellColumns`. */
  readonly columns: readonly WriterColumn[];
  /** The length of the longest list of each of `columns`; null unless the format expands lists. */
  readonly longest: readonly number[] | null;
  readonly options: WriterOptions;
  /** Where the records come from: text, numbers, lists and objects as JSON. */
  readonly provenance: JsonObject;
}

/** One of the cells that every record of a file has. */
export interface FileCell extends WriterColumn {
  /** The column of its values. */
  readonly column: ProjectedCells['column'];
  /** Whether it has a whole list, as JSON. */
  readonly isList: boolean;
}

/** The cells of a record. The elements of a list that is expanded have the number of the element behind their name and title. */
export function fileCells({ projection, columns, longest }: FileContext): readonly FileCell[] {
  return cellColumns(projection, longest).flatMap(({ column, width }, i) => {
    const { name, title } = columns[i]!;
    if (width === null) return [{ name, title, column, isList: column.isList }];
    return Array.from({ length: width }, (_, n) => ({
      name: `${name}.${n}`,
      title: `${title}.${n}`,
      column,
      isList: false,
    }));
  });
}

/** The members of the provenance as texts: other values than texts as JSON. */
export function provenanceTexts({
  provenance,
}: FileContext): readonly (readonly [string, string])[] {
  return Object.entries(provenance).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : stringifyJson(value),
  ]);
}

/** What a file could not hold as it is stored, for the metadata of its task. */
export interface FileWarning {
  /** Name of the column. */
  readonly field: string;
  /** Number of values that are not as stored. */
  readonly count: number;
  readonly message: string;
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
  /** Whether a part is a row group if its records are one. */
  readonly copiesRowGroups?: boolean;
  /** Whether the file is made of `jsonLines`, so that expressions need not make columns of their records. */
  readonly writesJsonLines?: boolean;
  /** Whether a list has a cell for each of its elements. */
  readonly expandsLists?: boolean;
  /** Encodes the records of a part. The result does not depend on the provenance, so that it can be used again after an interruption. */
  encode(records: RecordSource, context: FileContext): Part;
  /**
   * The arrays of a part that have its bytes, which are handed over between threads. What `join` yields as the same arrays need not be
   * encoded again after an interruption.
   */
  bytesOf(part: Part): readonly Uint8Array[];
  /**
   * The bytes of the file, in order. Without parts, those of a valid file without records. Throws `invalid` if the format cannot have these
   * columns.
   */
  join(
    parts: AsyncIterable<Part>,
    context: FileContext,
    warn: (warning: FileWarning) => void,
  ): AsyncIterable<Uint8Array>;
}
