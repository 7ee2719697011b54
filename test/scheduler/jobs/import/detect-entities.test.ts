import { expect, test } from '@jest/globals';
import { entityTypes, type StoredType } from '../../../../engine/core/types.js';
import { detectEntities } from '../../../../scheduler/jobs/import/detect-entities.js';
import { column } from '../../../engine/query/dataset.js';

const datasetIds = ['123456789012345', '223456789012345'];

test.each([
  ['pmid', 'long', ['7913883', '123'], 'literature'],
  ['pmid', 'long', datasetIds, undefined],
  ['pmid', 'string', datasetIds, 'dataset'],
  ['sample_pmid', 'long', datasetIds, undefined],
] as const)('%s of the type %s with the values %j: %s', async (name, type, values, expected) => {
  const rules = { wanted: new Set(entityTypes), size: { count: 64, rate: 1 }, isApplied: true };
  const samples = [{ path: [name], hashes: values.map((_, i) => i), values }];
  const columns = [column(name, type as StoredType)];
  const { fields } = await detectEntities([{ rules, samples }], columns, []);
  expect(fields.map(({ entityType }) => entityType)).toEqual(expected ? [expected] : []);
});
