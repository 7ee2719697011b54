import { granularities, type GlobalBeaconRow } from '../../../engine/catalog/global-beacons.js';
import { constant, declareResource } from '../../http/resource.js';
import { boolean, id, oneOf } from '../../http/schema.js';

/**
 * A global beacon (contract 14.4). Choice: it is `completed` as soon as it is enabled, because searches query the datasets
 * themselves instead of an index.
 */
export const globalBeacon = declareResource<GlobalBeaconRow, { readonly isDeleted: boolean }>({
  name: 'GlobalBeacon',
  description:
    'A global beacon: it lets searches by entity query a dataset, and the GA4GH beacon of the account, as far as it says.',
  fields: {
    id: { type: id, example: 5 },
    datastore_id: constant(1),
    dataset_id: { type: id, example: 4812 },
    granularity: {
      type: oneOf(...granularities),
      description:
        'What the GA4GH beacon of the account shows of the dataset: nothing, whether records match, how many do, or the records. If the vault is public, to everybody.',
      example: 'record',
      create: 'optional',
    },
    status: {
      type: oneOf('indexing', 'completed', 'destroying'),
      example: 'completed',
      show: (_, { isDeleted }) => (isDeleted ? 'destroying' : 'completed'),
    },
    progress_percent: constant(100),
    is_deleted: { type: boolean, example: false, show: (_, { isDeleted }) => isDeleted },
  },
});
