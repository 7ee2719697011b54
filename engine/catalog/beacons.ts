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
import { tableCodec, type TableCodec } from './table-codec.js';

/** A dataset that a beacon set queries. The beacon is shared if its set is shared. */
export interface BeaconRow extends SavedResourceRow {
  readonly beaconSetId: number;
  readonly title: string;
  readonly datasetId: number;
  /** The conditions that restrict every query of the beacon, as they were sent: a list of filters, or keys of a query; null for none. */
  readonly params: JsonObject | readonly unknown[] | null;
}

const { isShared: _, ...own } = savedResourceColumns;
const beacons = tableCodec<Omit<BeaconRow, 'isShared'>>(
  'beacons',
  { ...own, beaconSetId: 'plain', title: 'plain', datasetId: 'plain', params: 'json' },
  {},
);

/** Returns access to the table of beacons. */
export function beaconTable(db: Database): SavedResourceTable<BeaconRow> {
  // The column for sharing is left out, because whether a beacon is shared is stored with its set.
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

/** Returns the conditions on `beacons` and `objects` for a filter by dataset or vault. */
export function conditionsOnDatasets({ datasetId, vaultId }: SavedResourceFilter): Sql[] {
  return [
    ...(datasetId === undefined ? [] : [sql`beacons.dataset_id = ${datasetId}`]),
    ...(vaultId === undefined ? [] : [sql`objects.vault_id = ${vaultId}`]),
  ];
}
