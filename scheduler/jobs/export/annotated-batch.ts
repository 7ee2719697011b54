import { AppError } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import type { PyDict } from '../../../engine/expression/values/values.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { FindingCollector, type Findings } from '../../../engine/ingest/findings.js';
import { givenId, reservedNames } from '../../../engine/ingest/physical-names.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { withReservedColumns } from '../../../engine/ingest/record-ids.js';
import { lenientRules } from '../import/expressions/compute-fields.js';
import { errorsField } from '../import/expressions/record-errors.js';
import { RecordColumns } from '../import/expressions/record-columns.js';

/** The records that result from expressions, as columns. */
export interface AnnotatedBatch {
  /** The batch with the reserved columns in front. */
  readonly batch: Batch;
  /** The columns of the fields except the reserved ones, with the marks of `Column.seen`. */
  readonly columns: Columns;
  /** The names of all their fields, in order. */
  readonly names: readonly string[];
  /** The findings about values that are not stored unchanged. */
  readonly findings: Findings;
  release(): void;
}

/** The columns for the reserved fields that records have themselves. */
const givenColumns: Columns = [
  givenId,
  { ...givenId, name: '_commit', physical: '_strandlake_commit' },
];

/**
 * Makes columns of records. `known` are columns whose types the values get, `hints` those whose types are hints. Throws `budget` for too many
 * fields.
 */
export function annotatedBatch(
  records: Iterable<PyDict>,
  known: Columns,
  hints: Columns,
): AnnotatedBatch {
  const findings = new FindingCollector(lenientRules);
  const context = new RecordContext({
    isDisabled: false,
    reject: (line, code, field, message) => {
      if (field === null) throw new AppError('budget', message);
      findings.warn(line, code, field, `${message}: null is stored`);
    },
    warn: (line, code, field, message) => findings.warn(line, code, field, message),
  });
  const made = new RecordColumns([...givenColumns, ...known], hints, context);
  const names = new Set<string>();
  for (const { map } of records) {
    context.record++;
    for (const name of reservedNames) made.append(name, map.get(name) ?? null);
    for (const [key, value] of map) {
      const name = String(key);
      names.add(name);
      if (!reservedNames.includes(name)) made.append(name, value);
    }
    made.endRecord();
  }
  const batch = made.finish();
  return {
    batch: batch.rows === 0 ? batch : withGivenIds(batch),
    columns: batch.seen.filter(isFree),
    names: [...names],
    findings: findings.result(),
    release: () => made.release(),
  };
}

/** The names of the fields of records in several batches, in the order in which they come; errors are the last. */
export function fieldNames(batches: readonly Pick<AnnotatedBatch, 'names'>[]): readonly string[] {
  const names = new Set(batches.flatMap((one) => one.names));
  return names.delete(errorsField) ? [...names, errorsField] : [...names];
}

/** Copies the values of `_id` and `_commit` that the records have themselves into the columns that every file has for them. */
function withGivenIds(batch: Batch): Batch {
  const children = batch.data.data.children;
  const of = (isWanted: (column: Column) => boolean) =>
    batch.columns.flatMap((column, i) => (isWanted(column) ? [children[i]!] : []));
  const columns = batch.columns.filter(isFree);
  const reserved = givenColumns.flatMap(({ physical }) => of((one) => one.physical === physical));
  return withReservedColumns(makeBatch(columns, batch.rows, of(isFree)), reserved);
}

function isFree({ physical }: Column): boolean {
  return !givenColumns.some((one) => one.physical === physical);
}
