import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { startServerFixture } from '../server-fixture.js';
import { grantPermission, idOf, waitForJob, type Answer } from '../server.js';

const { server, ann, vaultId, newDataset } = await startServerFixture();

/** Creates a dataset whose field `n` is a long. */
async function newDatasetOfNumbers(): Promise<number> {
  const id = await newDataset();
  await startImport(id, [{ n: 1 }]);
  return id;
}
const startImport = (datasetId: number, records: readonly object[]): Promise<Answer> =>
  ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
const rejectedPathOf = (answer: Answer): string => `/v2/dataset_imports/${idOf(answer)}/rejected`;

/** Expects that only users who may read the vault can access the rejected records at a path. */
async function expectReadersOnly(path: string, name: string): Promise<void> {
  const user = await server.user(name);
  expect((await user.get(path)).status).toBe(404);
  await grantPermission(server, vaultId, user, 'read');
  expect((await user.get(path)).status).toBe(302);
}

describe('what an import rejected', () => {
  test('can be downloaded with its reasons, once the import has failed', async () => {
    const datasetId = await newDatasetOfNumbers();
    const failedImport = await startImport(datasetId, [{ n: 2 }, { n: 'ü' }, { n: 3 }, { n: [4] }]);
    expect(failedImport.json).toMatchObject({
      status: 'failed',
      metadata: {
        receipt: {
          records_read: 4,
          records_stored: 3,
          records_rejected: 1,
          is_committed: false,
          rejected_file: { records: 1, left_out: 0 },
        },
      },
    });
    const { status, json } = await ann.get(`${rejectedPathOf(failedImport)}?redirect=`);
    expect([status, json['download_url']]).toEqual([200, json['url']]);
    const redirectAnswer = await ann.get(rejectedPathOf(failedImport));
    expect(redirectAnswer.status).toBe(302);
    const file = await fetch(String(redirectAnswer.headers.get('location')));
    expect(file.headers.get('content-disposition')).toMatch(/filename="rejected-\d+\.jsonl\.gz"/);
    const text = gunzipSync(Buffer.from(await file.arrayBuffer())).toString();
    expect(JSON.parse(text)).toMatchObject({
      file: 'data_records',
      line: 2,
      code: 301,
      field: 'n',
      text: '{"n":"ü"}',
    });
  });

  test('is not found where nothing was rejected, and by nobody who may not read the dataset', async () => {
    const datasetId = await newDatasetOfNumbers();
    expect((await ann.get(rejectedPathOf(await startImport(datasetId, [{ n: 2 }])))).status).toBe(
      404,
    );
    const failedImport = await startImport(datasetId, [{ n: 'x' }]);
    await expectReadersOnly(rejectedPathOf(failedImport), 'ben');
  });

  test('goes with its import, and with its dataset', async () => {
    const datasetId = await newDatasetOfNumbers();
    const [a, b] = [
      await startImport(datasetId, [{ n: 'x' }]),
      await startImport(datasetId, [{ n: 'y' }]),
    ];
    const { json } = await ann.get(`${rejectedPathOf(a)}?redirect=`);
    const listRejectedFiles = () => readdir(server.data.rejected);
    const names = [a, b].map((answer) => `${idOf(answer)}.jsonl.gz`);
    expect(await listRejectedFiles()).toEqual(expect.arrayContaining(names));
    await ann.delete(`/v2/dataset_imports/${idOf(a)}`);
    expect(await listRejectedFiles()).not.toContain(names[0]);
    expect((await fetch(String(json['url']))).status).toBe(404);
    await ann.delete(`/v2/datasets/${datasetId}`);
    expect(await listRejectedFiles()).not.toContain(names[1]);
  });

  test('cannot be had with an address that was changed', async () => {
    const failedImport = await startImport(await newDatasetOfNumbers(), [{ n: 'x' }]);
    const url = String((await ann.get(`${rejectedPathOf(failedImport)}?redirect=`)).json['url']);
    expect((await fetch(url.replace(/signature=.{3}/, 'signature=aaa'))).status).toBe(403);
    expect((await fetch(url.replace(String(idOf(failedImport)), '1'))).status).toBe(403);
  });
});

