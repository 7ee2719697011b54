import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import type { Viewer } from './permission.js';
import { conjunctionOf, sql, type Sql } from './sql.js';
import type { Millis, TableCodec } from './table-codec.js';

/** A resource that belongs to a user, who may share it with their account. */
export interface OwnedRow {
  readonly id: number;
  readonly userId: number;
  readonly accountId: number;
  readonly isShared: boolean;
}

/** The columns that every saved resource has; each kind has further columns. `savedResourceColumns` says how they are stored. */
export interface SavedResourceRow extends OwnedRow {
  readonly description: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** The list filters of saved resources. */
export interface SavedResourceFilter extends AccessFilter {
  readonly userId?: number;
  readonly accountId?: number;
  readonly isShared?: boolean;
  readonly name?: string;
  /** A part of the name or the description; the case of ASCII letters is ignored. */
  readonly text?: string;
  readonly templateType?: string;
  readonly isPublic?: boolean;
  /** Restricts the list to resources with all of these tags. */
  readonly tags?: readonly string[];
  readonly beaconSetId?: number;
  /** Restricts the list to beacons of this dataset, beacon sets with such a beacon, and saved queries for the dataset. */
  readonly datasetId?: number;
  /** Restricts the list to beacons of datasets in this vault, or beacon sets with such a beacon. */
  readonly vaultId?: number;
}

export type NewResource<R extends SavedResourceRow> = Omit<R, 'id' | 'createdAt' | 'updatedAt'>;
type ResourcePatch<R extends SavedResourceRow> = Partial<
  Omit<R, keyof OwnedRow | 'createdAt' | 'updatedAt'>
>;

/** The table of one kind of saved resource, such as saved queries. */
export interface SavedResourceTable<R extends SavedResourceRow> {
  get(id: number): Promise<R | undefined>;
  /** Lists the user's own resources, those shared with their account, and public ones; newest first. */
  list(filter: SavedResourceFilter, page: Page): Promise<ListedRows<R>>;
  create(row: NewResource<R>): Promise<R>;
  update(
    id: number,
    patch: ResourcePatch<R> & { readonly isShared?: boolean; readonly isPublic?: boolean },
  ): Promise<R | undefined>;
  delete(id: number): Promise<void>;
}

/** The columns that the tables of saved resources share. */
export const savedResourceColumns = {
  id: 'plain',
  userId: 'plain',
  accountId: 'plain',
  description: 'plain',
  isShared: 'flag',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

interface SavedResourceSource {
  readonly from: Sql;
  /** The table whose columns tell the owner and whether the resource is shared. */
  readonly owner: Sql;
  /** The condition for rows that everybody may read; absent if no row can be public. */
  readonly isPublic?: Sql;
  readonly conditions: (filter: SavedResourceFilter) => readonly Sql[];
}

/** Returns access to the table of one kind of saved resource; `kind` names the counter of its ids. */
export function savedResourceTable<R extends SavedResourceRow>(
  db: Database,
  codec: TableCodec<R, object>,
  kind: string,
  { from, owner, isPublic, conditions }: SavedResourceSource,
): SavedResourceTable<R> {
  const get = async (id: number): Promise<R | undefined> => {
    const row = await db.get(
      sql`SELECT ${codec.columns} FROM ${from} WHERE ${codec.name}.id = ${id}`,
    );
    return row && codec.parse(row);
  };
  return {
    get,
    list: (filter, page) => {
      const clauses = [isVisibleTo(owner, filter.viewer, isPublic), ...conditions(filter)];
      if (filter.userId !== undefined) clauses.push(sql`${owner}.user_id = ${filter.userId}`);
      if (filter.accountId !== undefined)
        clauses.push(sql`${owner}.account_id = ${filter.accountId}`);
      if (filter.isShared !== undefined) clauses.push(sql`${owner}.is_shared = ${filter.isShared}`);
      const where = conjunctionOf(clauses);
      return listPage(db, codec, { from, where, orderBy: sql`${codec.name}.id DESC` }, page);
    },
    create: async (resource) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        const id = await nextSmallId(tx, kind);
        const row = { ...resource, id, createdAt: now, updatedAt: now } as unknown as R;
        await tx.run(codec.insert(row));
        await recordCreatedId(tx, id);
        return row;
      }),
    update: async (id, patch) => {
      const change = codec.update(id, { ...patch, updatedAt: Date.now() } as unknown as Partial<R>);
      if (change !== undefined) await db.run(change);
      return get(id);
    },
    delete: async (id) => {
      await db.run(sql`DELETE FROM ${codec.name} WHERE id = ${id}`);
    },
  };
}

function isVisibleTo(owner: Sql, viewer: Viewer | null, isPublic = sql`1 = 0`): Sql {
  if (viewer === null) return sql`1 = 1`;
  return sql`(${owner}.user_id = ${viewer.userId}
    OR (${owner}.account_id = ${viewer.accountId} AND ${owner}.is_shared = 1)
    OR ${isPublic})`;
}
