import { AppError } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import type { ProjectedColumn } from '../../../engine/query/results/projection.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { getItem, textKeyedEntries } from '../../../engine/expression/values/dict.js';
import type { PyDict } from '../../../engine/expression/values/python-values.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { FindingCollector, type Findings } from '../../../engine/ingest/findings.js';
import { givenIdColumn, reservedNames } from '../../../engine/ingest/physical-names.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { withReservedColumns } from '../../../engine/ingest/record-ids.js';
import { lenientReportRules } from './compute-fields.js';
import { errorsField } from './record-errors.js';
import { RecordColumns } from './record-columns.js';

/** The columns of the records that expressions produce, as far as they are known: plain data. */
export interface AnnotatedColumns {
  /** The columns of stored fields, which no expression changes. */
  readonly stored: Columns;
  /** The columns with known types: stored ones, and computed ones with declared types, unless later expressions may change them. */
  readonly known: Columns;
  /**
   * Columns whose types are used from the start for values that fit: those of the dataset, and computed ones that a later expression may
   * change.
   */
  readonly hints: Columns;
  /** The columns that every record has, in their order; null if expressions produce whole records. */
  readonly fixed: readonly ProjectedColumn[] | null;
}

/** The records that expressions produce, as columns. */
export interface AnnotatedBatch {
  /** The records, with the columns of the reserved fields first. */
  readonly batch: Batch;
  /** The columns of the fields except the reserved ones, with the marks of `Column.seen`. */
  readonly columns: Columns;
  /** The names of all fields of the records, in order. */
  readonly names: readonly string[];
  /** The findings about values that are not stored unchanged. */
  readonly findings: Findings;
  release(): void;
}

/** The columns for values of reserved fields that the records themselves contain. */
const reservedColumnsOfRecords: Columns = [
  givenIdColumn,
  { ...givenIdColumn, name: '_commit', physical: '_strandlake_commit' },
];

/**
 * Converts records to columns. `known` are columns whose types the values must have, `hints` columns whose types are suggestions. Throws
 * `budget` for too many fields.
 */
export function annotatedBatch(
  records: Iterable<PyDict>,
  known: Columns,
  hints: Columns,
): AnnotatedBatch {
  const findings = new FindingCollector(lenientReportRules);
  const context = new RecordContext({
    isDisabled: false,
    reject: (line, code, field, message) => {
      if (field === null) throw new AppError('budget', message);
      findings.warn(line, code, field, `${message}: null is stored`);
    },
    warn: (line, code, field, message) => findings.warn(line, code, field, message),
  });
  const recordColumns = new RecordColumns([...reservedColumnsOfRecords, ...known], hints, context);
  const names = new Set<string>();
  for (const record of records) {
    context.recordNumber++;
    for (const name of reservedNames) recordColumns.append(name, getItem(record, name) ?? null);
    for (const [name, value] of textKeyedEntries(record)) {
      names.add(name);
      if (!reservedNames.includes(name)) recordColumns.append(name, value);
    }
    recordColumns.endRecord();
  }
  const batch = recordColumns.finish();
  return {
    batch: batch.rows === 0 ? batch : renameReservedColumns(batch),
    columns: batch.seen.filter(isNotReserved),
    names: [...names],
    findings: findings.result(),
    release: () => recordColumns.release(),
  };
}

/** Returns the names of the fields of records in several batches, in order of first occurrence; the field for errors comes last. */
export function fieldNamesOfBatches(
  batches: readonly Pick<AnnotatedBatch, 'names'>[],
): readonly string[] {
  const names = new Set(batches.flatMap((one) => one.names));
  return names.delete(errorsField) ? [...names, errorsField] : [...names];
}

/** Moves the values of `_id` and `_commit` that the records themselves contain to the reserved columns of these names, which come first. */
function renameReservedColumns(batch: Batch): Batch {
  const children = batch.data.data.children;
  const dataOfColumns = (isWanted: (column: Column) => boolean) =>
    batch.columns.flatMap((column, i) => (isWanted(column) ? [children[i]!] : []));
  const columns = batch.columns.filter(isNotReserved);
  const reservedData = reservedColumnsOfRecords.flatMap(({ physical }) =>
    dataOfColumns((one) => one.physical === physical),
  );
  const ordinaryBatch = makeBatch(columns, batch.rows, dataOfColumns(isNotReserved));
  return withReservedColumns(ordinaryBatch, reservedData);
}

function isNotReserved({ physical }: Column): boolean {
  return !reservedColumnsOfRecords.some((one) => one.physical === physical);
}

/**
 * Returns the projection for a file of annotated records: `columns` are the columns of the table, `filledNames` says which of them have
 * values, and `names` are the names of the fields in order.
 */
export function annotatedProjection(
  { fixed }: AnnotatedColumns,
  columns: Columns,
  names: readonly string[],
  filledNames: ReadonlySet<string>,
): readonly ProjectedColumn[] {
  const columnByName = new Map(
    [...reservedColumns, ...columns].map((column) => [column.name, column]),
  );
  const plannedByName = new Map(fixed?.map((one) => [one.column.name, one]));
  return [...new Set([...plannedByName.keys(), ...names])].flatMap((name) => {
    const column = columnByName.get(name);
    if (column !== undefined && (filledNames.has(name) || reservedNames.includes(name))) return [{ column, isStored: true }]; // prettier-ignore
    return plannedByName.get(name) ?? (column === undefined ? [] : [{ column, isStored: false }]);
  });
}
