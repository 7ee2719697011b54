import type { Column, Columns } from '../../../../engine/core/types.js';
import { compiledExpressions, makesRecords, type FieldExpressions } from './field-expressions.js';

/** The fields of the input that expressions read, or `all` if they may read any. */
export type InputFields = ReadonlySet<string> | 'all';

/** The fields of the input that the expressions of an import read; each may read the value that it replaces. */
export function inputFields(expressions: FieldExpressions): InputFields {
  if (makesRecords(expressions)) return 'all';
  const names = new Set<string>();
  for (const { field, expression } of compiledExpressions(expressions)) {
    if (expression?.fieldsRead === 'all') return 'all';
    if (expression === undefined) continue;
    names.add(field.name);
    for (const name of expression.fieldsRead) names.add(name);
  }
  return names;
}

/** The names of the fields that expressions compute. */
export function computedNames({ fields }: FieldExpressions): ReadonlySet<string> {
  return new Set(fields.map(({ name }) => String(name)));
}

/**
 * Whether expressions may have seen other values in a chunk, whose input had the columns `chunk`, than with the types unified over all
 * chunks: a number where other chunks have a text, or no field at all.
 */
export function seesOther(
  chunk: Columns,
  final: Columns,
  { known, read }: { readonly known: Columns; readonly read: InputFields },
): boolean {
  const isRead = ({ name }: Column): boolean => read === 'all' || read.has(name);
  return differs(chunk, final.filter(isRead), known);
}

/** `known` are columns that are None where a chunk lacks them. */
function differs(chunk: Columns, final: Columns, known: Columns): boolean {
  const byName = new Map(chunk.map((column) => [column.name, column]));
  return final.some((column) => {
    const own = byName.get(column.name);
    const fixedColumn = known.find(({ name }) => name === column.name);
    if (own === undefined) return fixedColumn === undefined;
    if (own.seen === 'null') return own.isList; // empty lists are no nulls
    if (own.seen !== undefined || own.type !== column.type || own.isList !== column.isList)
      return true;
    return differs(own.children ?? [], column.children ?? [], fixedColumn?.children ?? []);
  });
}

/**
 * The columns with which a chunk is read for the second time: the final types of the stored fields, and the unified ones of the input for
 * those that are not stored or that expressions replace.
 */
export function readColumns(
  stored: Columns,
  input: Columns,
  expressions: FieldExpressions,
): Columns {
  if (makesRecords(expressions)) return input;
  const namesComputed = computedNames(expressions);
  const keptColumns = stored.filter(({ name }) => !namesComputed.has(name));
  const names = new Set(keptColumns.map(({ name }) => name));
  return [...keptColumns, ...input.filter(({ name }) => !names.has(name))];
}

/** The input columns whose types are proposed for the fields that expressions compute from them: those of single values. */
export function typeHints(columns: Columns): Columns {
  return columns.filter(({ type, isList }) => !isList && type !== 'object');
}
