import { parseJson, stringifyJson } from '../core/json.js';
import type { Value } from '../core/types.js';
import { aliasSql, identifier, joinSql, sql, type Bindable, type Sql } from './sql.js';

/** Milliseconds since 1970-01-01 UTC, the form of every time in the catalogue. */
export type Millis = number;

/** How a property is stored: unchanged (`plain`), as 0 or 1 (`flag`), as JSON text, or as a list of ids in the form `/1/2/`. */
type ColumnCodec = 'plain' | 'flag' | 'json' | 'ids';
type ColumnCodecs<R> = { readonly [K in keyof R]-?: ColumnCodec };

/** A row as the driver returns it. */
export type RawRow = Readonly<Record<string, unknown>>;

/** Converts between rows (camelCase properties) and columns of a table (snake_case). */
export interface TableCodec<R, X> {
  readonly name: Sql;
  /** The columns for a SELECT from this table: `vaults.id AS "id", …`. */
  readonly columns: Sql;
  parse(raw: RawRow): R;
  insert(row: R & X): Sql;
  /** Returns an UPDATE of the defined properties of the patch; undefined if there are none. */
  update(id: number, patch: Partial<R & X>): Sql | undefined;
}

/** Declares a table: the columns of its rows, and hidden columns that are used only in conditions (folded names, hashes). */
export function tableCodec<R extends object, X extends object = object>(
  name: string,
  columns: ColumnCodecs<R>,
  hidden: ColumnCodecs<X>,
): TableCodec<R, X> {
  const visible = Object.entries(columns) as [string, ColumnCodec][];
  const storedColumns = [...visible, ...(Object.entries(hidden) as [string, ColumnCodec][])];
  const tableName = identifier(name);
  const namedColumns = new Map(storedColumns.map(([key]) => [key, identifier(key)]));
  const insertNames = joinSql([...namedColumns.values()], sql`, `);
  return {
    name: tableName,
    columns: joinSql(
      visible.map(([key]) => sql`${tableName}.${aliasSql(key)}`),
      sql`, `,
    ),
    parse: (raw) =>
      Object.fromEntries(visible.map(([key, codec]) => [key, decodeValue(codec, raw[key])])) as R,
    insert: (row) => {
      const values = storedColumns.map(([key, codec]) => {
        const value = (row as RawRow)[key];
        if (value === undefined) throw new Error(`${name}: no value for ${key}`);
        return sql`${encodeValue(codec, value)}`;
      });
      return sql`INSERT INTO ${tableName} (${insertNames}) VALUES (${joinSql(values, sql`, `)})`;
    },
    update: (id, patch) => {
      const changedColumns = storedColumns.filter(
        ([key]) => (patch as RawRow)[key] !== undefined && key !== 'id',
      );
      if (changedColumns.length === 0) return undefined;
      const changes = changedColumns.map(
        ([key, codec]) => sql`${identifier(key)} = ${encodeValue(codec, (patch as RawRow)[key])}`,
      );
      return sql`UPDATE ${tableName} SET ${joinSql(changes, sql`, `)} WHERE id = ${id}`;
    },
  };
}

/**
 * Encodes the ids of ancestors, root first, as one string, so that one statement can replace the prefix in a whole subtree when it is
 * moved.
 */
export function encodeIds(ids: readonly number[]): string {
  return `/${ids.map((id) => `${id}/`).join('')}`;
}

function encodeValue(codec: ColumnCodec, value: unknown): Bindable {
  if (value === null) return null;
  switch (codec) {
    case 'plain':
      return value as Bindable;
    case 'flag':
      return value === true;
    case 'json':
      return stringifyJson(value as Value);
    case 'ids':
      return encodeIds(value as readonly number[]);
  }
}

function decodeValue(codec: ColumnCodec, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (codec) {
    case 'plain':
      return value;
    case 'flag':
      return value === 1;
    case 'json':
      return parseJson(value as string, { maxDepth: 1_000 });
    case 'ids':
      return (value as string).split('/').filter(Boolean).map(Number);
  }
}
