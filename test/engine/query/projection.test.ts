import { expect, test } from '@jest/globals';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { project } from '../../../engine/query/results/projection.js';

const stringField = (name: string): DatasetField => ({
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
  const rows = [stringField('_commit'), stringField('a'), stringField('declared')];
  const names = project(columns, rows, { fields: null, excludeFields: [] }).map(
    ({ column }) => column.name,
  );
  expect(names).toEqual(['_id', '_commit', 'a', 'declared']);
});
