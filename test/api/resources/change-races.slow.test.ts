import { describe, expect, test } from '@jest/globals';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import { pollUntil } from '../../until.js';
import { createHoldableWorker } from '../held-worker.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

/*
 * Tests changes of records while another commit changes the dataset: after a change has read the columns of the dataset and before it finds
 * the records to change; while a migration reads the records that it replaces; and while merges move the records that a change, or the check of
 * a rollback, has found. Also tests changes of fields while a commit is being published.
 */

const holdableWorker = createHoldableWorker();
const { ann, newDataset, server } = await startServerFixture({
  scheduler: { startWorker: holdableWorker.startWorker },
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
  const [firstRecord] = await fetchRecords(dataset_id, true);
  const keyOfFirst = { [key]: firstRecord![key] };
  holdableWorker.hold('import');
  const changeAnswer = change(mode, [{ ...keyOfFirst, n: 7 }]);
  await pollUntil(() => holdableWorker.held.length === 1);
  holdableWorker.hold(undefined);
  // The upsert adds a field, and a member of an object, to a record that the withheld change will replace.
  expect((await change('upsert', [{ ...keyOfFirst, added: 'x', o: { y: 2 } }])).status).toBe(201);
  holdableWorker.release();
  expect((await changeAnswer).status).toBe(201);
  const [changedRecord, otherRecord] = await fetchRecords(dataset_id);
  expect(
    Object.fromEntries(Object.entries(changedRecord!).filter(([, value]) => value !== null)),
  ).toEqual(expected);
  expect(otherRecord).toMatchObject({ key: 'b', n: 2 });
});

