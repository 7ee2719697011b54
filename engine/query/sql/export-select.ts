import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot } from '../../store/store.js';
import type { Column } from '../../core/types.js';
import type { Dialect, Language } from './dialect.js';
import { pageRows } from './page.js';
import type { Select } from './statement.js';
import { project, type Projected } from '../results/projection.js';
import { columnJson, recordJson } from './record-json.js';
import type { QueryRequest } from '../request/request.js';
import type { CaseVariants } from '../predicate/predicate.js';
import { begin } from './statement.js';

/** One column of an export; nested ones are dotted. */
export interface ExportColumn {
  readonly name: string;
  readonly title: string;
}

/**
 * The statement of an export, for `engine.stream`. Shape `json`: one column, the JSON text of a record as a query shows it.
 * Shape `csv`: one text column for each of `columns`, null where there is no value; objects are flattened with dots, lists
 * are JSON text.
 */
export function exportSelect(
  snapshot: Snapshot,
  rows: readonly DatasetField[],
  request: QueryRequest,
  shape: 'json' | 'csv',
  caseVariants?: CaseVariants,
  language?: Language,
): Select & { readonly columns: readonly ExportColumn[] } {
  const statement = begin(snapshot, caseVariants, language);
  const { dialect, params } = statement;
  const projection = project(snapshot.columns, rows, request);
  const cells = projection.flatMap((projected) => flatten(dialect, projected));
  const source = pageRows(statement, snapshot, request, projection);
  const titles = new Map(rows.map((row) => [row.path.join('\n'), row.title]));
  const columns = cells.map(({ path }) => ({
    name: path.join('.'),
    title: titles.get(path.join('\n')) || path.join('.'),
  }));
  const values =
    shape === 'json' ? [recordJson(dialect, projection)] : cells.map((cell) => cell.sql);
  // A table without columns still has its rows.
  const list = values.length > 0 ? values.join(', ') : `''`;
  return { sql: `SELECT ${list} FROM ${source}`, params: params.list, columns };
}

interface Cell {
  readonly path: readonly string[];
  readonly sql: string;
}

function flatten(dialect: Dialect, { column, isStored }: Projected): readonly Cell[] {
  if (!isStored) {
    const text = dialect.missingValue({ ...column, type: 'string', isList: false });
    return [{ path: [column.name], sql: text }];
  }
  return leaves(dialect, column, dialect.column(column.physical), [column.name]);
}

function leaves(
  dialect: Dialect,
  column: Column,
  value: string,
  path: readonly string[],
): readonly Cell[] {
  if (column.isList) return [{ path, sql: columnJson(dialect, column, value, path.length > 1) }];
  if (column.type !== 'object') return [{ path, sql: dialect.text(value, column.type) }];
  return (column.children ?? []).flatMap((child) =>
    leaves(dialect, child, dialect.member(value, child.physical), [...path, child.name]),
  );
}
