import { PhysicalNames, reservedNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, JsonObject } from '../../../engine/core/types.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { hasOpenType } from '../../../engine/ingest/overlaid-columns.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import { project, type Projected } from '../../../engine/query/results/projection.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import type { AnnotationTask } from '../../expressions/plan-annotation.js';
import type { AnnotatedColumns } from '../../expressions/protocol.js';
import { typeHints } from '../import/expressions/input-columns.js';
import { knownColumns } from '../import/known-columns.js';
import { declaredBy } from '../import/target-fields.js';

/**
 * What is known of the columns of annotated records before there is one, where `request` finds the records, and the catalogue declares
 * `fields`.
 *
 * Choice: a computed field without a type has the type of its values in the exported records, as if they were imported.
 */
export function annotatedColumns(
  task: AnnotationTask,
  targetFields: readonly JsonObject[],
  { columns, fields }: { readonly columns: Columns; readonly fields: readonly DatasetField[] },
  request: QueryRequest,
): AnnotatedColumns {
  const names = new Set(task.fields.map(({ name }) => name));
  const dropped = task.dropped.filter(([name]) => !names.has(name!));
  const returned = project(columns, fields, {
    fields: request.fields,
    excludeFields: [...request.excludeFields, ...dropped],
  });
  // Reserved fields are strings, also when an expression computes them.
  const declared = declaredBy(targetFields).filter(({ name }) => !reservedNames.includes(name));
  const own = returned.filter(({ column: { name }, isStored }) => isStored && !names.has(name) && !reservedNames.includes(name)).map(({ column }) => column); // prettier-ignore
  const isGiven = (text: string): boolean => text.trim() !== '';
  if (isGiven(task.preExpression) || isGiven(task.postExpression)) {
    const computed = withoutNested(knownColumns([], declared), names);
    const isLast = !isGiven(task.postExpression);
    // An expression after the fields may make other values of theirs, such as the elements of a list.
    const loose = computed.map((column) => ({ ...column, isList: false }));
    return {
      stored: [],
      known: isLast ? computed : [],
      hints: typeHints(isLast ? own : [...own, ...loose]),
      fixed: null,
    };
  }
  const known = withoutNested(knownColumns(own, declared), names, own);
  const typed = new Map(known.map((column) => [column.name, column]));
  const physical = new PhysicalNames(known.map((column) => column.physical), true); // prettier-ignore
  const empty = (name: string): Projected => {
    const found = typed.get(name) ?? { name, physical: physical.add(name), type: 'string', isList: false }; // prettier-ignore
    return { column: withoutMarks(found), isStored: false };
  };
  const transient = new Set(task.fields.flatMap(({ name, isTransient }) => (isTransient ? [name] : []))); // prettier-ignore
  const kept = returned.filter(({ column }) => !transient.has(column.name));
  const added = [...names].filter((name) => !transient.has(name) && !kept.some(({ column }) => column.name === name)); // prettier-ignore
  return {
    stored: own,
    known,
    hints: [],
    fixed: [
      ...kept.map((one) => (names.has(one.column.name) ? empty(one.column.name) : one)),
      ...added.map(empty),
    ],
  };
}

/** The declared columns without those that a dotted name declares within objects: records have computed fields at the top. */
function withoutNested(
  declared: Columns,
  names: ReadonlySet<string>,
  stored: Columns = [],
): Columns {
  return declared.flatMap((column) => {
    if (names.has(column.name)) return [column];
    return stored.filter(({ name }) => name === column.name);
  });
}

/** A column as it is in a file without values: the type of one that values decide is string. */
function withoutMarks(column: Column): Column {
  const { name, physical, type, isList } = column;
  const isOpen = type === 'object' || hasOpenType(column);
  return { name, physical, type: isOpen ? 'string' : type, isList };
}

/**
 * The projection for a file of annotated records: `columns` are those of the table, `filled` says which of them have values, and `names`
 * are the names of the fields in order.
 */
export function annotatedProjection(
  { fixed }: AnnotatedColumns,
  columns: Columns,
  names: readonly string[],
  filled: ReadonlySet<string>,
): readonly Projected[] {
  const byName = new Map([...reservedColumns, ...columns].map((column) => [column.name, column]));
  const planned = new Map(fixed?.map((one) => [one.column.name, one]));
  return [...new Set([...planned.keys(), ...names])].flatMap((name) => {
    const column = byName.get(name);
    if (column !== undefined && (filled.has(name) || reservedNames.includes(name))) return [{ column, isStored: true }]; // prettier-ignore
    return planned.get(name) ?? (column === undefined ? [] : [{ column, isStored: false }]);
  });
}
