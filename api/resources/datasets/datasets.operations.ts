import { crudOperations } from '../../http/operation-row.js';
import { dataset } from './dataset.js';

/** Returns the three spellings of a dataset's path that clients use (contract 1.1, specification "Versioning"). */
export function datasetPaths(rest: string): [string, ...string[]] {
  return [`/v2/datasets/:id${rest}`, `/v2/dataset/:id${rest}`, `/v1/datasets/:id${rest}`];
}

/** The HTTP operations on datasets. */
export const datasetOperations = crudOperations('datasets', {
  tag: 'Datasets',
  path: '/v2/datasets',
  paths: datasetPaths(''),
  noun: 'a dataset',
  resource: dataset,
  query: {
    id: 'One dataset.',
    vault_id: 'Vault.',
    name: 'Exact name.',
    tags: 'One tag.',
    tag: { sameAs: 'tags' },
    storage_class: 'Storage class.',
  },
  summaries: {
    list: 'Lists the datasets that the user may read.',
    delete: 'Deletes a dataset.',
  },
});
