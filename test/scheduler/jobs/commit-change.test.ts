import { expect, test } from '@jest/globals';
import { lacksColumns } from '../../../scheduler/jobs/change/commit-change.js';
import { column } from '../../engine/query/dataset.js';

const [id, gene] = [column('variant', 'string'), column('gene', 'string')];
const infoColumn = (...members: string[]) =>
  column(
    'info',
    'object',
    members.map((name) => column(name, 'double')),
  );

test.each([
  ['the columns of the dataset', [id, infoColumn('AF')], [id, infoColumn('AF')], false],
  ['more columns', [id, gene, infoColumn('AF', 'DP')], [id, infoColumn('AF')], false],
  ['not a new column', [id], [id, gene], true],
  ['not a new member', [id, infoColumn('AF')], [id, infoColumn('AF', 'DP')], true],
])('a change that knows %s lacks columns or not', (_, known, stored, expected) => {
  expect(lacksColumns(known, stored)).toBe(expected);
});
