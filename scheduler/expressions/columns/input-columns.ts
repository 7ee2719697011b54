import type { ClearedField } from '../../../engine/change/update-values.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import {
  compiledExpressions,
  producesRecords,
  type FieldExpressions,
} from './field-expressions.js';
import { errorsField } from './record-errors.js';

/** The fields of the input that expressions read, or `all` if they may read any. */
export type InputFields = ReadonlySet<string> | 'all';

/** Returns the fields of the input that expressions read; each expression may read the value that its result replaces. */
export function inputFieldsOf(expressions: FieldExpressions): InputFields {
  if (producesRecords(expressions)) return 'all';
  const names = new Set<string>();
  for (const { field, expression } of compiledExpressions(expressions)) {
    if (expression?.fieldsRead === 'all') return 'all';
    if (expression === undefined) continue;
    names.add(field.name);
    for (const name of expression.fieldsRead) names.add(name);
  }
  return names;
}

/** Returns the names of the fields that expressions compute. */
export function computedNames({ fields }: FieldExpressions): ReadonlySet<string> {
  return new Set(fields.map(({ name }) => String(name)));
}

/** Returns the names under which `_errors` has the errors of expressions; a new result outdates what a record stores under them. */
export function errorKeys(expressions: FieldExpressions): ReadonlySet<string> {
  const names = computedNames(expressions);
  return producesRecords(expressions)
    ? new Set([...names, 'pre_annotation_expression', 'post_annotation_expression'])
    : names;
}

/**
 * Returns what a stored record loses when expressions compute fields of a record that updates it: the errors of these fields in `_errors`,
 * and the former values of those that are stored, also where the result is null. A field that is not computed for all records keeps both
 * in those for which it was not computed.
 */
export function outdatedFields(expressions: FieldExpressions): readonly ClearedField[] {
  const { needingInput = [], postExpression } = expressions;
  const cleared = (name: string, path: readonly string[]): ClearedField => {
    const mark = needingInput.indexOf(name);
    return { path, mark: mark < 0 ? null : mark };
  };
  const errors = Array.from(errorKeys(expressions), (name) => cleared(name, [errorsField, name]));
  // The post-annotation expression decides which fields its records have; a field that it leaves out is not given.
  if (postExpression !== '') return errors;
  const values = compiledExpressions(expressions).flatMap(({ field: { name, isTransient } }) =>
    isTransient ? [] : [cleared(name, [name])],
  );
  return [...errors, ...values];
}

/**
 * Whether expressions may have seen other values in a chunk than they would see with the types unified over all chunks: for example a
 * number in a field in which other chunks have a text, or no value in a field that only other chunks have. `chunk` are the columns of the
 * chunk's input.
 */
export function hasSeenOtherTypes(
  chunk: Columns,
  final: Columns,
  { known, read }: { readonly known: Columns; readonly read: InputFields },
): boolean {
  const isRead = ({ name }: Column): boolean => read === 'all' || read.has(name);
  return hasDifferentTypes(chunk, final.filter(isRead), known);
}

/**
 * Whether the final columns of a chunk differ in type from its own; `known` are the columns that expressions read as None where a chunk
 * lacks them.
 */
function hasDifferentTypes(chunk: Columns, final: Columns, known: Columns): boolean {
  const byName = new Map(chunk.map((column) => [column.name, column]));
  return final.some((column) => {
    const own = byName.get(column.name);
    const fixedColumn = known.find(({ name }) => name === column.name);
    if (own === undefined) return fixedColumn === undefined;
    if (own.seen === 'null') return own.isList; // an empty list is not null
    if (own.seen !== undefined || own.type !== column.type || own.isList !== column.isList)
      return true;
    return hasDifferentTypes(
      own.children ?? [],
      column.children ?? [],
      fixedColumn?.children ?? [],
    );
  });
}

/**
 * Returns the columns with which a chunk is read in the second pass: stored fields with their final types, and with the unified types of
 * the input those fields that are not stored or that expressions replace. If expressions produce records, all have the types of the input.
 */
export function rereadColumns(
  stored: Columns,
  input: Columns,
  expressions: FieldExpressions,
): Columns {
  if (producesRecords(expressions)) return input;
  const namesComputed = computedNames(expressions);
  const keptColumns = stored.filter(({ name }) => !namesComputed.has(name));
  const names = new Set(keptColumns.map(({ name }) => name));
  return [...keptColumns, ...input.filter(({ name }) => !names.has(name))];
}

/** Returns the columns of single values other than objects, whose types are suggested for the fields that expressions compute. */
export function typeHints(columns: Columns): Columns {
  return columns.filter(({ type, isList }) => !isList && type !== 'object');
}
