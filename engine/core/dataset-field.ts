import type { Column, Columns, DataType, EntityType, StoredType } from './types.js';

/** A field of a dataset as queries, searches and exports need it; the catalogue's row of a field has further properties. */
export interface DatasetField {
  /**
   * The name, with dots between the names of nested members: `info.AF`. `path` has the names as a list, because a name may itself contain a
   * dot.
   */
  readonly name: string;
  readonly path: readonly string[];
  readonly title: string;
  readonly dataType: DataType;
  readonly isList: boolean | null;
  readonly entityType: EntityType | null;
  /** The position among its siblings in records and lists; a field with null comes after all fields with a number. */
  readonly ordering: number | null;
}

/** A field as a reader found it in data or as a request describes it, without the properties that only the catalogue has. */
export interface NewField {
  readonly name: string;
  readonly path: readonly string[];
  readonly dataType: DataType;
  readonly isList: boolean | null;
  readonly title?: string;
  readonly description?: string;
  readonly entityType?: EntityType | null;
  readonly isHidden?: boolean;
  readonly ordering?: number | null;
  readonly urlTemplate?: string | null;
}

/** The field of the commit id that every record has (contract 7.1): it is listed once the dataset has data, and is read-only. */
export const commitField = { name: '_commit', path: ['_commit'], dataType: 'string' } as const;

/** Returns why a user may not give a field this name (contract 9); null for an allowed name. Names found in data are not checked. */
export function fieldNameProblem(name: string): string | null {
  if (name.trim() === '') return 'This field may not be blank.';
  if (name.startsWith('_')) return 'A field name must not begin with an underscore.';
  if (name.includes('__')) return 'A field name must not contain two underscores in a row.';
  const isStorable = name.length <= 1_000 && name.isWellFormed() && !name.includes('\0');
  return isStorable
    ? null
    : 'A field name has at most 1000 characters and no NUL or broken surrogate.';
}

/** Returns one field for each column and each member of an object, parents before children. */
export function fieldsOfColumns(
  columns: Columns,
  above: readonly string[] = [],
): readonly NewField[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    const field: NewField = {
      name: path.join('.'),
      path,
      dataType: dataTypeOf(column.type),
      isList: column.isList ? true : null,
    };
    return [field, ...fieldsOfColumns(column.children ?? [], path)];
  });
}

/**
 * Returns the column that a dotted name means, after the columns of the objects around it; undefined if there is none. As in queries, a
 * column whose own name has dots takes precedence over a member of an object.
 */
export function columnPath(name: string, columns: Columns): readonly Column[] | undefined {
  const topLevelColumn = columns.find((column) => column.name === name);
  return topLevelColumn === undefined ? memberPath(name, columns) : [topLevelColumn];
}

function memberPath(name: string, columns: Columns): readonly Column[] | undefined {
  for (const column of columns) {
    if (column.name === name) return [column];
    if (!name.startsWith(`${column.name}.`)) continue;
    const path = memberPath(name.slice(column.name.length + 1), column.children ?? []);
    if (path !== undefined) return [column, ...path];
  }
  return undefined;
}

/** The data type that clients see for a stored type: `json` is an object to them. */
function dataTypeOf(type: StoredType): DataType {
  return type === 'json' ? 'object' : type;
}
