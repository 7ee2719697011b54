import { granularities, type GlobalBeaconRow } from '../../../engine/catalog/global-beacons.js';
import { constantField, declareResource } from '../../http/resource.js';
import { boolean, id, enumOf } from '../../http/json-schema.js';

/**
 * A global beacon (contract 14.4).
 * Choice: a global beacon is `completed` as soon as it is enabled, because searches query the datasets directly and need no index.
 */
export const globalBeacon = declareResource<GlobalBeaconRow, { readonly isDeleted: boolean }>({
  name: 'GlobalBeacon',
  description:
    'A global beacon: it lets searches by entity query a dataset, and the GA4GH beacon of the account, as far as it says.',
  fields: {
    id: { type: id, example: 5 },
    datastore_id: constantField(1),
    dataset_id: { type: id, example: 4812 },
    granularity: {
      type: enumOf(...granularities),
      description:
        'What the GA4GH beacon of the account shows of the dataset: nothing, whether records match, how many do, or the records. If the vault is public, to everybody.',
      example: 'record',
      create: 'optional',
    },
    status: {
      type: enumOf('indexing', 'completed', 'destroying'),
      example: 'completed',
      show: (_, { isDeleted }) => (isDeleted ? 'destroying' : 'completed'),
    },
    progress_percent: constantField(100),
    is_deleted: { type: boolean, example: false, show: (_, { isDeleted }) => isDeleted },
  },
});
