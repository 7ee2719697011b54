import { expect, test } from '@jest/globals';
import { pollUntil } from '../../until.js';
import { createHoldableWorker } from '../held-worker.js';
import { startServerFixture } from '../lab.js';

/*
 * Tests changes of records while another commit changes the dataset: after a change has read the columns of the dataset, and before it
 * finds the records to change.
 */

const holdableWorker = createHoldableWorker();
const { ann, newDataset } = await startServerFixture({
  scheduler: { startHost: holdableWorker.startHost },
});

/** Returns the records of a dataset; with `_id` and `_commit` if `isWhole`. */
async function fetchRecords(datasetId: number, isWhole = false) {
  const body = { limit: 100, ...(!isWhole && { exclude_fields: ['_id', '_commit'] }) };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Readonly<Record<string, unknown>>[];
}

test.each([
  ['upsert', '_id', { key: 'a', n: 7, o: { x: 1, y: 2 }, added: 'x' }],
  ['upsert', 'key', { key: 'a', n: 7, o: { x: 1, y: 2 }, added: 'x' }],
  ['overwrite', '_id', { n: 7 }],
])('an %s by %s knows the columns of the records that it replaces', async (mode, key, expected) => {
  const dataset_id = await newDataset();
  const change = (commit_mode: string, records: readonly object[]) =>
    ann.post('/v2/dataset_imports', {
      dataset_id,
      commit_mode,
      records,
      ...(key !== '_id' && commit_mode !== 'append' && { id_fields: [key] }),
    });
  await change('append', [{ key: 'a', n: 1, o: { x: 1 } }, { key: 'b', n: 2 }]); // prettier-ignore
  const [first] = await fetchRecords(dataset_id, true);
  const keyOfFirst = { [key]: first![key] };
  holdableWorker.hold('import');
  const changeAnswer = change(mode, [{ ...keyOfFirst, n: 7 }]);
  await pollUntil(() => holdableWorker.held.length === 1);
  holdableWorker.hold(undefined);
  // The upsert adds a field, and a member of an object, to a record that the withheld change will replace.
  expect((await change('upsert', [{ ...keyOfFirst, added: 'x', o: { y: 2 } }])).status).toBe(201);
  holdableWorker.release();
  expect((await changeAnswer).status).toBe(201);
  const [after, other] = await fetchRecords(dataset_id);
  expect(Object.fromEntries(Object.entries(after!).filter(([, value]) => value !== null))).toEqual(
    expected,
  );
  expect(other).toMatchObject({ key: 'b', n: 2 });
});
