import { expect, test } from '@jest/globals';
import { until } from '../../until.js';
import { heldWorker } from '../held-worker.js';
import { startLab } from '../lab.js';

/* Changes of records whose dataset changes between the time when they learn its columns and the time when they find its records. */

const worker = heldWorker();
const { ann, newDataset } = await startLab({ scheduler: { startHost: worker.startHost } });

/** The records of a dataset; with their ids and commits if `isWhole`. */
async function recordsOf(datasetId: number, isWhole = false) {
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
  const [first] = await recordsOf(dataset_id, true);
  const keyOfFirst = { [key]: first![key] };
  worker.hold('import');
  const changeAnswer = change(mode, [{ ...keyOfFirst, n: 7 }]);
  await until(() => worker.held.length === 1);
  worker.hold(undefined);
  // This commit adds a field, and a member of an object, to the record that the other commit is about to replace.
  expect((await change('upsert', [{ ...keyOfFirst, added: 'x', o: { y: 2 } }])).status).toBe(201);
  worker.release();
  expect((await changeAnswer).status).toBe(201);
  const [after, other] = await recordsOf(dataset_id);
  expect(Object.fromEntries(Object.entries(after!).filter(([, value]) => value !== null))).toEqual(
    expected,
  );
  expect(other).toMatchObject({ key: 'b', n: 2 });
});
