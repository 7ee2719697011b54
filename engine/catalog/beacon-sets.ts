import { conditionsOnDatasets } from './beacons.js';
import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type SavedResourceRow,
  type SavedResourceTable,
} from './saved-resource.js';
import { sql } from './sql.js';
import { tableCodec } from './table-codec.js';

export interface BeaconSetRow extends SavedResourceRow {
  readonly title: string;
}

const beaconSets = tableCodec<BeaconSetRow>(
  'beaconSets',
  { ...savedResourceColumns, title: 'plain' },
  {},
);

/** Returns access to the table of beacon sets. */
export function beaconSetTable(db: Database): SavedResourceTable<BeaconSetRow> {
  return savedResourceTable(db, beaconSets, 'beacon set', {
    from: sql`beacon_sets`,
    owner: sql`beacon_sets`,
    conditions: (filter) =>
      conditionsOnDatasets(filter).map(
        (
          condition,
        ) => sql`EXISTS (SELECT 1 FROM beacons LEFT JOIN objects ON objects.id = beacons.dataset_id
          WHERE beacons.beacon_set_id = beacon_sets.id AND ${condition})`,
      ),
  });
}