test.each([
  ['an import that upserts', 'dataset_imports', 'upsert', (all) => ({ records: all.slice(3, 6).map(({ _id, n }) => ({ _id, more: Number(n) })) })],
  ['an import that overwrites by id_fields', 'dataset_imports', 'overwrite', (all) => ({ id_fields: ['n'], records: all.slice(3, 6).map(({ n }) => ({ n, more: Number(n) })) })],
  ['an import that deletes', 'dataset_imports', 'delete', (all) => ({ records: all.slice(3, 6) })],
  ['a migration that upserts', 'dataset_migrations', 'upsert', () => ({ source_params: { filters: [['n__gte', 3], ['n__lt', 6]] }, target_fields: [{ name: 'more', data_type: 'long', expression: 'record.n' }] })],
  ['a migration that deletes', 'dataset_migrations', 'delete', () => ({ source_params: { filters: [['n__gte', 3], ['n__lt', 6]] } })],
] as readonly (readonly [string, string, string, (all: readonly Readonly<Record<string, unknown>>[]) => object])[])('no merge outdates %s', async (_, path, commit_mode, bodyOf) => {
  const id = await newDataset();
  holdableWorker.hold('merge');
  for (let n = 0; n < 20; n++)
    await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n, more: -1 }] });
  await pollUntil(() => holdableWorker.held.length === 1);
  const recordsBefore = await fetchRecords(id, true);
  const kind = path === 'dataset_imports' ? 'import' : 'migration';
  holdableWorker.holdResults(kind);
  const ids = kind === 'import' ? { dataset_id: id } : { source_id: id, target_id: id };
  const answer = ann.post(`/v2/${path}`, { ...ids, commit_mode, ...bodyOf(recordsBefore) });
  await pollUntil(() => holdableWorker.heldResults.length === 1);
  const { version } = await server.store.snapshot(id);
  holdableWorker.release();
  await server.scheduler.compacted();
  const mergedSnapshot = await server.store.snapshot(id);
  expect([mergedSnapshot.version, mergedSnapshot.segments.length]).toEqual([version + 1, expect.any(Number)]);
  expect(mergedSnapshot.segments.length).toBeLessThan(20);
  holdableWorker.releaseResults();
  const { json } = await waitForJob(ann, `/v2/${path}/${idOf(await answer)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  expect(holdableWorker.countRuns(Number(json['task_id']))).toBe(1);
  const expectedRecords = recordsBefore.flatMap((record, n) =>
    n < 3 || n >= 6 ? [record] : commit_mode === 'delete' ? [] : [{ ...record, more: n, _commit: expect.any(String) }],
  );
  expect(await fetchRecords(id, true)).toEqual(expectedRecords);
  const verification = await ann.post(`/v2/datasets/${id}/verify`);
  expect(verification.json['differences']).toEqual([]);
}); // prettier-ignore

test.each([
  ['upsert', undefined],
  ['upsert', ['n']],
  ['overwrite', undefined],
  ['delete', undefined],
  ['delete', ['n']],
])('a migration that changes its source (%s, id_fields %p) keeps what others commit while it reads', async (commit_mode, id_fields) => {
  const id = await newDataset();
  const change = async (mode: string, records: readonly object[]) => {
    const body = { dataset_id: id, commit_mode: mode, records };
    const { json } = await ann.post('/v2/dataset_imports', mode === 'append' ? body : { ...body, id_fields: ['n'] });
    expect([json['status'], json['error_message']]).toEqual(['completed', null]);
    return (json['dataset_commits'] as readonly { readonly id: number }[])[0]!.id;
  };
  await change('append', Array.from({ length: 6 }, (_, n) => ({ n, v: 1 })));
  const appendCommitId = await change('append', [{ n: 6, v: 1 }]);
  holdableWorker.hold('migration');
  const target_fields = [{ name: 'twice', data_type: 'long', expression: 'record.v * 2' }];
  const source_params = { filters: [['v', 1]] };
  const createdMigration = await ann.post('/v2/dataset_migrations', { source_id: id, target_id: id, commit_mode, id_fields, source_params, ...(commit_mode !== 'delete' && { target_fields }) });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  await pollUntil(() => holdableWorker.held.length === 1);
  await change('delete', [{ n: 1 }]);
  await change('upsert', [{ n: 3, v: 50 }]);
  expect((await ann.post(`/v2/dataset_commits/${appendCommitId}/rollback`, {})).status).toBe(201);
  holdableWorker.release();
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  const rows = (await fetchRecords(id)).map(({ n, v, twice }) => [n, v, twice ?? null]);
  const isDelete = commit_mode === 'delete';
  expect(rows).toEqual(isDelete ? [[3, 50, null]] : [[0, 1, 2], [2, 1, 2], [3, 50, null], [4, 1, 2], [5, 1, 2]]);
}); // prettier-ignore

test.each([
  ['an append', 'is blocked by the upsert of a record of it'],
  ['a deletion', 'is blocked by the upsert that has added its record again'],
])('the check of a rollback of %s %s, also if a merge moves the records meanwhile', async (undoneCommit) => {
  const id = await newDataset();
  const change = async (commit_mode: string, records: readonly object[]) => {
    const { json } = await ann.post('/v2/dataset_imports', { dataset_id: id, commit_mode, records });
    return (json['dataset_commits'] as readonly { readonly id: number }[])[0]!.id;
  };
  const appendCommitId = await change('append', [{ n: 0 }, { n: 1 }]);
  const [{ _id } = {}] = await fetchRecords(id, true);
  const checkedCommitId = undoneCommit === 'an append' ? appendCommitId : await change('delete', [{ _id }]);
  const upsertCommitId = await change('upsert', [{ _id, n: 5 }]);
  holdableWorker.hold('merge');
  for (let n = 0; n < 20; n++) await change('append', [{ n }]);
  await pollUntil(() => holdableWorker.held.length === 1);
  const { version } = await server.store.snapshot(id);
  const { store } = server;
  const { rollback } = store;
  // The check has read the newest version when it asks for the rollback.
  store.rollback = async (...args) => {
    store.rollback = rollback;
    holdableWorker.release();
    await server.scheduler.compacted();
    return rollback.apply(store, args);
  };
  const { status, json } = await ann.get(`/v2/dataset_commits/${checkedCommitId}/rollback`);
  expect((await store.snapshot(id)).version).toBeGreaterThan(version);
  expect([status, json['detail'], json['blocked_records']]).toEqual([200, expect.any(String), [{ commit_id: upsertCommitId, records: 1, example_id: _id }]]);
}); // prettier-ignore

/** Makes commits wait when they are in the log and not yet in the catalogue. */
function holdLoggedCommits(): { readonly logged: Promise<void>; release(): void } {
  const { catalog } = server;
  const { publish } = catalog;
  const [logged, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  catalog.publish = async (publication) => {
    logged.resolve();
    await released.promise;
    return publish.call(catalog, publication);
  };
  return {
    logged: logged.promise,
    release() {
      catalog.publish = publish;
      released.resolve();
    },
  };
}

/** What a request does to the field `gene`, the fields that the dataset has before, and the request. */
const fieldRequests: readonly (readonly [string, readonly object[], (datasetId: number, fieldId: string) => Promise<Answer>])[] = [
  ['creates', [], (dataset_id) => ann.post('/v2/dataset_fields', { dataset_id, name: 'gene', data_type: 'integer' })],
  ['gives a type to', [{ name: 'gene' }], (_, id) => ann.patch(`/v2/dataset_fields/${id}`, { data_type: 'integer' })],
  ['deletes', [{ name: 'gene', data_type: 'string' }], (_, id) => ann.delete(`/v2/dataset_fields/${id}`)],
]; // prettier-ignore

describe.each([['an import', 'imports'], ['a migration', 'migrations']])('while %s is being published', (_what, kind) => {
  test.each(fieldRequests)('a request that %s a field which gets its first data waits, and is refused', async (_, fields, send) => {
    const records = [{ gene: 'BRCA2' }];
    const sourceId = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id: sourceId, records });
    const targetId = await newDataset({ fields });
    const [field] = listOf(await ann.get(`/v2/datasets/${targetId}/fields`));
    const path = `/v2/dataset_${kind}`;
    const heldCommits = holdLoggedCommits();
    try {
      const body = kind === 'imports' ? { dataset_id: targetId, records } : { source_id: sourceId, target_id: targetId };
      const createdJob = ann.post(path, body);
      await heldCommits.logged;
      const answer = send(targetId, String(field?.['id']));
      // A request that did not wait would be answered before several later ones.
      for (let i = 0; i < 20; i++) await ann.get(`/v2/datasets/${targetId}`);
      heldCommits.release();
      expect((await answer).status).toBe(400);
      const { json } = await waitForJob(ann, `${path}/${idOf(await createdJob)}`);
      expect([json['status'], json['error_message']]).toEqual(['completed', null]);
    } finally {
      heldCommits.release();
    }
    const [fieldAfter] = listOf(await ann.get(`/v2/datasets/${targetId}/fields?name=gene`));
    expect(fieldAfter).toMatchObject({ data_type: 'string', is_valid: true });
    const { json } = await ann.post(`/v2/datasets/${targetId}/data`, { filters: [['gene', 'BRCA2']] });
    expect(json['total']).toBe(1);
  });
}); // prettier-ignore

test('an invalid request for a field is refused while a commit holds the lock of the dataset', async () => {
  const dataset_id = await newDataset({ fields: [{ name: 'gene' }] });
  const [field] = listOf(await ann.get(`/v2/datasets/${dataset_id}/fields`));
  const answers = await withDatasetLock(dataset_id, async () => [
    await ann.post('/v2/dataset_fields', { dataset_id, name: 'x', data_type: 'number' }),
    await ann.post('/v2/dataset_fields', { dataset_id, name: 'x', expression: '1', depends_on: ['x'] }),
    await ann.patch(`/v2/dataset_fields/${String(field?.['id'])}`, { name: 'other' }),
  ]);
  const statusesAndKeys = answers.map(({ status, json }) => [status, Object.keys(json)]);
  expect(statusesAndKeys).toEqual([[400, ['data_type']], [400, ['depends_on']], [400, ['name']]]);
}); // prettier-ignore
