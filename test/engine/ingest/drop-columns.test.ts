import { expect, test } from '@jest/globals';
import type { Columns } from '../../../engine/core/types.js';
import { BatchBuilder, type Batch } from '../../../engine/ingest/batch.js';
import { dropColumns, selectColumns } from '../../../engine/ingest/drop-columns.js';
import { FindingCollector } from '../../../engine/ingest/findings.js';
import { jsonlReader } from '../../../readers/jsonl/jsonl.js';

const validation = { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true };

/** Returns the names of the columns that a change leaves of a record, by default one with an object `a` and a separate field `a.b`. */
function namesAfter(
  change: (batch: Batch) => Batch,
  json = '{"a":{"b":1,"c":2},"a.b":3,"d":4}',
): readonly unknown[] {
  const builder = new BatchBuilder();
  const line = Buffer.from(json);
  const given = { columns: [], isFinal: false };
  jsonlReader.read(line, null, null, builder, new FindingCollector(validation), given);
  const { columns, seen, data } = change(builder.finish());
  expect(namesOf(seen)).toEqual(namesOf(columns));
  expect(data.schema.fields).toHaveLength(columns.length);
  builder.release();
  return namesOf(columns);
}

const namesOf = (columns: Columns): readonly unknown[] =>
  columns.map(({ name, children }) => (children ? { [name]: namesOf(children) } : name));

test('a top-level field is kept with all its members, also beside a field with the dotted name of one', () => {
  expect(namesAfter((batch) => selectColumns(batch, (name) => name !== 'a.b'))).toEqual([{ a: ['b', 'c'] }, 'd']); // prettier-ignore
  expect(namesAfter((batch) => selectColumns(batch, (name) => name === 'a.b'))).toEqual(['a.b']);
});

test('a field is dropped by its dotted name wherever it is', () => {
  expect(namesAfter((batch) => dropColumns(batch, new Set(['a.b'])))).toEqual([{ a: ['c'] }, 'd']);
  expect(namesAfter((batch) => dropColumns(batch, new Set(['a.b', 'a.c'])))).toEqual(['d']);
  const dropNested = (batch: Batch): Batch => dropColumns(batch, new Set(['a.b.c']));
  expect(namesAfter(dropNested, '{"a":{"b":{"c":1,"d":2}}}')).toEqual([{ a: [{ b: ['d'] }] }]);
  expect(namesAfter(dropNested, '{"a":[{"b":{"c":1,"d":2}}]}')).toEqual([{ a: [{ b: ['d'] }] }]);
});
