import type { Data } from 'apache-arrow';
import { budgets } from '../../../engine/core/budgets.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Columns, Value } from '../../../engine/core/types.js';
import { FindingCollector, type ValidationParams } from '../../../engine/ingest/findings.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import {
  textStart,
  type RecordTexts,
  type TextStart,
} from '../../../engine/ingest/record-texts.js';
import {
  RecordErrors,
  RejectedLines,
  type RejectionSink,
} from '../../../engine/ingest/rejected-lines.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import { writeRejectedPart, type RejectedPart } from '../import/rejected-part.js';
import { castColumn, readerOf } from './cast-column.js';
import type { ChunkRows } from './chunk-rows.js';
import type { MigratedColumn } from './column-plan.js';
import { columnsIn, readRows, withoutRecords } from './read-rows.js';

/** The column that tells which records of the source were rejected. */
const storedId = reservedColumns[0]!;

/** Records that are cast at a time: only their errors are in memory. */
const blockRecords = 256;

/** The part of a chunk's order that concerns its rejected records. */
export interface RejectionOrder {
  readonly columns: readonly MigratedColumn[];
  readonly validation: ValidationParams;
  /** Whether this is the second pass: the warnings are known. */
  readonly isFinal: boolean;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
  /** Maximum number of bytes of rejected records that are kept. */
  readonly rejectedBytes: number;
}

/**
 * Writes the records of a chunk whose byte in `failed` is 1, with their errors, beside the segment: each with the `_id` and the fields that it
 * has in the source, as JSON. Its line is its number within the chunk, from 1 on.
 */
export async function writeRejectedRows(
  rows: ChunkRows,
  failed: Uint8Array,
  { columns, validation, isFinal, file, rejectedBytes }: RejectionOrder,
): Promise<RejectedPart | null> {
  if (rejectedBytes === 0) return null;
  const rejectedRows = withoutRecords(
    rows,
    failed.map((flag) => 1 - flag),
  );
  const lines: number[] = [];
  for (let i = 0; i < failed.length; i++) if (failed[i] === 1) lines.push(i + 1);
  const selectedColumns = columns.map(({ from }) => from).filter(({ physical }) => physical !== storedId.physical); // prettier-ignore
  const columnsPresent = columnsIn(rejectedRows, [storedId, ...selectedColumns]);
  const data = await readRows(rejectedRows, columnsPresent);
  const limits = { maxBytes: rejectedBytes, maxTextBytes: budgets.rejectedTextBytes };
  const out = new RejectedLines(new RowTexts(lines, columnsPresent, data), limits);
  for (let first = 0; first < lines.length && !out.isFull; first += blockRecords) {
    const end = Math.min(first + blockRecords, lines.length);
    const errors = new ErrorsOfRows();
    // The columns are cast one after another, so they report the errors of one record apart from each other.
    const context = new RecordContext(new FindingCollector(validation, isFinal, errors));
    for (const [i, from] of columnsPresent.entries()) {
      const cast = columns.find((one) => one.isCast && one.from.physical === from.physical);
      if (cast !== undefined)
        castColumn(data[i]!, from, cast.to, context, new Uint8Array(lines.length), first, end).release(); // prettier-ignore
    }
    for (let row = first; row < end; row++) out.addRecord(lines[row]!, errors.of(row + 1));
  }
  return writeRejectedPart(out, file);
}

/** The errors of some records, by their lines. */
class ErrorsOfRows implements RejectionSink {
  readonly #records = new Map<number, RecordErrors>();

  add(line: number, code: number, field: string | null, message: string): void {
    this.of(line).add(code, field, message);
  }

  clear(): void {
    this.#records.clear();
  }

  of(line: number): RecordErrors {
    const errors = this.#records.get(line) ?? new RecordErrors();
    this.#records.set(line, errors);
    return errors;
  }
}

/** Records as JSON, by their lines. */
class RowTexts implements RecordTexts {
  readonly #rows: ReadonlyMap<number, number>;
  readonly #members: readonly (readonly [string, (row: number) => Value])[];

  /** `lines` are the line numbers of the rows of the columns. */
  constructor(lines: readonly number[], columns: Columns, data: readonly Data[]) {
    this.#rows = new Map(lines.map((line, row) => [line, row]));
    this.#members = columns.map((column, i) => [column.name, readerOf(column, data[i]!)]);
  }

  textOf(line: number, maxBytes: number): TextStart {
    const row = this.#rows.get(line)!;
    const record = Object.fromEntries(this.#members.map(([name, valueAt]) => [name, valueAt(row)]));
    return textStart(Buffer.from(stringifyJson(record)), maxBytes);
  }
}
