import { PhysicalNames, reservedNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, JsonObject } from '../../../engine/core/types.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { hasOpenType } from '../../../engine/ingest/overlaid-columns.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import { project, type ProjectedColumn } from '../../../engine/query/results/projection.js';
import type { AnnotationTask } from '../../expressions/plan-annotation.js';
import type { AnnotatedColumns } from '../../expressions/columns/annotated-batch.js';
import { typeHints } from '../../expressions/columns/input-columns.js';
import { knownColumns } from '../import/known-columns.js';
import { declarationsIn } from '../import/target-fields.js';

/**
 * Returns what is known about the columns of annotated records before the first record is annotated. `request` finds the records, and the
 * catalogue declares `fields`.
 * Choice: a computed field without a type has the type of its values in the exported records, as if they were imported.
 */
export function annotatedColumns(
  task: AnnotationTask,
  targetFields: readonly JsonObject[],
  { columns, fields }: { readonly columns: Columns; readonly fields: readonly DatasetField[] },
  request: QueryRequest,
): AnnotatedColumns {
  const computedNames = new Set(task.fields.map(({ name }) => name));
  const droppedPaths = task.dropped.filter(([name]) => !computedNames.has(name!));
  const selectedColumns = project(columns, fields, {
    fields: request.fields,
    excludeFields: [...request.excludeFields, ...droppedPaths],
  });
  // Reserved fields are strings, even if an expression computes them.
  const declared = declarationsIn(targetFields).filter(({ name }) => !reservedNames.includes(name));
  const ownColumns = selectedColumns
    .filter(
      ({ column: { name }, isStored }) =>
        isStored && !computedNames.has(name) && !reservedNames.includes(name),
    )
    .map(({ column }) => column);
  const hasText = (text: string): boolean => text.trim() !== '';
  if (hasText(task.preExpression) || hasText(task.postExpression)) {
    const computed = topLevelColumns(knownColumns([], declared), computedNames);
    const isLast = !hasText(task.postExpression);
    // An expression that runs after the fields have been computed may change their values, such as from a single value to a list.
    const looseColumns = computed.map((column) => ({ ...column, isList: false }));
    return {
      stored: [],
      known: isLast ? computed : [],
      hints: typeHints(isLast ? ownColumns : [...ownColumns, ...looseColumns]),
      fixed: null,
    };
  }
  const known = topLevelColumns(knownColumns(ownColumns, declared), computedNames, ownColumns);
  const columnByName = new Map(known.map((column) => [column.name, column]));
  const physical = new PhysicalNames(known.map((column) => column.physical), true); // prettier-ignore
  const columnOfComputed = (name: string): ProjectedColumn => {
    const knownColumn = columnByName.get(name) ?? { name, physical: physical.add(name), type: 'string', isList: false }; // prettier-ignore
    return { column: columnWithoutValues(knownColumn), isStored: false };
  };
  const transientNames = new Set(task.fields.flatMap(({ name, isTransient }) => (isTransient ? [name] : []))); // prettier-ignore
  const keptColumns = selectedColumns.filter(({ column }) => !transientNames.has(column.name));
  const addedNames = [...computedNames].filter(
    (name) => !transientNames.has(name) && !keptColumns.some(({ column }) => column.name === name),
  );
  return {
    stored: ownColumns,
    known,
    hints: [],
    fixed: [
      ...keptColumns.map((one) =>
        computedNames.has(one.column.name) ? columnOfComputed(one.column.name) : one,
      ),
      ...addedNames.map(columnOfComputed),
    ],
  };
}

/**
 * Returns the declared columns of the fields `computedNames`, which are at the top level of a record. A declaration by a dotted name is left
 * out, except that a stored column is returned as it is stored.
 */
function topLevelColumns(
  declared: Columns,
  computedNames: ReadonlySet<string>,
  stored: Columns = [],
): Columns {
  return declared.flatMap((column) => {
    if (computedNames.has(column.name)) return [column];
    return stored.filter(({ name }) => name === column.name);
  });
}

/** Returns a column as a file without records has it: a type that depends on the values becomes string. */
function columnWithoutValues(column: Column): Column {
  const { name, physical, type, isList } = column;
  const isTypeOpen = type === 'object' || hasOpenType(column);
  return { name, physical, type: isTypeOpen ? 'string' : type, isList };
}
