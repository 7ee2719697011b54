import type {
  SearchColumn,
  SearchCondition,
  SearchObject,
  SearchTable,
  SearchVault,
} from '../search/search-tables.js';
import type { Database } from './database.js';
import { hasGrantedPermission, mayAccess, type Viewer } from './permission.js';
import { conjunctionOf, containsText, isOneOf, joinSql, sql, type Sql } from './sql.js';
import type { RawRow } from './table-codec.js';
import { fullName } from './users.js';

const idsPerStatement = 500;

/**
 * Choice: of a description of more than 40 kB, a search uses the first 10,000 characters; it ignores tags of 100,000 or more characters in
 * total.
 */
const maxDescriptionCharacters = 10_000;
const maxTagCharacters = 100_000;

/** Returns access to vaults and objects for searches. */
export function searchTable(db: Database): SearchTable<Viewer> {
  return {
    vaults: async (viewer, scope) => {
      const isOwn = scope === 'own' ? hasGrantedPermission(viewer) : sql`1 = 1`;
      const rows = await db.all(sql`SELECT vaults.id AS id, vaults.name AS name,
          accounts.domain AS domain, ${descriptionStart(sql`vaults.description`)} AS description, vaults.tags AS tags,
          vaults.default_storage_class AS "storageClass", vaults.created_at AS "createdAt",
          vaults.updated_at AS "updatedAt", ${userColumns}
        FROM vaults JOIN accounts ON accounts.id = vaults.account_id
          JOIN users ON users.id = vaults.user_id
        WHERE ${mayAccess(viewer)} AND ${isOwn} ORDER BY vaults.id`);
      return rows.map((row) => ({
        ...(row as unknown as SearchVault),
        fullPath: `${row['domain'] as string}:${row['name'] as string}`,
        tags: JSON.parse(row['tags'] as string) as string[],
        user: userNameOf(row),
      }));
    },
    boundary: async (after, count) => {
      const row = await db.get(sql`SELECT MAX(id) AS last FROM (
        SELECT id FROM objects WHERE id > ${after} ORDER BY id LIMIT ${count})`);
      return (row?.['last'] as number | null) ?? undefined;
    },
    objects: async ({ after, upTo, condition, columns }) => {
      const where = sql`objects.id > ${after} AND objects.id <= ${upTo} AND ${compileCondition(condition)}`;
      return selectRows(db, where, columns, shortTags);
    },
    byIds: async (ids) => {
      const foundObjects: SearchObject[] = [];
      for (let i = 0; i < ids.length; i += idsPerStatement) {
        const part = ids.slice(i, i + idsPerStatement);
        const where = isOneOf(sql`objects.id`, part);
        foundObjects.push(...(await selectRows(db, where, allColumns, sql`objects.tags`)));
      }
      return foundObjects;
    },
  };
}

const userColumns = sql`users.first_name AS "firstName", users.last_name AS "lastName", users.email AS email`;

/** The SQL expression of each column. */
const columnSources: Readonly<Record<Exclude<SearchColumn, 'tags'>, Sql>> = {
  parentId: sql`objects.parent_id AS "parentId"`,
  path: sql`objects.path AS path`,
  description: sql`${descriptionStart(sql`objects.description`)} AS description`,
  user: sql`objects.user_id AS "userId"`,
  storageClass: sql`datasets.storage_class AS "storageClass"`,
  createdAt: sql`objects.created_at AS "createdAt"`,
  updatedAt: sql`objects.updated_at AS "updatedAt"`,
};
const allColumns: ReadonlySet<SearchColumn> = new Set([
  'tags',
  ...(Object.keys(columnSources) as (keyof typeof columnSources)[]),
]);
const shortTags = sql`CASE WHEN LENGTH(objects.tags) < ${maxTagCharacters} THEN objects.tags ELSE '[]' END`;

