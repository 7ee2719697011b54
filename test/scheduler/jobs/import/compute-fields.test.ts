import { expect, test } from '@jest/globals';
import { makeBatch } from '../../../../engine/ingest/batch.js';
import { computeFields } from '../../../../scheduler/jobs/import/expressions/compute-fields.js';

function computed(fields: readonly Record<string, unknown>[], timeoutMs?: number) {
  const { batch, findings, release } = computeFields({
    batch: makeBatch([], 3, []),
    expressions: {
      fields,
      data: '{}',
      includeErrors: true,
      declared: ['x'],
      targetDataset: '7',
      sourceFilename: null,
    },
    columns: [],
    inputs: [],
    isLenient: false,
    ...(timeoutMs !== undefined && { timeoutMs }),
    lineOf: (row) => row + 10,
  });
  const rows = batch.data.toArray().map((row) => JSON.parse(JSON.stringify(row)) as unknown);
  release();
  return { rows, columns: batch.seen.map(({ name }) => name), findings };
}

test('fields are computed for a chunk without columns, in the order of the request', () => {
  const { rows, columns } = computed([
    { name: 'b', expression: 'record.a + target_dataset', depends_on: ['a'] },
    { name: 't', expression: "'x'", is_transient: true },
    { name: 'a', expression: "record.t + 'y'", depends_on: ['t'] },
  ]);
  expect(columns).toEqual(['b', 'a']);
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ b: 'xy7', a: 'xy' })));
});

test('when the time of a chunk is over, the rest of its records has the error of a limit', () => {
  const { findings } = computed([{ name: 'a', expression: '1' }], -1);
  expect(findings.examples).toEqual([
    {
      code: 500,
      level: 'warning',
      field: 'a',
      line: 10,
      count: 3,
      message: expect.stringContaining('Expression limit exceeded: too much time'),
    },
  ]);
});
