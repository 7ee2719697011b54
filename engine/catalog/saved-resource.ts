import type { Database } from './database.js';
import { recordCreated } from './idempotency-keys.js';
import { nextSmallId, type SmallIdKind } from './ids.js';
import { listPage, type AccessFilter, type Listed, type Page } from './list-page.js';
import type { Access } from './permission.js';
import { all, sql, type Sql } from './sql.js';
import type { TableCodec } from './table.js';

/** What belongs to a user and may be shared with the account. */
export interface OwnedRow {
  readonly id: number;
  readonly userId: number;
  readonly accountId: number;
  readonly isShared: boolean;
}

/** The list filters of saved queries, beacon sets and beacons. */
export interface SavedResourceFilter extends AccessFilter {
  readonly userId?: number;
  readonly accountId?: number;
  readonly isShared?: boolean;
  readonly name?: string;
  readonly beaconSetId?: number;
  /** Beacons, or sets with a beacon, of this dataset; saved queries that were made for it. */
  readonly datasetId?: number;
  /** The same of any dataset in this vault. */
  readonly vaultId?: number;
}

type Given<R extends OwnedRow> = Omit<R, 'id' | 'createdAt' | 'updatedAt'>;
type Change<R extends OwnedRow> = Partial<Omit<R, keyof OwnedRow | 'createdAt' | 'updatedAt'>>;

/** A table of things that belong to users. */
export interface SavedResourceTable<R extends OwnedRow> {
  get(id: number): Promise<R | undefined>;
  /** The user's own and those that are shared with their account; newest first. */
  list(filter: SavedResourceFilter, page: Page): Promise<Listed<R>>;
  create(row: Given<R>): Promise<R>;
  update(id: number, patch: Change<R> & { readonly isShared?: boolean }): Promise<R | undefined>;
  delete(id: number): Promise<void>;
}

/** The columns that all of these tables have. */
export const savedResourceColumns = {
  id: 'plain',
  userId: 'plain',
  accountId: 'plain',
  description: 'plain',
  isShared: 'flag',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

interface Source {
  readonly from: Sql;
  /** The table whose row says who owns it and whether it is shared. */
  readonly owner: Sql;
  readonly conditions: (filter: SavedResourceFilter) => readonly Sql[];
}

/** The statements of a table of things that belong to users. */
export function savedResourceTable<R extends OwnedRow>(
  db: Database,
  shape: TableCodec<R, object>,
  kind: SmallIdKind,
  { from, owner, conditions }: Source,
): SavedResourceTable<R> {
  const get = async (id: number): Promise<R | undefined> => {
    const row = await db.get(
      sql`SELECT ${shape.columns} FROM ${from} WHERE ${shape.name}.id = ${id}`,
    );
    return row && shape.parse(row);
  };
  return {
    get,
    list: (filter, page) => {
      const found = [visible(owner, filter.access), ...conditions(filter)];
      if (filter.userId !== undefined) found.push(sql`${owner}.user_id = ${filter.userId}`);
      if (filter.accountId !== undefined)
        found.push(sql`${owner}.account_id = ${filter.accountId}`);
      if (filter.isShared !== undefined) found.push(sql`${owner}.is_shared = ${filter.isShared}`);
      const where = all(found);
      return listPage(db, shape, { from, where, orderBy: sql`${shape.name}.id DESC` }, page);
    },
    create: async (given) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        const id = await nextSmallId(tx, kind);
        const row = { ...given, id, createdAt: now, updatedAt: now } as unknown as R;
        await tx.run(shape.insert(row));
        await recordCreated(tx, id);
        return row;
      }),
    update: async (id, patch) => {
      const change = shape.update(id, { ...patch, updatedAt: Date.now() } as unknown as Partial<R>);
      if (change !== undefined) await db.run(change);
      return get(id);
    },
    delete: async (id) => {
      await db.run(sql`DELETE FROM ${shape.name} WHERE id = ${id}`);
    },
  };
}

function visible(owner: Sql, access: Access | null): Sql {
  if (access === null) return sql`1 = 1`;
  return sql`(${owner}.user_id = ${access.userId}
    OR (${owner}.account_id = ${access.accountId} AND ${owner}.is_shared = 1))`;
}
