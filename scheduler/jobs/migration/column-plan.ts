import { mayWiden, type Column, type Columns } from '../../../engine/core/types.js';
import { overlaidColumns } from '../../../engine/ingest/overlaid-columns.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';

/** How a column of the source is migrated. */
export interface MigratedColumn {
  /** The source column, with the type in which it is read. */
  readonly from: Column;
  /** The column of the target. */
  readonly to: Column;
  /** Whether the values of the column are cast one by one; otherwise they are stored as they are read. */
  readonly isCast: boolean;
}

/**
 * Returns how the columns of the source are migrated. `stored` holds the columns that the target stores, and `known` these columns
 * and those of fields that the catalogue or the request declares. A field keeps the type that it has in `known`, and any other field gets
 * the type of the source. Choice: if nobody declared the type of a field of the target and the type of the source is wider, the field gets
 * the wider type at once, whether or not a value needs it.
 */
export function migratedColumns(
  source: Columns,
  known: Columns,
  stored: Columns,
): readonly MigratedColumn[] {
  const wantedColumns = overlaidColumns(source, known);
  const { columns } = unifyColumns(stored, [wantedColumns]);
  return source.map((from, i) => {
    const to = withPhysicalNamesOf(wantedColumns[i]!, columns);
    const readableColumn = columnReadableAs(from, to);
    return { from: readableColumn ?? from, to, isCast: readableColumn === undefined };
  });
}

/** Returns the columns with the types that are unified over all chunks. */
export function withFinalTypes(
  columns: readonly MigratedColumn[],
  final: Columns,
): readonly MigratedColumn[] {
  return columns.map((column) => {
    const finalColumn = final.find(({ name }) => name === column.to.name);
    return finalColumn === undefined ? column : { ...column, to: finalColumn };
  });
}

/** Returns a column with the physical names that the column and its members have in the target. */
function withPhysicalNamesOf(column: Column, columns: Columns): Column {
  const targetColumn = columns.find(({ name }) => name === column.name);
  if (targetColumn === undefined) return column;
  const { children } = column;
  return {
    ...column,
    physical: targetColumn.physical,
    ...(children && {
      children: children.map((child) => withPhysicalNamesOf(child, targetColumn.children ?? [])),
    }),
  };
}

/** Returns the source column with the type in which it is read, if its values can be stored as `to` without a cast. */
function columnReadableAs(from: Column, to: Column): Column | undefined {
  if (from.isList !== to.isList) return undefined;
  if (from.type === 'object' && to.type === 'object') {
    const children: Column[] = [];
    for (const child of from.children ?? []) {
      const targetMember = to.children?.find(({ name }) => name === child.name);
      const readableMember = targetMember && columnReadableAs(child, targetMember);
      if (readableMember === undefined) return undefined;
      children.push(readableMember);
    }
    return { ...from, children };
  }
  if (from.type === to.type) return from;
  const isLongerText =
    (from.type === 'string' || from.type === 'text') && (to.type === 'text' || to.type === 'blob');
  return mayWiden(from.type, to.type) || isLongerText ? { ...from, type: to.type } : undefined;
}
