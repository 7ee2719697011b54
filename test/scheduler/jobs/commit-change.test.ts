import { expect, test } from '@jest/globals';
import { lacksColumns } from '../../../scheduler/jobs/change/commit-change.js';
import { column } from '../../engine/query/dataset.js';

const [idColumn, geneColumn] = [column('variant', 'string'), column('gene', 'string')];
const infoColumn = (...members: string[]) =>
  column(
    'info',
    'object',
    members.map((name) => column(name, 'double')),
  );

test.each([
  ['the columns of the dataset', [idColumn, infoColumn('AF')], [idColumn, infoColumn('AF')], false],
  [
    'more columns',
    [idColumn, geneColumn, infoColumn('AF', 'DP')],
    [idColumn, infoColumn('AF')],
    false,
  ],
  ['not a new column', [idColumn], [idColumn, geneColumn], true],
  ['not a new member', [idColumn, infoColumn('AF')], [idColumn, infoColumn('AF', 'DP')], true],
])('a change that knows %s lacks columns or not', (_, knownColumns, storedColumns, expected) => {
  expect(lacksColumns(knownColumns, storedColumns)).toBe(expected);
});
