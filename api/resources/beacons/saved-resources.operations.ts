import { paging, row, updating, type OperationRow } from '../../http/operation-row.js';

const shared = { is_shared: 'true or false.', user_id: 'Owner.', ...paging };
const asked = { vault_id: 'Vault.', vault_object_id: 'Dataset.', ...paging };

/** Saved queries and beacons. */
export const questionOperations = {
  'savedQueries.create': row(
    'POST',
    ['/v2/saved_queries'],
    'Saved queries',
    'Keeps a query under a name.',
    'SavedQuery',
    { body: 'SavedQueryCreate', status: 201 },
  ),
  'savedQueries.list': row(
    'GET',
    ['/v2/saved_queries'],
    'Saved queries',
    'Own and shared ones.',
    'list of SavedQuery',
    {
      query: {
        name: 'Exact name.',
        dataset: 'Id or full path: those whose fields it all has.',
        ...shared,
      },
    },
  ),
  'savedQueries.get': row(
    'GET',
    ['/v2/saved_queries/:id'],
    'Saved queries',
    'A saved query.',
    'SavedQuery',
  ),
  'savedQueries.put': row(
    'PUT',
    ['/v2/saved_queries/:id'],
    'Saved queries',
    updating,
    'SavedQuery',
    { body: 'SavedQueryUpdate' },
  ),
  'savedQueries.patch': row(
    'PATCH',
    ['/v2/saved_queries/:id'],
    'Saved queries',
    updating,
    'SavedQuery',
    { body: 'SavedQueryUpdate' },
  ),
  'savedQueries.delete': row(
    'DELETE',
    ['/v2/saved_queries/:id'],
    'Saved queries',
    'Deletes a saved query.',
    'SavedQuery',
  ),
  'beaconSets.create': row(
    'POST',
    ['/v2/beacon_sets'],
    'Beacons',
    'Makes a set of beacons.',
    'BeaconSet',
    { body: 'BeaconSetCreate', status: 201 },
  ),
  'beaconSets.list': row(
    'GET',
    ['/v2/beacon_sets'],
    'Beacons',
    'Own and shared sets.',
    'list of BeaconSet',
    { query: { account_id: 'Account.', ...shared, ...asked } },
  ),
  'beaconSets.get': row('GET', ['/v2/beacon_sets/:id'], 'Beacons', 'A beacon set.', 'BeaconSet'),
  'beaconSets.put': row('PUT', ['/v2/beacon_sets/:id'], 'Beacons', updating, 'BeaconSet', {
    body: 'BeaconSetUpdate',
  }),
  'beaconSets.patch': row('PATCH', ['/v2/beacon_sets/:id'], 'Beacons', updating, 'BeaconSet', {
    body: 'BeaconSetUpdate',
  }),
  'beaconSets.delete': row(
    'DELETE',
    ['/v2/beacon_sets/:id'],
    'Beacons',
    'Deletes a set with its beacons.',
    'BeaconSet',
  ),
  'beaconSets.query': row(
    'POST',
    ['/v2/beacon_sets/:id/query'],
    'Beacons',
    'Asks every beacon of a set for an entity.',
    'BeaconSetAnswer',
    { body: 'BeaconQuery' },
  ),
  'beacons.create': row('POST', ['/v2/beacons'], 'Beacons', 'Adds a dataset to a set.', 'Beacon', {
    body: 'BeaconCreate',
    status: 201,
  }),
  'beacons.list': row(
    'GET',
    ['/v2/beacons'],
    'Beacons',
    'The beacons of own and shared sets.',
    'list of Beacon',
    { query: { beacon_set_id: 'Set.', ...asked } },
  ),
  'beacons.get': row('GET', ['/v2/beacons/:id'], 'Beacons', 'A beacon.', 'Beacon'),
  'beacons.put': row('PUT', ['/v2/beacons/:id'], 'Beacons', updating, 'Beacon', {
    body: 'BeaconUpdate',
  }),
  'beacons.patch': row('PATCH', ['/v2/beacons/:id'], 'Beacons', updating, 'Beacon', {
    body: 'BeaconUpdate',
  }),
  'beacons.delete': row('DELETE', ['/v2/beacons/:id'], 'Beacons', 'Deletes a beacon.', 'Beacon'),
  'beacons.query': row(
    'POST',
    ['/v2/beacons/:id/query'],
    'Beacons',
    'Asks one beacon for an entity.',
    'BeaconAnswer',
    { body: 'BeaconQuery' },
  ),
} satisfies Readonly<Record<string, OperationRow>>;
