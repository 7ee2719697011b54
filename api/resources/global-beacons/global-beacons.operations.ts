import { declareOperations } from '../../http/operation-row.js';
import { globalBeacon } from './global-beacon.js';

const paths: [string] = ['/v2/objects/:id/beacon'];

/** The operations on global beacons. */
export const globalBeaconOperations = declareOperations('globalBeacons', 'Search', {
  get: {
    method: 'GET',
    paths,
    summary: 'Returns the global beacon of a dataset; 404 without one.',
    answer: globalBeacon.schema,
  },
  enable: {
    method: 'POST',
    paths,
    summary: 'Includes a dataset in searches by entity. Repeating it changes nothing.',
    answer: globalBeacon.schema,
  },
  disable: {
    method: 'DELETE',
    paths,
    summary: 'Excludes a dataset from searches by entity.',
    answer: globalBeacon.schema,
  },
});
