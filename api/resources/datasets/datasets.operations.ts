import {
  paging,
  dataset,
  field,
  row,
  updating,
  type OperationRow,
} from '../../http/operation-row.js';

/** Datasets, their records and their fields. */
export const datasetOperations = {
  'datasets.create': row('POST', ['/v2/datasets'], 'Datasets', 'Creates a dataset.', 'Dataset', {
    body: 'DatasetCreate',
    status: 201,
  }),
  'datasets.list': row(
    'GET',
    ['/v2/datasets'],
    'Datasets',
    'The datasets that the user may read.',
    'list of Dataset',
    {
      query: { vault_id: 'Vault.', name: 'Exact name.', tags: 'One tag.', ...paging },
    },
  ),
  'datasets.get': row('GET', dataset(''), 'Datasets', 'A dataset.', 'Dataset'),
  'datasets.put': row('PUT', dataset(''), 'Datasets', updating, 'Dataset', {
    body: 'DatasetUpdate',
  }),
  'datasets.patch': row('PATCH', dataset(''), 'Datasets', updating, 'Dataset', {
    body: 'DatasetUpdate',
  }),
  'datasets.delete': row('DELETE', dataset(''), 'Datasets', 'Deletes a dataset.', 'Dataset'),
  'datasets.query': row(
    'POST',
    [...dataset('/data'), ...dataset('/query')],
    'Datasets',
    'A page of records, and facets. `Accept: application/vnd.apache.arrow.stream`, `application/x-ndjson` or `text/csv` answers the page in that form.',
    'QueryAnswer',
    { body: 'Query' },
  ),
  'datasets.lookup': row(
    'GET',
    dataset('/data/:ids'),
    'Datasets',
    'Records by `_id`, in the order asked; unknown ones are left out.',
    'Lookup',
  ),
  'datasets.batch': row(
    'POST',
    ['/v2/batch_query', '/v1/batch_query'],
    'Datasets',
    'Several queries at once; a list in their order, each with its `status_code`.',
    'BatchAnswer',
    { body: 'BatchQuery' },
  ),
  'search.find': row(
    'POST',
    ['/v2/search'],
    'Search',
    'Vaults, folders, files and datasets that the user may read, by the filters, query strings, facets and ordering of queries.',
    'SearchAnswer',
    { body: 'Search' },
  ),
  'fields.create': row(
    'POST',
    ['/v2/dataset_fields', '/v1/dataset_fields'],
    'Dataset fields',
    'Adds a field.',
    'DatasetField',
    {
      body: 'FieldCreate',
      status: 201,
    },
  ),
  'fields.list': row(
    'GET',
    dataset('/fields'),
    'Dataset fields',
    'The fields of a dataset.',
    'list of DatasetField',
    {
      query: { name: 'Exact name.', ...paging },
    },
  ),
  'fields.get': row('GET', field(''), 'Dataset fields', 'A field.', 'DatasetField'),
  'fields.put': row('PUT', field(''), 'Dataset fields', updating, 'DatasetField', {
    body: 'FieldUpdate',
  }),
  'fields.patch': row('PATCH', field(''), 'Dataset fields', updating, 'DatasetField', {
    body: 'FieldUpdate',
  }),
  'fields.delete': row(
    'DELETE',
    field(''),
    'Dataset fields',
    'Removes a field of an empty dataset.',
    'DatasetField',
  ),
  'fields.facets': row(
    'GET',
    field('/facets'),
    'Dataset fields',
    'A facet of a field over all records, with its options; `total` counts the different values.',
    'FieldFacets',
    {
      query: {
        facet_type: 'terms, count, stats, histogram or percentiles.',
        limit: 'Terms at most; 10 when absent, 0 for all.',
        interval:
          'Of a histogram: a number, a unit of dates, or with `scale=log` the step of the exponent.',
        scale: 'Of a histogram of numbers: linear or log.',
        extended: 'true adds the deviation and the like to stats.',
        percents: 'Of percentiles: numbers from 0 to 100, separated by commas or repeated.',
        facets: 'Facets of each term or bin: names of fields, repeated, or facets as JSON.',
      },
    },
  ),
} satisfies Readonly<Record<string, OperationRow>>;
