import { expect, test } from '@jest/globals';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { project } from '../../../engine/query/results/projection.js';

const field = (name: string): DatasetField => ({
  name,
  path: [name],
  title: name,
  dataType: 'string',
  isList: null,
  entityType: null,
  ordering: null,
});

test('the field rows of reserved columns bring them no second time', () => {
  const columns = [{ name: 'a', physical: 'a', type: 'string', isList: false }] as const;
  const rows = [field('_commit'), field('a'), field('declared')];
  const names = project(columns, rows, { fields: null, excludeFields: [] }).map(
    ({ column }) => column.name,
  );
  expect(names).toEqual(['_id', '_commit', 'a', 'declared']);
});
