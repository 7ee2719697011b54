import type { Database } from './database.js';
import { nextSmallId, type SmallIdKind } from './ids.js';
import { listPage, type Access, type AccessFilter, type Listed, type Page } from './page.js';
import type { BeaconRow, BeaconSetRow, OwnedRow, SavedQueryRow } from './rows.js';
import { noteMade } from './request-keys.js';
import { all, sql, type Sql } from './sql.js';
import { table, type TableShape } from './table.js';

/** The list filters of saved queries, beacon sets and beacons. */
export interface QuestionFilter extends AccessFilter {
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
export interface QuestionTable<R extends OwnedRow> {
  get(id: number): Promise<R | undefined>;
  /** The user's own and those that are shared with their account; newest first. */
  list(filter: QuestionFilter, page: Page): Promise<Listed<R>>;
  create(row: Given<R>): Promise<R>;
  update(id: number, patch: Change<R> & { readonly isShared?: boolean }): Promise<R | undefined>;
  delete(id: number): Promise<void>;
}

const owned = {
  id: 'plain',
  userId: 'plain',
  accountId: 'plain',
  description: 'plain',
  isShared: 'flag',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

const savedQueries = table<SavedQueryRow>(
  'savedQueries',
  { ...owned, name: 'plain', params: 'json', datasetId: 'plain' },
  {},
);
const beaconSets = table<BeaconSetRow>('beaconSets', { ...owned, title: 'plain' }, {});
const { isShared: _, ...own } = owned;
const beacons = table<Omit<BeaconRow, 'isShared'>>(
  'beacons',
  { ...own, beaconSetId: 'plain', title: 'plain', datasetId: 'plain', params: 'json' },
  {},
);

/** The saved queries of a catalogue. */
export function savedQueryTable(db: Database): QuestionTable<SavedQueryRow> {
  return ownedTable(db, savedQueries, 'saved query', {
    from: sql`saved_queries`,
    owner: sql`saved_queries`,
    conditions: ({ name, datasetId }) => [
      ...(name === undefined ? [] : [sql`saved_queries.name = ${name}`]),
      ...(datasetId === undefined ? [] : [sql`saved_queries.dataset_id = ${datasetId}`]),
    ],
  });
}

/** The beacon sets of a catalogue. */
export function beaconSetTable(db: Database): QuestionTable<BeaconSetRow> {
  return ownedTable(db, beaconSets, 'beacon set', {
    from: sql`beacon_sets`,
    owner: sql`beacon_sets`,
    conditions: (filter) =>
      ofDatasets(filter).map(
        (
          condition,
        ) => sql`EXISTS (SELECT 1 FROM beacons LEFT JOIN objects ON objects.id = beacons.dataset_id
          WHERE beacons.beacon_set_id = beacon_sets.id AND ${condition})`,
      ),
  });
}

/** The beacons of a catalogue. */
export function beaconTable(db: Database): QuestionTable<BeaconRow> {
  // A beacon is shared as its set is, so the set's column is read in its place.
  const shape = {
    ...beacons,
    columns: sql`${beacons.columns}, beacon_sets.is_shared AS "isShared"`,
    parse: (raw: Readonly<Record<string, unknown>>): BeaconRow => ({
      ...beacons.parse(raw),
      isShared: raw['isShared'] === 1,
    }),
  } as unknown as TableShape<BeaconRow, object>;
  return ownedTable(db, shape, 'beacon', {
    from: sql`beacons JOIN beacon_sets ON beacon_sets.id = beacons.beacon_set_id
      LEFT JOIN objects ON objects.id = beacons.dataset_id`,
    owner: sql`beacon_sets`,
    conditions: (filter) => [
      ...ofDatasets(filter),
      ...(filter.beaconSetId === undefined
        ? []
        : [sql`beacons.beacon_set_id = ${filter.beaconSetId}`]),
    ],
  });
}

function ofDatasets({ datasetId, vaultId }: QuestionFilter): Sql[] {
  return [
    ...(datasetId === undefined ? [] : [sql`beacons.dataset_id = ${datasetId}`]),
    ...(vaultId === undefined ? [] : [sql`objects.vault_id = ${vaultId}`]),
  ];
}

interface Source {
  readonly from: Sql;
  /** The table whose row says who owns it and whether it is shared. */
  readonly owner: Sql;
  readonly conditions: (filter: QuestionFilter) => readonly Sql[];
}

function ownedTable<R extends OwnedRow>(
  db: Database,
  shape: TableShape<R, object>,
  kind: SmallIdKind,
  { from, owner, conditions }: Source,
): QuestionTable<R> {
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
        await noteMade(tx, id);
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