/** Returns the description, or only its beginning if it is long. */
function descriptionStart(description: Sql): Sql {
  // SUBSTR stops at a NUL character, which a description may contain, so short descriptions are not cut with it.
  return sql`CASE WHEN OCTET_LENGTH(${description}) <= ${4 * maxDescriptionCharacters} THEN ${description}
    ELSE SUBSTR(${description}, 1, ${maxDescriptionCharacters}) END`;
}

async function selectRows(
  db: Database,
  where: Sql,
  columns: ReadonlySet<SearchColumn>,
  tags: Sql,
): Promise<readonly SearchObject[]> {
  const selectedColumns = [
    sql`objects.id AS id, objects.vault_id AS "vaultId", objects.object_type AS "objectType"`,
    ...[...columns].map((column) =>
      column === 'tags' ? sql`${tags} AS tags` : columnSources[column],
    ),
  ];
  const datasets = columns.has('storageClass')
    ? sql` LEFT JOIN datasets ON datasets.id = objects.id`
    : sql``;
  const rows = await db.all(sql`SELECT ${joinSql(selectedColumns, sql`, `)} FROM objects${datasets}
    WHERE ${where} ORDER BY objects.id`);
  if (!columns.has('user')) return rows as unknown as readonly SearchObject[];
  const ids = [...new Set(rows.map((row) => row['userId'] as number))];
  const users = await db.all(
    sql`SELECT users.id AS id, ${userColumns} FROM users WHERE ${isOneOf(sql`users.id`, ids)}`,
  );
  const names = new Map(users.map((user) => [user['id'], userNameOf(user)]));
  for (const row of rows) (row as Record<string, unknown>)['user'] = names.get(row['userId']) ?? '';
  return rows as unknown as readonly SearchObject[];
}

function userNameOf(row: RawRow): string {
  return fullName(row as unknown as { firstName: string; lastName: string; email: string });
}

/**
 * Compiles a condition to SQL. A search reads a range of ids at a time, so a unary plus before `vault_id` and `parent_id` keeps SQLite from
 * choosing the indexes of these columns.
 */
function compileCondition(condition: SearchCondition): Sql {
  switch (condition.kind) {
    case 'all':
      return sql`1 = 1`;
    case 'and':
      return sql`(${conjunctionOf(condition.items.map(compileCondition))})`;
    case 'or':
      return condition.items.length === 0
        ? sql`1 = 0`
        : sql`(${joinSql(condition.items.map(compileCondition), sql` OR `)})`;
    case 'types':
      return isOneOf(sql`objects.object_type`, condition.types);
    case 'ids':
      return isOneOf(idColumns[condition.column], condition.ids);
    case 'time': {
      const column = timeColumns[condition.column];
      return sql`${column} BETWEEN ${condition.from} AND ${condition.to}`;
    }
    case 'text':
      return hasText(condition.column, condition.text);
  }
}

/**
 * Returns a condition that is true if the column contains the ASCII text, ignoring case. If the text has an i, k or s, the condition is
 * also true for a column with `İ`, the Kelvin sign or the long s, because searches take these for the same letters.
 */
function hasText(name: 'path' | 'description' | 'tags', text: string): Sql {
  const column = textColumns[name];
  // LIKE stops at a NUL character, which a description may contain.
  const condition =
    name === 'description'
      ? sql`INSTR(LOWER(${column}), ${text.toLowerCase()}) > 0`
      : containsText(column, text);
  if (!/[iks]/i.test(text)) return condition;
  return sql`(${condition} OR INSTR(${column}, ${'\u212a'}) > 0 OR INSTR(${column}, ${'\u0130'}) > 0 OR INSTR(${column}, ${'\u017f'}) > 0)`;
}

const idColumns = {
  id: sql`objects.id`,
  vaultId: sql`+objects.vault_id`,
  parentId: sql`+objects.parent_id`,
};
const timeColumns = { createdAt: sql`objects.created_at`, updatedAt: sql`objects.updated_at` };
const textColumns = {
  path: sql`objects.path`,
  description: sql`objects.description`,
  tags: sql`objects.tags`,
};
