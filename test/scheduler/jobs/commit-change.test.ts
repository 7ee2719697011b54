import { expect, test } from '@jest/globals';
import { isOutdatedChange } from '../../../scheduler/jobs/commit-change.js';
import { column } from '../../engine/query/dataset.js';

const [id, gene] = [column('variant', 'string'), column('gene', 'string')];
const infoColumn = (...members: string[]) =>
  column(
    'info',
    'object',
    members.map((name) => column(name, 'double')),
  );

test.each([
  ['of the version and its columns', 7, [id, infoColumn('AF')], [id, infoColumn('AF')], false],
  ['that adds columns', 7, [id, gene, infoColumn('AF', 'DP')], [id, infoColumn('AF')], false],
  ['of another version', 8, [id], [id], true],
  ['that does not know a new column', 7, [id], [id, gene], true],
  [
    'that does not know a new member',
    7,
    [id, infoColumn('AF')],
    [id, infoColumn('AF', 'DP')],
    true,
  ],
])('a change %s is outdated or not', (_, version, known, stored, expected) => {
  const change = isOutdatedChange({ base: 7 }, known, { version, columns: stored });
  expect(change).toBe(expected);
});
