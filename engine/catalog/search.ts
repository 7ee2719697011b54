import type { Database } from './database.js';
import { contains } from './like.js';
import { fullName } from './names.js';
import type { Access } from './page.js';
import { hasOwnRight, mayAccess } from './permission.js';
import type { Millis, ObjectType } from './rows.js';
import { all, isOneOf, join, sql, type Sql } from './sql.js';
import type { Raw } from './table.js';

/** A vault as a search sees it. */
export interface SearchVault {
  readonly id: number;
  readonly name: string;
  /** `acme:Lab` */
  readonly fullPath: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  /** The full name of its owner. */
  readonly user: string;
  readonly storageClass: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** An object as a search sees it; what was not asked for is undefined. */
export interface SearchObject {
  readonly id: number;
  readonly vaultId: number;
  readonly objectType: ObjectType;
  readonly parentId?: number | null;
  readonly path?: string;
  readonly description?: string | null;
  /** JSON text. */
  readonly tags?: string;
  readonly user?: string;
  readonly storageClass?: string | null;
  readonly createdAt?: Millis;
  readonly updatedAt?: Millis;
}

/** What of an object is read beyond its id, vault and type. */
export type SearchColumn = Exclude<keyof SearchObject, 'id' | 'vaultId' | 'objectType'>;

/** What the database can check of a search by itself; the rest is checked of the rows that it yields. */
export type SearchCondition =
  | { readonly kind: 'all' }
  | { readonly kind: 'and' | 'or'; readonly items: readonly SearchCondition[] }
  | { readonly kind: 'types'; readonly types: readonly ObjectType[] }
  | {
      readonly kind: 'ids';
      readonly column: 'id' | 'vaultId' | 'parentId';
      readonly ids: readonly number[];
    }
  | {
      readonly kind: 'time';
      readonly column: 'createdAt' | 'updatedAt';
      readonly from: Millis;
      readonly to: Millis;
    }
  /** This text of ASCII may occur, whatever its letter case. */
  | {
      readonly kind: 'text';
      readonly column: 'path' | 'description' | 'tags';
      readonly text: string;
    };

/** A stretch of the objects: ids after `after` up to `upTo`. */
export interface SearchSlice {
  readonly after: number;
  readonly upTo: number;
  readonly condition: SearchCondition;
  readonly columns: ReadonlySet<SearchColumn>;
}

/**
 * What a search reads. Objects come in slices, so that a search of a large catalogue leaves turns to others; each is found in
 * the state of its slice's moment.
 */
export interface SearchTable {
  /** The vaults that the user may read, oldest first; `own` leaves out those that are only public. */
  vaults(access: Access, scope: 'readable' | 'own'): Promise<readonly SearchVault[]>;
  /** The id of the last of the next `count` objects after this one; undefined behind the last. */
  boundary(after: number, count: number): Promise<number | undefined>;
  /** The objects of a slice, oldest first, whoever may read them: the caller keeps those of vaults that it was given. */
  objects(slice: SearchSlice): Promise<readonly SearchObject[]>;
  /** Objects with all columns, in any order. */
  byIds(ids: readonly number[]): Promise<readonly SearchObject[]>;
}

const idsPerStatement = 500;

/** Choice: a search looks at the first 10,000 characters of a description above 40 kB, and at no tags of 100,000 or more together. */
const descriptionCharacters = 10_000;
const tagCharacters = 100_000;

/** The searches of a catalogue. */
export function searchTable(db: Database): SearchTable {
  return {
    vaults: async (access, scope) => {
      const isOwn = scope === 'own' ? hasOwnRight(access) : sql`1 = 1`;
      const rows = await db.all(sql`SELECT vaults.id AS id, vaults.name AS name,
          accounts.domain AS domain, ${beginning(sql`vaults.description`)} AS description, vaults.tags AS tags,
          vaults.default_storage_class AS "storageClass", vaults.created_at AS "createdAt",
          vaults.updated_at AS "updatedAt", ${userColumns}
        FROM vaults JOIN accounts ON accounts.id = vaults.account_id
          JOIN users ON users.id = vaults.user_id
        WHERE ${mayAccess(access)} AND ${isOwn} ORDER BY vaults.id`);
      return rows.map((row) => ({
        ...(row as unknown as SearchVault),
        fullPath: `${row['domain'] as string}:${row['name'] as string}`,
        tags: JSON.parse(row['tags'] as string) as string[],
        user: userOf(row),
      }));
    },
    boundary: async (after, count) => {
      const row = await db.get(sql`SELECT MAX(id) AS last FROM (
        SELECT id FROM objects WHERE id > ${after} ORDER BY id LIMIT ${count})`);
      return (row?.['last'] as number | null) ?? undefined;
    },
    objects: async ({ after, upTo, condition, columns }) => {
      const where = sql`objects.id > ${after} AND objects.id <= ${upTo} AND ${compile(condition)}`;
      return select(db, where, columns, shortTags);
    },
    byIds: async (ids) => {
      const found: SearchObject[] = [];
      for (let i = 0; i < ids.length; i += idsPerStatement) {
        const part = ids.slice(i, i + idsPerStatement);
        const where = isOneOf(sql`objects.id`, part);
        found.push(...(await select(db, where, everyColumn, sql`objects.tags`)));
      }
      return found;
    },
  };
}

const userColumns = sql`users.first_name AS "firstName", users.last_name AS "lastName", users.email AS email`;

/** Where each column comes from. */
const sources: Readonly<Record<Exclude<SearchColumn, 'tags'>, Sql>> = {
  parentId: sql`objects.parent_id AS "parentId"`,
  path: sql`objects.path AS path`,
  description: sql`${beginning(sql`objects.description`)} AS description`,
  user: sql`objects.user_id AS "userId"`,
  storageClass: sql`datasets.storage_class AS "storageClass"`,
  createdAt: sql`objects.created_at AS "createdAt"`,
  updatedAt: sql`objects.updated_at AS "updatedAt"`,
};
const everyColumn: ReadonlySet<SearchColumn> = new Set([
  'tags',
  ...(Object.keys(sources) as (keyof typeof sources)[]),
]);
const shortTags = sql`CASE WHEN LENGTH(objects.tags) < ${tagCharacters} THEN objects.tags ELSE '[]' END`;

function beginning(description: Sql): Sql {
  // SUBSTR stops at NUL, which short ones may well have.
  return sql`CASE WHEN OCTET_LENGTH(${description}) <= ${4 * descriptionCharacters} THEN ${description}
    ELSE SUBSTR(${description}, 1, ${descriptionCharacters}) END`;
}

async function select(
  db: Database,
  where: Sql,
  columns: ReadonlySet<SearchColumn>,
  tags: Sql,
): Promise<readonly SearchObject[]> {
  const wanted = [
    sql`objects.id AS id, objects.vault_id AS "vaultId", objects.object_type AS "objectType"`,
    ...[...columns].map((column) => (column === 'tags' ? sql`${tags} AS tags` : sources[column])),
  ];
  const datasets = columns.has('storageClass')
    ? sql` LEFT JOIN datasets ON datasets.id = objects.id`
    : sql``;
  const rows = await db.all(sql`SELECT ${join(wanted, sql`, `)} FROM objects${datasets}
    WHERE ${where} ORDER BY objects.id`);
  if (!columns.has('user')) return rows as unknown as readonly SearchObject[];
  const ids = [...new Set(rows.map((row) => row['userId'] as number))];
  const users = await db.all(
    sql`SELECT users.id AS id, ${userColumns} FROM users WHERE ${isOneOf(sql`users.id`, ids)}`,
  );
  const names = new Map(users.map((user) => [user['id'], userOf(user)]));
  for (const row of rows) (row as Record<string, unknown>)['user'] = names.get(row['userId']) ?? '';
  return rows as unknown as readonly SearchObject[];
}

function userOf(row: Raw): string {
  return fullName(row as unknown as { firstName: string; lastName: string; email: string });
}

/** The plus signs keep these out of the choice of an index: a slice is a stretch of ids. */
function compile(condition: SearchCondition): Sql {
  switch (condition.kind) {
    case 'all':
      return sql`1 = 1`;
    case 'and':
      return sql`(${all(condition.items.map(compile))})`;
    case 'or':
      return condition.items.length === 0
        ? sql`1 = 0`
        : sql`(${join(condition.items.map(compile), sql` OR `)})`;
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

/** Beside ASCII, the signs `K` (kelvin) and `İ` have letters of ASCII in lower case. */
function hasText(name: 'path' | 'description' | 'tags', text: string): Sql {
  const column = textColumns[name];
  // LIKE stops reading at NUL, which a description may have.
  const found =
    name === 'description'
      ? sql`INSTR(LOWER(${column}), ${text.toLowerCase()}) > 0`
      : contains(column, text);
  if (!/[ik]/i.test(text)) return found;
  return sql`(${found} OR INSTR(${column}, ${'\u212a'}) > 0 OR INSTR(${column}, ${'\u0130'}) > 0)`;
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
