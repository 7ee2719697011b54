import { expect, test } from '@jest/globals';
import type { FieldRow } from '../../../engine/catalog/rows.js';
import { project } from '../../../engine/query/results/projection.js';

const field = (name: string): FieldRow => ({
  id: 1,
  datasetId: 1,
  name,
  path: [name],
  title: name,
  description: '',
  dataType: 'string',
  isList: null,
  entityType: null,
  expression: null,
  isHidden: false,
  isReadOnly: false,
  isValid: true,
  ordering: null,
  dependsOn: [],
  urlTemplate: null,
  createdAt: 0,
  updatedAt: 0,
});

test('the field rows of reserved columns bring them no second time', () => {
  const columns = [{ name: 'a', physical: 'a', type: 'string', isList: false }] as const;
  const rows = [field('_commit'), field('a'), field('declared')];
  const names = project(columns, rows, { fields: null, excludeFields: [] }).map(
    ({ column }) => column.name,
  );
  expect(names).toEqual(['_id', '_commit', 'a', 'declared']);
});