describe('what a migration rejected', () => {
  const target_fields = [
    { name: 'n', data_type: 'long' },
    { name: 'm', data_type: 'boolean' },
    { name: 'unused', is_transient: true },
  ];
  /** Creates a dataset of strings; some values of `n` are not numbers and some of `m` are not booleans. */
  async function newSource(): Promise<number> {
    const id = await newDataset();
    const unusedValue = 'x';
    await startImport(id, [
      { k: 'ü', n: '1', m: 'yes', unused: unusedValue },
      { k: 'b', n: '2', m: 'true', unused: unusedValue },
      { k: 'c', n: 'drei', m: 'nein', unused: unusedValue },
    ]);
    return id;
  }
  async function migrate(source_id: number, more: object = {}): Promise<Answer> {
    const body = { source_id, target_id: await newDataset(), target_fields, ...more };
    const createdMigration = await ann.post('/v2/dataset_migrations', body);
    return waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  }
  const linkOf = ({ json }: Answer): string => String(json['rejected_url']).replace(server.url, '');

  test.each([
    ['has failed', {}, ['ü', 'c']],
    ['has stored the others', { validation_params: { on_error: 'reject' } }, ['ü', 'c']],
    ['would store the others', { validation_params: { on_error: 'reject' }, dry_run: true }, ['ü', 'c']],
    ['has another order', { source_params: { ordering: ['k'] } }, ['c', 'ü']],
    ['replaces records', { commit_mode: 'upsert', validation_params: { on_error: 'reject' } }, ['ü', 'c']],
  ] as const)('can be downloaded with its ids, fields and reasons when it %s', async (_, more, keys) => {
    const sourceId = await newSource();
    const { results } = (await ann.post(`/v2/datasets/${sourceId}/data`, { exclude_fields: ['_commit', 'unused'] })).json as { results: readonly { k: string }[] };
    const migration = await migrate(sourceId, more);
    const { receipt } = migration.json['metadata'] as { receipt: { rejected_file: object } };
    expect(receipt).toMatchObject({ records_read: 3, records_stored: 1, records_rejected: 2, rejected_file: { records: 2, left_out: 0, budget: null } });
    expect(linkOf(migration)).toBe(`/v2/dataset_migrations/${idOf(migration)}/rejected`);
    const redirectAnswer = await ann.get(linkOf(migration));
    expect(redirectAnswer.status).toBe(302);
    const file = await fetch(String(redirectAnswer.headers.get('location')));
    const bytes = Buffer.from(await file.arrayBuffer());
    expect(receipt.rejected_file).toMatchObject({ bytes: bytes.length, md5: createHash('md5').update(bytes).digest('hex') });
    const lines = gunzipSync(bytes).toString().trimEnd().split('\n').map((line) => JSON.parse(line) as { line: number; text: string });
    expect(lines.map(({ text }) => JSON.parse(text) as object)).toEqual(keys.map((key) => results.find(({ k }) => k === key)));
    const [lineWithOneError, lineWithBothErrors] =
      [lines.find(({ text }) => text.includes('yes')), lines.find(({ text }) => text.includes('drei'))];
    expect(lines.map(({ line }) => line)).toEqual(keys[0] === 'c' ? [2, 3] : [1, 3]);
    expect(lineWithOneError).toMatchObject({ file: `dataset ${sourceId}`, code: 301, field: 'm', message: '"yes" is not a valid boolean', errors: 1, more: [] });
    expect(lineWithBothErrors).toMatchObject({ code: 301, errors: 2 });
    expect(JSON.stringify(lineWithBothErrors)).toContain('\\"drei\\" is not a valid long');
    expect(JSON.stringify(lineWithBothErrors)).toContain('\\"nein\\" is not a valid boolean');
  }); // prettier-ignore

  test('is not found where nothing was rejected, and by nobody who may not read the target', async () => {
    const sourceId = await newSource();
    const migration = await migrate(sourceId, { target_fields: [] });
    expect(migration.json['rejected_url']).toBeNull();
    expect((await ann.get(`/v2/dataset_migrations/${idOf(migration)}/rejected`)).status).toBe(404);
    const failedMigration = await migrate(sourceId);
    const url = String((await ann.get(`${linkOf(failedMigration)}?redirect=`)).json['url']);
    expect((await fetch(url.replace(/signature=.{3}/, 'signature=aaa'))).status).toBe(403);
    await expectReadersOnly(linkOf(failedMigration), 'carl');
  });

  test('goes with its migration, and with its target', async () => {
    const sourceId = await newSource();
    const [a, b] = [await migrate(sourceId), await migrate(sourceId)];
    const url = String((await ann.get(`${linkOf(a)}?redirect=`)).json['url']);
    const names = [a, b].map((answer) => `${idOf(answer)}.jsonl.gz`);
    const listRejectedFiles = () => readdir(server.data.rejected);
    expect(await listRejectedFiles()).toEqual(expect.arrayContaining(names));
    await ann.delete(`/v2/dataset_migrations/${idOf(a)}`);
    expect(await listRejectedFiles()).not.toContain(names[0]);
    expect((await fetch(url)).status).toBe(404);
    await ann.delete(`/v2/datasets/${String(b.json['target_id'])}`);
    expect(await listRejectedFiles()).not.toContain(names[1]);
  });
});
