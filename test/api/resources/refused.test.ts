import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { Lake } from '../../scheduler/lake.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, listOf, startServer } from '../server.js';

test('a dataset that lacks a log entry takes no imports, queries and changes of fields and says why, until the entry is restored', async () => {
  const lake = await Lake.make();
  const { data, user } = lake;
  await writeFile(data.signingKey, randomBytes(32));
  const id = await lake.createDataset();
  const tasks = [
    await lake.queueInlineImport(id, '{"n":1}'),
    await lake.queueInlineImport(id, '{"n":2}'),
  ];
  const scheduler = await lake.startScheduler({ config: { threads: 1, workerMemoryMb: 512 } });
  for (const task of tasks) await scheduler.wait(task.id);
  await scheduler.close();
  await lake.close();
  const entryPath = data.logEntry(id, 1);
  const entryBytes = await readFile(entryPath);
  await rm(entryPath);

  const server = await startServer({ folder: data.root, scheduler: { recoverMs: 5 } });
  try {
    const { secret } = await server.catalog.tokens.create({ userId: user.id }, server.key);
    const ann = clientFor(server.url, user, secret);
    const appendBody = { dataset_id: id, records: [{ n: 3 }] };
    const reason = /unavailable .*: .*log entry 00000000000000000001\.json is missing/;
    const refusedAnswer = await ann.post('/v2/dataset_imports', appendBody);
    expect([refusedAnswer.status, refusedAnswer.json]).toEqual([
      400,
      { dataset_id: [expect.stringMatching(reason)] },
    ]);
    const archivedAnswer = await ann.patch(`/v2/datasets/${id}`, { storage_class: 'Archive' });
    expect([archivedAnswer.status, archivedAnswer.json]).toEqual([
      400,
      { storage_class: ['The dataset is unavailable and cannot be archived.'] },
    ]);
    const queryAnswer = await ann.post(`/v2/datasets/${id}/data`, {});
    expect([queryAnswer.status, queryAnswer.json]).toEqual([
      400,
      { detail: expect.stringMatching(reason) },
    ]);
    const exportAnswer = await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json' });
    expect([exportAnswer.status, exportAnswer.json]).toEqual([
      400,
      { dataset_id: [expect.stringMatching(reason)] },
    ]);
    // No field may be changed, because the log may have a commit that the catalogue lacks, and a new type would have to fit its values.
    const [field] = listOf(await ann.get(`/v2/datasets/${id}/fields`));
    const path = `/v2/dataset_fields/${String(field?.['id'])}`;
    for (const answer of [
      await ann.post('/v2/dataset_fields', { dataset_id: id, name: 'other' }),
      await ann.patch(path, { title: 'Other' }),
    ])
      expect([answer.status, answer.json]).toEqual([
        400,
        { detail: expect.stringMatching(reason) },
      ]);
    const fetchAvailability = async (): Promise<unknown> =>
      (await ann.get(`/v2/datasets/${id}`)).json['availability'];
    expect(await fetchAvailability()).toBe('unavailable');
    await writeFile(entryPath, entryBytes);
    await pollUntil(async () => (await fetchAvailability()) === 'available');
    const appendAnswer = await ann.post('/v2/dataset_imports', appendBody);
    expect(appendAnswer.json).toMatchObject({ status: 'completed' });
    const { json } = await ann.post(`/v2/datasets/${id}/data`, { fields: ['n'], ordering: ['n'] });
    expect(json['results']).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(await server.store.version(id)).toBe(2);
    expect((await ann.patch(path, { title: 'Other' })).status).toBe(200);
  } finally {
    await server.close();
  }
});

/** A server whose scheduler a test closes while commits cannot be published in the catalogue, and which it then restarts. */
const failingFixture = await startServerFixture({ scheduler: { retryMs: 5, report: () => {} } });

test('no request changes the fields of a dataset whose log has a commit that the catalogue lacks', async () => {
  const dataset_id = await failingFixture.newDataset({ fields: [{ name: 'gene' }] });
  const [field] = listOf(await failingFixture.ann.get(`/v2/datasets/${dataset_id}/fields`));
  const path = `/v2/dataset_fields/${String(field?.['id'])}`;
  const { catalog, scheduler } = failingFixture.server;
  const { publish } = catalog;
  const commitLogged = Promise.withResolvers<void>();
  catalog.publish = () => {
    commitLogged.resolve();
    return Promise.reject(new Error('the disk fails'));
  };
  const records = [{ gene: 'BRCA2' }];
  const pendingImport = failingFixture.ann.post('/v2/dataset_imports', { dataset_id, records });
  await commitLogged.promise;
  await scheduler.close(); // leaves the commit to the next start
  await pendingImport;
  catalog.publish = publish;
  const answers = [
    await failingFixture.ann.post('/v2/dataset_fields', { dataset_id, name: 'other' }),
    await failingFixture.ann.patch(path, { data_type: 'integer' }),
    await failingFixture.ann.delete(path),
  ];
  const detail = expect.stringContaining('the next start of the server completes it');
  for (const { status, json } of answers) expect([status, json]).toEqual([409, { detail }]);
  await failingFixture.restart();
  const { json } = await failingFixture.ann.get(path);
  expect(json).toMatchObject({ data_type: 'string', is_valid: true });
  expect(await failingFixture.countRecords(dataset_id)).toBe(1);
  expect((await failingFixture.ann.patch(path, { title: 'Gene' })).status).toBe(200);
});
