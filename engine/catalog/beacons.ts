import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type SavedResourceRow,
  type SavedResourceFilter,
  type SavedResourceTable,
} from './saved-resource.js';
import { sql, type Sql } from './sql.js';
import { table, type TableCodec } from './table.js';

/** A dataset that a beacon set queries. It is shared if its set is. */
export interface BeaconRow extends SavedResourceRow {
  readonly beaconSetId: number;
  readonly title: string;
  readonly datasetId: number;
  /** Filters that restrict every query of the beacon, as they were sent; null for none. */
  readonly params: JsonObject | readonly unknown[] | null;
}

const { isShared: _, ...own } = savedResourceColumns;
const beacons = table<Omit<BeaconRow, 'isShared'>>(
  'beacons',
  { ...own, beaconSetId: 'plain', title: 'plain', datasetId: 'plain', params: 'json' },
  {},
);

/** Statements over beacons. */
export function beaconTable(db: Database): SavedResourceTable<BeaconRow> {
  // Whether a beacon is shared is stored with its set, not with the beacon.
  const codec = {
    ...beacons,
    columns: sql`${beacons.columns}, beacon_sets.is_shared AS "isShared"`,
    parse: (raw: Readonly<Record<string, unknown>>): BeaconRow => ({
      ...beacons.parse(raw),
      isShared: raw['isShared'] === 1,
    }),
  } as unknown as TableCodec<BeaconRow, object>;
  return savedResourceTable(db, codec, 'beacon', {
    from: sql`beacons JOIN beacon_sets ON beacon_sets.id = beacons.beacon_set_id
      LEFT JOIN objects ON objects.id = beacons.dataset_id`,
    owner: sql`beacon_sets`,
    conditions: (filter) => [
      ...conditionsOnDatasets(filter),
      ...(filter.beaconSetId === undefined
        ? []
        : [sql`beacons.beacon_set_id = ${filter.beaconSetId}`]),
    ],
  });
}

/** The conditions over `beacons` and `objects` of a filter by dataset or vault. */
export function conditionsOnDatasets({ datasetId, vaultId }: SavedResourceFilter): Sql[] {
  return [
    ...(datasetId === undefined ? [] : [sql`beacons.dataset_id = ${datasetId}`]),
    ...(vaultId === undefined ? [] : [sql`objects.vault_id = ${vaultId}`]),
  ];
}
