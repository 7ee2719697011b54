import type { Column, Columns } from '../core/types.js';
import { InferredColumn } from './inferred-column.js';
import { FieldColumns, type MakeColumn, ObjectColumn } from './object-column.js';
import type { RecordContext } from './record-context.js';
import { OpenListColumn } from './open-list-column.js';
import { hasOpenType } from './overlaid-columns.js';
import { ListColumn, ScalarColumn } from './typed-column.js';
import type { ValueColumn } from './value-column.js';

/*
 * A column of objects contains columns of all classes, and most of these classes can in turn contain objects. To avoid circular imports,
 * the classes create the columns of members through `MakeColumn`, which is implemented here and passed to them.
 */

/** Creates the column of a field: values are cast to its declared type, or else the type is inferred from the values. */
const makeColumn: MakeColumn = (spec) =>
  hasOpenType(spec.declared)
    ? new InferredColumn(spec, makeColumn)
    : typedColumn(spec.declared, spec.path, spec.depth, spec.context);

/**
 * Creates the column of a field with a known type. Values are cast to it; a value that does not fit may widen a type that no user declared;
 * otherwise it is rejected or, if validation is off, becomes null.
 */
export function typedColumn(
  column: Column,
  path: string,
  depth: number,
  context: RecordContext,
): ValueColumn {
  if (column.open === 'list') {
    const { open: _, ...values } = column;
    return new OpenListColumn(typedColumn(values, path, depth, context), path, context);
  }
  if (column.isList) {
    const element = typedColumn({ ...column, isList: false }, path, depth, context);
    return new ListColumn(column, path, context, element);
  }
  if (column.type === 'object')
    return new ObjectColumn({ column, path, depth, context, make: makeColumn });
  return new ScalarColumn(column, path, context);
}

/**
 * Creates the fields of a record: the fields in `declared` with their types, others with inferred types; `onNew` is called with each column
 * when it is created, on first use of its field, unless it only discards values.
 */
export function createRecordFields(options: {
  readonly declared: Columns;
  readonly context: RecordContext;
  readonly onNew: (column: ValueColumn) => void;
  /**
   * Columns with the types that other values suggest, such as those of earlier chunks. A column that is a list or JSON here is one from the
   * start; a column of strings does not become one of dates.
   */
  readonly hints?: Columns;
}): FieldColumns {
  return new FieldColumns({ hints: [], ...options, prefix: '', depth: 0, make: makeColumn });
}
