import { beforeAll, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { createUrlSigner } from '../../../api/http/signed-url.js';
import { exportKeys, sortedKeysOf } from '../keys.js';
import { findRecordDifferences } from '../read-table.js';
import { startServerFixture } from '../server-fixture.js';
import { pollUntil } from '../../until.js';
import { idOf, listOf, sendRequest, startServer, waitForJob, type Answer } from '../server.js';

const { server, ann, newDataset } = await startServerFixture({ scheduler: { startWorker } });

describe('exports', () => {
  let datasetId: number;
  beforeAll(async () => {
    datasetId = await newDataset();
    const records = [
      { gene: 'TP53', n: 1 },
      { gene: 'KRAS', n: 2 },
      { gene: 'A,"B', n: null },
    ];
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
  });

  async function runExport(body: object): Promise<Answer> {
    const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, ...body });
    if (createdExport.status !== 201) return createdExport;
    return waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
  }

  async function downloadFile(id: number): Promise<Response> {
    const { json } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
    return fetch(String(json['url']));
  }

  test('show every key and can be downloaded under the name in their address', async () => {
    const endedExport = await runExport({ format: 'json', params: null });
    const id = idOf(endedExport);
    expect(sortedKeysOf(endedExport.json)).toEqual(exportKeys);
    expect(endedExport.json).toMatchObject({
      class_name: 'DatasetExport',
      status: 'completed',
      documents_count: 3,
      format: 'json',
      download_url: null,
      params: {},
      dataset: { id: datasetId, class_name: 'Dataset' },
      target_object_id: null,
    });
    const { status, json } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
    expect([status, json['url']]).toEqual([200, json['download_url']]);
    expect(String(json['url'])).toContain(
      `?response-content-disposition=attachment%3B%20filename%3Dd1-${id}.json.gz&`,
    );
    const response = await downloadFile(id);
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null]);
    const lines = gunzipSync(Buffer.from(await response.arrayBuffer()))
      .toString()
      .trim()
      .split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { gene: string }).gene)).toEqual([
      'TP53',
      'KRAS',
      'A,"B',
    ]);
  });

  test.each(['csv', 'tsv', 'csv-gz', 'parquet', 'arrow', 'excel'])(
    'as %s have no deleted records, and changed ones as they are, in the newest version and in an earlier one',
    async (format) => {
      const id = await newDataset();
      const change = async (body: object): Promise<number> => {
        const { json } = await ann.post('/v2/dataset_imports', { dataset_id: id, ...body });
        expect(json['status']).toBe('completed');
        return (json['dataset_commits'] as { readonly id: number }[])[0]!.id;
      };
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      const firstCommitId = await change({ records: numbers.map((n) => ({ n, gene: 'TP53' })) });
      const keyParams = { id_fields: ['n'] };
      await change({
        ...keyParams,
        commit_mode: 'delete',
        records: [{ n: 0 }, { n: 17 }, { n: 39 }],
      });
      await change({ ...keyParams, commit_mode: 'upsert', records: [{ n: 5, gene: 'KRAS' }] });
      const findDifferences = async (
        expectedRecords: readonly object[],
        body: object,
      ): Promise<unknown> => {
        const params = { fields: ['n', 'gene'] };
        const endedExport = await runExport({ dataset_id: id, format, params, ...body });
        expect(endedExport.json['status']).toBe('completed');
        const bytes = Buffer.from(await (await downloadFile(idOf(endedExport))).arrayBuffer());
        return findRecordDifferences(
          format,
          bytes,
          expectedRecords as readonly Record<string, unknown>[],
        );
      };
      const remainingNumbers = numbers.filter((n) => ![0, 17, 39].includes(n));
      const newestRecords = remainingNumbers.map((n) => ({ n, gene: n === 5 ? 'KRAS' : 'TP53' }));
      expect(await findDifferences(newestRecords, {})).toEqual([]);
      const earliestRecords = numbers.map((n) => ({ n, gene: 'TP53' }));
      expect(await findDifferences(earliestRecords, { as_of: firstCommitId })).toEqual([]);
    },
  );

  test.each([
    ['excel', 'xlsx'],
    ['excel-expand', 'xlsx'],
    ['csv-expand', 'csv'],
    ['csv-gz', 'csv.gz'],
    ['tsv', 'tsv'],
  ])('as %s say where they come from', async (format, extension) => {
    const params = { filters: [['n__gte', 1]] };
    const endedExport = await runExport({ format, params, target_full_path: `Lab:/made/${format}` });
    const id = idOf(endedExport);
    const bytes = Buffer.from(await (await downloadFile(id)).arrayBuffer());
    const { status, json } = await ann.get(`/v2/dataset_exports/${id}/provenance`);
    expect([status, json]).toEqual([200, expect.objectContaining({
      export_id: id,
      format,
      dataset_id: datasetId,
      dataset_version: 0,
      query: params,
      filename: `d1-${id}.${extension}`,
      documents_count: 2,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })]);
    const object = await ann.get(`/v2/objects/${String(endedExport.json['target_object_id'])}`);
    expect(object.json).toMatchObject({ path: `/made/${format}.${extension}`, size: bytes.length, metadata: { provenance: json } });
  }); // prettier-ignore

  test('redirect unless told otherwise', async () => {
    const id = idOf(await runExport({ format: 'csv' }));
    for (const query of ['', '?redirect=true', '?redirect=1']) {
      const answer = await ann.get(`/v2/dataset_exports/${id}/download${query}`);
      expect(answer.status).toBe(302);
      expect((await fetch(String(answer.headers.get('location')))).status).toBe(200);
    }
    for (const query of ['?redirect=', '?redirect=False', '?redirect=0']) {
      expect((await ann.get(`/v2/dataset_exports/${id}/download${query}`)).status).toBe(200);
    }
    expect(await (await downloadFile(id)).text()).toContain('"A,""B"');
  });

  test('hold what their query finds', async () => {
    const endedExport = await runExport({
      format: 'csv',
      params: { filters: [['gene', 'KRAS']], fields: ['gene'], limit: 5, entities: null },
    });
    expect(endedExport.json['documents_count']).toBe(1);
    expect(await (await downloadFile(idOf(endedExport))).text()).toBe('gene\r\nKRAS\r\n');
    expect((await runExport({ format: 'csv', params: { limit: 2 } })).json['documents_count']).toBe(
      2,
    );
  });

  test('also become a file where they are told to', async () => {
    const endedExport = await runExport({ format: 'csv', target_full_path: 'Lab:/out/deep/copy' });
    expect(endedExport.json['error_message']).toBeNull();
    const object = await ann.get(`/v2/objects/${String(endedExport.json['target_object_id'])}`);
    expect(object.json).toMatchObject({
      path: '/out/deep/copy.csv',
      availability: 'available',
      object_type: 'file',
    });
  });

  test.each([
    [{}, 'format'],
    [{ format: 'odd' }, 'format'],
    [{ format: 'xls' }, 'format'],
    [{ format: 'json', params: { limit: 0 } }, 'params'],
    [{ format: 'json', params: { limit: 1_000_001 } }, 'params'],
    [{ format: 'json', params: { offset: 5 } }, 'params'],
    [{ format: 'json', params: { facets: { gene: {} } } }, 'params'],
    [{ format: 'json', params: { filters: [['nope', 1]] } }, 'params'],
    [{ format: 'json', params: [1] }, 'params'],
    [{ format: 'json', target_full_path: 'nowhere:/x' }, 'target_full_path'],
    [{ format: 'json', target_full_path: 'Lab:/' }, 'target_full_path'],
    [{ format: 'json', target_fields: [{ name: 'x', expression: '(' }] }, 'target_fields'],
    [{ format: 'csv', target_fields: [{ name: 'x', expression: ')' }] }, 'target_fields'],
    [{ format: 'csv', send_email_on_completion: true }, 'send_email_on_completion'],
    [{ format: 'csv', send_email_on_completion: 'soon' }, 'send_email_on_completion'],
  ])('refuse %j and name %s', async (body, key) => {
    const { status, json } = await runExport(body);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test('are gone for good once deleted (D12)', async () => {
    const id = idOf(await runExport({ format: 'json' }));
    const url = String((await ann.get(`/v2/dataset_exports/${id}/download?redirect=`)).json['url']);
    expect((await ann.delete(`/v2/dataset_exports/${id}`)).json['id']).toBe(id);
    expect((await fetch(url)).status).toBe(404);
    expect(
      (await readdir(server.data.exports)).filter((name) => name.startsWith(`${id}.`)),
    ).toEqual([]);
  });

  test('expire after a day: the server removes the file, and says when it was', async () => {
    let aheadMs = 0;
    const ownServer = await startServer({
      scheduler: { now: () => Date.now() + aheadMs, sweepMs: 10 },
    });
    try {
      const ben = await ownServer.user('ben');
      const vault_id = idOf(await ben.post('/v2/vaults', { name: 'Own' }));
      const dataset_id = idOf(await ben.post('/v2/datasets', { vault_id, name: 'd' }));
      await ben.post('/v2/dataset_imports', { dataset_id, records: [{ n: 1 }] });
      const startMs = Date.now();
      const body = { dataset_id, format: 'csv', target_full_path: 'Own:/kept' };
      const id = idOf(await ben.post('/v2/dataset_exports', body));
      const path = `/v2/dataset_exports/${id}`;
      const endedExport = await waitForJob(ben, path);
      const expiry = String(endedExport.json['expires_at']);
      const day = 24 * 3_600_000;
      expect(Date.parse(expiry)).toBeGreaterThanOrEqual(startMs + day);
      expect(Date.parse(expiry)).toBeLessThanOrEqual(Date.now() + day);
      const url = String((await ben.get(`${path}/download?redirect=`)).json['url']);
      expect((await fetch(url)).status).toBe(200);
      expect(await readdir(ownServer.data.exports)).toEqual([`${id}.csv`]);
      aheadMs = day + 1000;
      await pollUntil(async () => (await ownServer.catalog.exports.get(id))?.filename === null);
      expect(await readdir(ownServer.data.exports)).toEqual([]);
      const detail = `The file of the export expired at ${new Date(Date.parse(expiry)).toISOString()}. Export the records again.`;
      const goneAnswers = [await ben.get(`${path}/download`), await sendRequest('', 'GET', url)];
      expect(goneAnswers.map(({ status, json }) => [status, json])).toEqual([
        [404, { detail }],
        [404, { detail }],
      ]);
      // An expired export remains, with its provenance and the file that it has stored in a vault.
      const listedExports = listOf(await ben.get('/v2/dataset_exports'));
      expect(listedExports).toEqual([
        expect.objectContaining({ id, status: 'completed', expires_at: expiry }),
      ]);
      expect((await ben.get(`${path}/provenance`)).json).toMatchObject({ export_id: id });
      const storedFile = await ben.get(
        `/v2/objects/${String(endedExport.json['target_object_id'])}`,
      );
      expect(storedFile.json).toMatchObject({ path: '/kept.csv', availability: 'available' });
    } finally {
      await ownServer.close();
    }
  });

  test('that have expired are a 404 also by an address that has expired with them (D12)', async () => {
    const id = idOf(await runExport({ format: 'json' }));
    const expiryMs = Date.now() - 5_000;
    const path = `/v2/downloads/exports/${id}?response-content-disposition=attachment%3B%20filename%3Df&user=${ann.user.id}`;
    const url = server.url + createUrlSigner(server.key).sign('GET', path, expiryMs);
    const earlyAnswer = await sendRequest('', 'GET', url);
    expect([earlyAnswer.status, earlyAnswer.json]).toEqual([
      403,
      { detail: 'The address has expired: ask for another one.' },
    ]);
    await server.catalog.exports.update(id, { expiresAt: expiryMs });
    const { status, json } = await sendRequest('', 'GET', url);
    const detail = `The file of the export expired at ${new Date(expiryMs).toISOString()}. Export the records again.`;
    expect([status, json]).toEqual([404, { detail }]);
  });

  test('of a deleted dataset go with it', async () => {
    const ownDatasetId = await newDataset();
    const createdExport = await ann.post('/v2/dataset_exports', {
      dataset_id: ownDatasetId,
      format: 'json',
    });
    const endedExport = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    const url = String(
      (await ann.get(`/v2/dataset_exports/${idOf(endedExport)}/download?redirect=`)).json['url'],
    );
    await ann.delete(`/v2/objects/${ownDatasetId}`);
    expect((await fetch(url)).status).toBe(404);
    expect((await ann.get(`/v2/dataset_exports/${idOf(endedExport)}`)).status).toBe(404);
  });

  test.each([
    '/v2/dataset_exports/$/cancel',
    '/v2/datasets_exports/$/cancel',
    '/v2/dataset_exports/$',
  ])('that have ended cannot be canceled at %s', async (path) => {
    const id = idOf(await runExport({ format: 'json' }));
    const answer = await ann.put(path.replace('$', String(id)), { status: 'canceled' });
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, ['status']]);
  });

  describe('with computed fields', () => {
    const target_fields = [
      { name: 'twice', expression: 'record.n * 2', data_type: 'long' },
      { name: 'top', expression: "dataset_count(D, filters=[['n__gte', record.n]])" },
      { name: 'bad', expression: '1 / (record.n - 2)', data_type: 'double' },
      { name: 'constant', expression: 7, data_type: 'integer' },
    ];

    async function exportRecords(body: object): Promise<readonly unknown[]> {
      const endedExport = await runExport({ format: 'json', ...body });
      expect([endedExport.json['status'], endedExport.json['error_message']]).toEqual([
        'completed',
        null,
      ]);
      const downloadAnswer = await ann.get(
        `/v2/dataset_exports/${idOf(endedExport)}/download?redirect=`,
      );
      const bytes = Buffer.from(
        await (await fetch(String(downloadAnswer.json['url']))).arrayBuffer(),
      );
      const lines = gunzipSync(bytes).toString().trimEnd().split('\n');
      return lines.map((line) => JSON.parse(line) as unknown);
    }

    test('have the records of the query that computes the same', async () => {
      const annotator_params = { data: { D: datasetId } };
      const params = { fields: ['n', 'gene'], ordering: ['-n'] };
      const query = { ...params, target_fields, annotator_params };
      const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, query);
      const records = await exportRecords({ params, target_fields, annotator_params });
      expect(records).toEqual(json['results']);
      expect(records.length).toBeGreaterThan(2);
      expect(JSON.stringify(records)).toContain('division by zero');
    });

    test('may have more records than they read', async () => {
      const annotator_params = { post_annotation_expression: '[record, record]' };
      const singleRecords = await exportRecords({ params: { fields: ['gene'] } });
      const doubledRecords = await exportRecords({
        params: { fields: ['gene'] },
        annotator_params,
      });
      expect(doubledRecords).toEqual(singleRecords.flatMap((record) => [record, record]));
    });
  });
});
