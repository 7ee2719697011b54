import { declareOperations } from '../../http/operation-row.js';
import { datasetPaths } from '../shared/dataset.js';
import { asOfParam } from '../queries/as-of.js';
import { diffAnswer, diffQuery } from './diff.js';
import {
  batchAnswer,
  batchItem,
  batchQuery,
  lookupSchema,
  querySchema,
  queryAnswer,
} from './record-schemas.js';

/** The HTTP operations on the records of datasets. */
export const recordOperations = declareOperations('datasets', 'Datasets', {
  query: {
    method: 'POST',
    paths: [...datasetPaths('/data'), ...datasetPaths('/query')],
    summary:
      'Returns a page of records, and facets. `Accept: application/vnd.apache.arrow.stream`, `application/x-ndjson` or `text/csv` chooses another format, with the headers `X-Total`, `X-Next-Offset` and `X-Next-Cursor`.',
    body: querySchema,
    answer: queryAnswer,
  },
  lookup: {
    method: 'GET',
    paths: datasetPaths('/data/:ids'),
    summary: 'Returns records by `_id`, in the order of the ids; unknown ids are left out.',
    pathParams: {
      ids: {
        description: 'One or several values of `_id`, separated by commas.',
        example: '0zg3d66smj00000000a,0zg3d66smj00000000b',
      },
    },
    query: { as_of: asOfParam },
    answer: lookupSchema,
  },
  diff: {
    method: 'GET',
    paths: datasetPaths('/diff'),
    summary:
      'Returns a page of the records in which two versions differ: removed, changed and added; without parameters, what the newest commit did.',
    query: diffQuery,
    answer: diffAnswer,
  },
  batch: {
    method: 'POST',
    paths: ['/v2/batch_query', '/v1/batch_query'],
    summary: 'Runs several queries. One that fails does not affect the others.',
    body: batchQuery,
    answeredApart: batchItem,
    answer: batchAnswer,
  },
});
