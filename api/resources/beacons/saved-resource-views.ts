import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import type { SavedQueryRow } from '../../../engine/catalog/saved-queries.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import { fieldsNamed } from '../saved-queries/fields-named.js';
import { shortUserView, time } from '../views.js';

/** A saved query (contract 17). */
export function savedQueryView(
  row: SavedQueryRow,
  user: UserRow | undefined,
  origin: string,
): object {
  return {
    class_name: 'SavedQuery',
    id: row.id,
    url: `${origin}/v2/saved_queries/${row.id}`,
    name: row.name,
    description: row.description,
    params: row.params,
    fields: fieldsNamed(row.params),
    is_shared: row.isShared,
    dataset: row.datasetId,
    dataset_id: row.datasetId,
    user: user ? shortUserView(user) : null,
    user_id: row.userId,
    account_id: row.accountId,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  };
}

/** A beacon set (contract 14.1). */
export function beaconSetView(
  row: BeaconSetRow,
  user: UserRow | undefined,
  beaconsCount: number,
  origin: string,
): object {
  const url = `${origin}/v2/beacon_sets/${row.id}`;
  return {
    class_name: 'BeaconSet',
    id: row.id,
    url,
    title: row.title,
    description: row.description,
    is_shared: row.isShared,
    is_public: false,
    beacons_count: beaconsCount,
    query_url: `${url}/query`,
    user: user ? shortUserView(user) : null,
    user_id: row.userId,
    account_id: row.accountId,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  };
}

/** A beacon (contract 14.2); `vaultId` is null once its dataset is gone. */
export function beaconView(row: BeaconRow, vaultId: number | null, origin: string): object {
  const url = `${origin}/v2/beacons/${row.id}`;
  return {
    class_name: 'Beacon',
    id: row.id,
    url,
    beacon_set_id: row.beaconSetId,
    title: row.title,
    description: row.description,
    vault_object_id: row.datasetId,
    vault_id: vaultId,
    params: row.params,
    query_url: `${url}/query`,
    user_id: row.userId,
    account_id: row.accountId,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  };
}
