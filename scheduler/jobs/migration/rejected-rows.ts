import type { Data } from 'apache-arrow';
import { budgets } from '../../../engine/core/budgets.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Columns, Value } from '../../../engine/core/types.js';
import { FindingCollector, type ValidationParams } from '../../../engine/ingest/findings.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import {
  truncateText,
  type RecordTexts,
  type TruncatedText,
} from '../../../engine/ingest/record-texts.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import { ErrorsByLine, RejectedLines } from '../../../engine/ingest/rejected-lines.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { missingKeyMessage, type RequiredKey } from '../change/missing-keys.js';
import { writeRejectedPart, type RejectedPart } from '../import/rejected-part.js';
import { castColumn, nullableReader } from './cast-column.js';
import type { ChunkRows } from './chunk-rows.js';
import type { MigratedColumn } from './column-plan.js';
import { columnsOfChunk, readRows, dropRecords } from './read-rows.js';

/** The source column by which the file of rejected records identifies records. */
const storedIdColumn = reservedColumns[0]!;

/** Number of records that are cast at a time, so that only their errors are in memory. */
const recordsPerBlock = 256;

/** The settings of a chunk that concern its rejected records. */
export interface RejectionSettings {
  readonly columns: readonly MigratedColumn[];
  readonly validation: ValidationParams;
  /** Whether the chunk is written in the second pass or as the sample of a dry run, so that its warnings have been reported already. */
  readonly isFinal: boolean;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
  /** Maximum number of bytes of rejected records that are kept. */
  readonly rejectedBytes: number;
  /** The key without which a record is rejected, if `isEnforced`; null if the migration fails because of such a record, or adds it. */
  readonly requiredKey: RequiredKey | null;
}

/**
 * Writes the records of a chunk whose byte in `failed` is 1, with their errors, to a file beside the segment, up to `rejectedBytes`;
 * returns null if none fits. `missing` has, for each record, the first key field that it lacks, as `missingKeyFields` returns it. Each
 * record is JSON with the `_id` and those selected fields that the segments of the chunk have; its line is its number within the chunk,
 * from 1 on.
 */
export async function writeRejectedRows(
  rows: ChunkRows,
  failed: Uint8Array,
  missing: Uint32Array,
  { columns, validation, isFinal, file, rejectedBytes, requiredKey }: RejectionSettings,
): Promise<RejectedPart | null> {
  if (rejectedBytes === 0) return null;
  const rejectedRows = dropRecords(
    rows,
    failed.map((flag) => 1 - flag),
  );
  const lines: number[] = [];
  for (let i = 0; i < failed.length; i++) if (failed[i] === 1) lines.push(i + 1);
  const selectedColumns = columns.map(({ from }) => from).filter(({ physical }) => physical !== storedIdColumn.physical); // prettier-ignore
  const columnsPresent = columnsOfChunk(rejectedRows, [storedIdColumn, ...selectedColumns]);
  const data = await readRows(rejectedRows, columnsPresent);
  const limits = { maxBytes: rejectedBytes, maxTextBytes: budgets.rejectedTextBytes };
  const out = new RejectedLines(new RecordJsonByLine(lines, columnsPresent, data), limits);
  for (let first = 0; first < lines.length && !out.isFull; first += recordsPerBlock) {
    const end = Math.min(first + recordsPerBlock, lines.length);
    const errors = new ErrorsByLine();
    // Each column reports its errors separately, because the columns are cast one after another; `errors` collects them by record.
    const context = new RecordContext(new FindingCollector(validation, isFinal, errors));
    for (const [i, from] of columnsPresent.entries()) {
      const cast = columns.find((one) => one.isCast && one.from.physical === from.physical);
      if (cast !== undefined)
        castColumn(data[i]!, from, cast.to, context, new Uint8Array(lines.length), first, end).release(); // prettier-ignore
    }
    for (let row = first; row < end; row++) {
      const recordErrors = errors.errorsOfLine(row + 1);
      const keyField = requiredKey?.fields[(missing[lines[row]! - 1] ?? 0) - 1];
      if (requiredKey !== null && keyField !== undefined)
        recordErrors.add(codes.invalidValue, keyField, missingKeyMessage(requiredKey));
      out.addRecord(lines[row]!, recordErrors);
    }
  }
  return writeRejectedPart(out, file);
}

/** Records of a chunk as JSON, by their line numbers. */
class RecordJsonByLine implements RecordTexts {
  readonly #rows: ReadonlyMap<number, number>;
  readonly #members: readonly (readonly [string, (row: number) => Value])[];

  /** `lines` are the line numbers of the records whose values `data` holds. */
  constructor(lines: readonly number[], columns: Columns, data: readonly Data[]) {
    this.#rows = new Map(lines.map((line, row) => [line, row]));
    this.#members = columns.map((column, i) => [column.name, nullableReader(column, data[i]!)]);
  }

  textOf(line: number, maxBytes: number): TruncatedText {
    const row = this.#rows.get(line)!;
    const record = Object.fromEntries(this.#members.map(([name, valueAt]) => [name, valueAt(row)]));
    return truncateText(Buffer.from(stringifyJson(record)), maxBytes);
  }
}
