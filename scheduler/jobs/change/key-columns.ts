import type { KeyColumn } from '../../../engine/change/row-keys.js';
import { columnPath, fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import { AppError } from '../../../engine/core/errors.js';
import { didYouMean, suggestionFor } from '../../../engine/core/suggestion.js';
import type { Columns } from '../../../engine/core/types.js';

/** The columns among which key fields are found. */
interface SearchedColumns {
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** The columns that the dataset stores. */
  readonly stored: Columns;
  /** The columns of parts of the given records. */
  readonly given: readonly Columns[];
}

/**
 * Returns the columns of key fields, which are found by their dotted names as in a query. Throws `input` if a field does not exist, if
 * there are parts of given records but none has it, or if it does not have a single value per record.
 */
export function keyColumnsOf(
  names: readonly string[],
  { columns, stored, given }: SearchedColumns,
): readonly KeyColumn[] {
  return names.map((name) => {
    const above = columnPath(name, columns);
    const path = above?.map((column) => column.name) ?? [];
    const isGiven = given.length === 0 || given.some((part) => columnsOnPath(part, path));
    if (above === undefined || !isGiven) throw unknownKeyError(name, given);
    const { type } = above.at(-1)!;
    if (above.some(({ isList }) => isList) || type === 'object' || type === 'json')
      throw new AppError(
        'input',
        `id_fields: ${JSON.stringify(name)} is a list or an object; name fields with a single value`,
      );
    return {
      given: above.map(({ physical }) => physical),
      // No column has an empty physical name, so no record is found by a field that the dataset does not store.
      stored: columnsOnPath(stored, path)?.map(({ physical }) => physical) ?? [''],
      type,
    };
  });
}

/** Returns the columns on the path to a field, which is the last of them; undefined if there is no such field. */
function columnsOnPath(
  columns: Columns,
  [name, ...members]: readonly string[],
): Columns | undefined {
  const column = columns.find((one) => one.name === name);
  if (column === undefined || members.length === 0) return column && [column];
  const rest = columnsOnPath(column.children ?? [], members);
  return rest && [column, ...rest];
}

function unknownKeyError(name: string, given: readonly Columns[]): AppError {
  const givenNames = given.flatMap((part) => fieldsOfColumns(part).map((field) => field.name));
  const hint = didYouMean(suggestionFor(name, new Set(givenNames)));
  const message = `id_fields: no record has a field ${JSON.stringify(name)}`;
  return new AppError('input', hint === '' ? message : `${message}.${hint}`);
}

/**
 * Whether a column can be or contain one of the fields with the dotted `names`, which begin at the level of the column. It need not be
 * known yet whether the column has members.
 */
export function mayHoldKey(column: string, names: readonly string[]): boolean {
  return names.some((name) => name === column || name.startsWith(`${column}.`));
}
