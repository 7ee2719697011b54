import { expect, test } from '@jest/globals';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';
import { FindingCollector, mergeFindings } from '../../../engine/ingest/findings.js';
import { resolveTypeDependentWarnings } from '../../../engine/ingest/type-dependent-warnings.js';
import { lenientParams } from '../../readers/import-pieces.js';

const column = (name: string, type: StoredType, children?: Columns): Column => ({
  name,
  physical: name,
  type,
  isList: false,
  ...(children && { children }),
});
const objectColumnWith = (type: StoredType): Column => column('o', 'object', [column('a', type)]);

/** Returns how many of two warnings with code 306, about the fields `o.a` and `a`, remain after `resolveTypeDependentWarnings`. */
function countRemainingWarnings(...chunks: readonly Columns[]): number {
  const collector = new FindingCollector(lenientParams);
  for (const field of ['o.a', 'a']) collector.warn(1, 306, field, 'too long');
  const mergedFindings = mergeFindings([{ findings: collector.result(), linesBefore: 0 }]);
  const { warnings, counts, examples } = resolveTypeDependentWarnings(mergedFindings, chunks);
  expect([counts['306'] ?? 0, examples.length]).toEqual([warnings, warnings]);
  return warnings;
}

test.each<[string, number, readonly Columns[]]>([
  ['texts', 2, [[objectColumnWith('text'), column('a', 'text')]]],
  ['fields that are not stored', 2, [[]]],
  ['a field that one chunk finds to be JSON', 1, [[column('a', 'text')], [column('a', 'json')]]],
  ['values of two chunks that share no type but JSON', 1, [[column('a', 'text')], [column('a', 'object', [column('b', 'long')])]]],
  ['a member that is JSON', 1, [[objectColumnWith('text')], [objectColumnWith('json')]]],
  ['a member of what other values make JSON', 1, [[objectColumnWith('text')], [column('o', 'text')]]],
])('a long string makes a text of its field, except within JSON: %s', (_, warnings, chunks) => {
  expect(countRemainingWarnings(...chunks)).toBe(warnings);
}); // prettier-ignore
