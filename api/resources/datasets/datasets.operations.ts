import { declareOperations, paging, updating } from '../../http/operation-row.js';
import { dataset } from './dataset.js';

/** The three spellings of a dataset's path that clients use (contract 1.1, specification "Versioning"). */
export function datasetPaths(rest: string): [string, ...string[]] {
  return [`/v2/datasets/:id${rest}`, `/v2/dataset/:id${rest}`, `/v1/datasets/:id${rest}`];
}

/** The operations on datasets. */
export const datasetOperations = declareOperations('datasets', 'Datasets', {
  create: {
    method: 'POST',
    paths: ['/v2/datasets'],
    summary: 'Creates a dataset.',
    body: dataset.createSchema,
    status: 201,
    answer: dataset.schema,
  },
  list: {
    method: 'GET',
    paths: ['/v2/datasets'],
    summary: 'Lists the datasets that the user may read.',
    query: {
      id: 'One dataset.',
      vault_id: 'Vault.',
      name: 'Exact name.',
      tags: 'One tag.',
      storage_class: 'Storage class.',
      ...paging,
    },
    answer: { listOf: dataset.schema },
  },
  get: {
    method: 'GET',
    paths: datasetPaths(''),
    summary: 'Returns a dataset.',
    answer: dataset.schema,
  },
  put: {
    method: 'PUT',
    paths: datasetPaths(''),
    summary: updating,
    body: dataset.updateSchema,
    answer: dataset.schema,
  },
  patch: {
    method: 'PATCH',
    paths: datasetPaths(''),
    summary: updating,
    body: dataset.updateSchema,
    answer: dataset.schema,
  },
  delete: {
    method: 'DELETE',
    paths: datasetPaths(''),
    summary: 'Deletes a dataset.',
    answer: dataset.schema,
  },
});
