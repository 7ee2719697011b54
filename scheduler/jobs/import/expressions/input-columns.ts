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
  return differ(chunk, final.filter(isRead), known);
}

/** `known` are columns that are None where a chunk lacks them. */
function differ(chunk: Columns, final: Columns, known: Columns): boolean {
  const byName = new Map(chunk.map((column) => [column.name, column]));
  return final.some((column) => {
    const own = byName.get(column.name);
    const fixed = known.find(({ name }) => name === column.name);
    if (own === undefined) return fixed === undefined;
    if (own.seen === 'null') return own.isList; // empty lists are no nulls
    if (own.seen !== undefined || own.type !== column.type || own.isList !== column.isList)
      return true;
    return differ(own.children ?? [], column.children ?? [], fixed?.children ?? []);
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
  const computed = computedNames(expressions);
  const kept = stored.filter(({ name }) => !computed.has(name));
  const names = new Set(kept.map(({ name }) => name));
  return [...kept, ...input.filter(({ name }) => !names.has(name))];
}

/** The columns of the input whose types hint at those of the fields that expressions make of them. */
export function typeHints(columns: Columns): Columns {
  return columns.filter(({ type, isList }) => !isList && type !== 'object');
}
