import type { RecordBatch } from 'apache-arrow';
import type { EncodedRowGroup } from '../engine/parquet/file-encoder.js';
import type { ParquetColumn } from '../engine/parquet/parquet-schema.js';
import { stringifyJson } from '../engine/core/json.js';
import type { JsonObject } from '../engine/core/types.js';
import {
  cellColumns,
  type ProjectedCells,
  type CellFormat,
  type CellNames,
} from '../engine/query/results/cells.js';
import type { ProjectedColumn } from '../engine/query/results/projection.js';

/** Options of a writer that a request may set. */
export interface WriterOptions {
  /** Whether an apostrophe is put before cells that a spreadsheet would interpret as formulas (`csv_safe`). */
  readonly isFormulaSafe: boolean;
}

/** The records of a part, in order, in each representation that a writer may use. */
export interface RecordSource {
  /** Number of records of the query that precede these. It is the number in the file as well, unless expressions change it. */
  readonly first: number;
  /** Returns the records as JSON, one per line. */
  jsonLines(): Uint8Array;
  /** Returns the cells of each record (`fileCells`) in the given format. */
  cells(format: CellFormat): Uint8Array;
  /** Returns the records as columns with the names of the fields. */
  arrowBatch(): RecordBatch;
  /** Returns the records as columns with their physical names, no two of which differ only in letter case. */
  storedBatch(): RecordBatch;
  /** Returns a copy of these columns of a segment's row group with exactly these records; undefined if there is none that can be copied. */
  storedRowGroup(columns: readonly ParquetColumn[]): EncodedRowGroup | undefined;
}

/** The properties of a file other than its records. */
export interface FileContext {
  /** The columns of the records. */
  readonly projection: readonly ProjectedColumn[];
  /** The names of the columns of the cells, one for each column that `cellColumns` returns. */
  readonly columns: readonly CellNames[];
  /** The length of the longest list of each of `columns`; null unless the format expands lists. */
  readonly longest: readonly number[] | null;
  readonly options: WriterOptions;
  /** Where the records come from, as JSON values. */
  readonly provenance: JsonObject;
}

/** A cell that every record of a file has. */
export interface FileCell extends CellNames {
  /** The column that contains the values of the cell. */
  readonly column: ProjectedCells['column'];
  /** Whether the cell contains a whole list, as JSON. */
  readonly isList: boolean;
}

/**
 * Returns the cells of a record. For an expanded list, each element has its own cell, whose name and title end with the number of the
 * element.
 */
export function fileCells({
  projection,
  columns,
  longest: longestListLengths,
}: FileContext): readonly FileCell[] {
  return cellColumns(projection, longestListLengths).flatMap(({ column, width }, i) => {
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

/** Returns the members of the provenance as texts; values other than texts become JSON. */
export function provenanceTexts({
  provenance,
}: FileContext): readonly (readonly [string, string])[] {
  return Object.entries(provenance).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : stringifyJson(value),
  ]);
}

/** A warning about values that a file does not contain as they are stored, for the metadata of the export. */
export interface FileWarning {
  /** Name of the column with such values. */
  readonly field: string;
  /** Number of values that are not as stored. */
  readonly count: number;
  readonly message: string;
}

/**
 * Converts records to the bytes of a file in two steps: several threads encode parts, and one thread joins them in order. `Part` must be
 * plain data. To add a format, add a file and a line in `index.ts`.
 */
export interface Writer<Part = unknown> {
  /** Name of the format in requests, in lower case. */
  readonly format: string;
  /** File extension without the leading dot, such as `json.gz`. */
  readonly extension: string;
  readonly mediaType: string;
  /** A description for the API documentation, in one sentence. */
  readonly description: string;
  /** Maximum number of records of a part that is not a row group of a segment (`copiesRowGroups`). */
  readonly partRecords: number;
  /** Whether a part is one row group of a segment where possible, so that it can be copied. */
  readonly copiesRowGroups?: boolean;
  /** Whether `encode` uses only the `jsonLines` of the records, so that the results of expressions need not be converted to columns. */
  readonly writesJsonLines?: boolean;
  /** Whether each element of a list gets its own cell. */
  readonly expandsLists?: boolean;
  /** Encodes the records of a part. The result does not depend on the provenance, so that it can be reused after an interruption. */
  encode(records: RecordSource, context: FileContext): Part;
  /**
   * Returns the byte arrays of a part, whose memory is transferred between threads. If `join` yields the same arrays, the encoded parts can
   * be reused after an interruption.
   */
  bytesOf(part: Part): readonly Uint8Array[];
  /**
   * Yields the bytes of the file, in order. Without parts, it yields a valid file without records. Throws `invalid` if the format cannot
   * have these columns.
   */
  join(
    parts: AsyncIterable<Part>,
    context: FileContext,
    warn: (warning: FileWarning) => void,
  ): AsyncIterable<Uint8Array>;
}
