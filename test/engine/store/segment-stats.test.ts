import { expect, test } from '@jest/globals';
import { leafKey } from '../../../engine/store/segment-stats.js';

test('different paths have different keys, also if their names have dots and backslashes', () => {
  const names = [
    'a',
    'b',
    '.',
    '\\',
    'a.',
    '.a',
    'a\\',
    '\\a',
    'a.b',
    'a\\.b',
    '\\.',
    '.\\',
    '\\\\',
  ];
  const paths = names.flatMap((one) => [[one], ...names.flatMap((two) => [[one, two], ...names.map((three) => [one, two, three])])]); // prettier-ignore
  const pathsByKey = Map.groupBy(paths, leafKey);
  expect([...pathsByKey.values()].filter((same) => same.length > 1)).toEqual([]);
  expect(leafKey(['info', 'AF'])).toBe('info.AF');
});
