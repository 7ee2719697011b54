import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import {
  commitKeys,
  datasetKeys,
  exportKeys,
  importKeys,
  keysOf,
  shortObjectKeys,
  shortVaultKeys,
  taskKeys,
} from './keys.js';
import {
  idOf,
  listOf,
  send,
  startServer,
  waitFor,
  type Answer,
  type Client,
  type TestServer,
} from './server.js';

let server: TestServer;
let ann: Client;
let vaultId: number;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
});
afterAll(() => server.close());

let count = 0;
async function newDataset(): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `d${++count}` }));
}
async function newFile(filename: string, content: string): Promise<number> {
  const made = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename });
  await send('', 'PUT', String(made.json['upload_url']), content);
  return idOf(made);
}
async function total(datasetId: number): Promise<unknown> {
  return (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 })).json['total'];
}

describe('imports', () => {
  test.each(['data_records', 'records'])(
    'of %s are done when they answer, and show every key',
    async (key) => {
      const datasetId = await newDataset();
      const body = {
        dataset_id: datasetId,
        [key]: [{ a: 1 }, { a: 2 }],
        commit_mode: null,
        target_fields: null,
        priority: null,
      };
      const made = await ann.post('/v2/dataset_imports', body);
      expect(made.status).toBe(201);
      expect(keysOf(made.json)).toEqual(importKeys);
      expect(made.json).toMatchObject({
        class_name: 'DatasetImport',
        status: 'completed',
        source: 'data_records',
        commit_mode: 'append',
        manifest: {},
        target_fields: [],
        error_message: null,
        dataset_id: datasetId,
        vault_id: vaultId,
        include_errors: true,
        annotator_params: { annotator: 'simple', chunk_size: 1000, pre_annotation_expression: '' },
        metadata: {
          progress: { processed_records: 2 },
          validation: { errors_count: 0, error_codes: [] },
        },
      });
      expect(keysOf(made.json['dataset'])).toEqual(datasetKeys);
      const [commit, ...others] = made.json['dataset_commits'] as object[];
      expect(others).toEqual([]);
      expect(keysOf(commit)).toEqual(commitKeys);
      expect(commit).toMatchObject({
        class_name: 'DatasetCommit',
        status: 'completed',
        mode: 'append',
        parent_job_model: 'datasets.DatasetImport',
        parent_job_id: idOf(made),
        records_modified: 2,
        records_total: 2,
      });
      const steps = (made.json['timestamps'] as [string, string, string][]).map(
        ([from, to]) => `${from}-${to}`,
      );
      expect(steps).toEqual(['new-queued', 'queued-running', 'running-completed']);
      expect((await ann.get(`/v2/dataset_imports/${idOf(made)}`)).json).toEqual(made.json);
      expect(await total(datasetId)).toBe(2);
    },
  );

  test('of a file answer queued and run in the background', async () => {
    const datasetId = await newDataset();
    const objectId = await newFile('x.json', '{"a":1}\n{"a":"x"}\n');
    const made = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      object_id: String(objectId),
    });
    expect([made.status, made.json['source']]).toEqual([201, 'object']);
    expect(made.json).toMatchObject({
      object_id: objectId,
      logical_object: objectId,
      source_object: { id: objectId },
    });
    const done = await waitFor(ann, `/v2/dataset_imports/${idOf(made)}`);
    expect([done.json['status'], done.json['error_message']]).toEqual(['completed', null]);
    expect(await total(datasetId)).toBe(2);
  });

  test('of a manifest with one uploaded file work, others say that they are to come', async () => {
    const datasetId = await newDataset();
    const objectId = await newFile('y.json', '{"a":1}\n');
    const manifest = {
      files: [{ object_id: objectId, name: 'y.json', url: null, reader_params: null }],
    };
    const made = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, manifest });
    expect([made.status, made.json['source'], made.json['manifest']]).toEqual([
      201,
      'manifest',
      manifest,
    ]);
    expect((await waitFor(ann, `/v2/dataset_imports/${idOf(made)}`)).json['status']).toBe(
      'completed',
    );
    const files = [{ url: 'https://example.org/a.vcf.gz' }];
    const refused = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      manifest: { files },
    });
    expect([refused.status, Object.keys(refused.json)]).toEqual([400, ['manifest']]);
  });

  test('tell all that is wrong at once, and make no task of it', async () => {
    const before = (await ann.get('/v2/tasks')).json['total'];
    const wrong = await ann.post('/v2/dataset_imports', {
      dataset_id: 1,
      manifest: { files: [{}] },
      commit_mode: 'odd',
      target_fields: ['x'],
    });
    expect(wrong.status).toBe(400);
    expect(Object.keys(wrong.json).toSorted()).toEqual([
      'commit_mode',
      'dataset_id',
      'manifest',
      'target_fields',
    ]);
    expect(wrong.json['dataset_id']).toEqual([expect.stringContaining('Invalid dataset')]);
    expect(wrong.json['manifest']).toEqual([expect.stringContaining('Each file must')]);
    expect((await ann.get('/v2/tasks')).json['total']).toBe(before);
  });

  test('refuse every source that is none', async () => {
    const datasetId = await newDataset();
    const folder = idOf(
      await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'f' }),
    );
    const waiting = idOf(
      await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'w.json' }),
    );
    const odd = await newFile('z.unknown', 'x');
    const good = await newFile('z.json', '{}');
    const cases: readonly (readonly [object, string])[] = [
      [{}, 'non_field_errors'],
      [{ records: [], object_id: good }, 'non_field_errors'],
      [{ object_id: folder }, 'object_id'],
      [{ object_id: waiting }, 'object_id'],
      [{ object_id: odd }, 'object_id'],
      [{ object_id: 'x' }, 'object_id'],
      [{ records: 'x' }, 'records'],
      [{ records: [1] }, 'records'],
      [{ data_records: [[]] }, 'data_records'],
      [{ data_records: Array.from({ length: 5001 }, () => ({})) }, 'data_records'],
      [{ object_id: good, reader_params: { reader: 'odd' } }, 'reader_params'],
      [{ records: [{}], commit_mode: 'upsert' }, 'commit_mode'],
      [{ records: [{}], target_fields: [{}] }, 'target_fields'],
      [{ records: [{}], target_fields: [{ name: 'a', expression: '1' }] }, 'target_fields'],
      [{ records: [{}], validation_params: { disable: 'maybe' } }, 'validation_params'],
      [{ records: [{}], annotator_params: { pre_annotation_expression: 'x' } }, 'annotator_params'],
      [{ records: [{}], priority: 'x' }, 'priority'],
      [{ records: [{}], genome_build: 'hg19' }, 'genome_build'],
    ];
    for (const [body, key] of cases) {
      const { status, json } = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        ...body,
      });
      expect([body, status, Object.keys(json)]).toEqual([body, 400, [key]]);
    }
    expect(await total(datasetId)).toBe(0);
  });

  test('take target fields as a list or keyed by name, and give them back with all keys', async () => {
    const datasetId = await newDataset();
    const made = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      records: { a: 1 },
      target_fields: { a: { data_type: 'string', title: 'A' } },
    });
    expect(made.json['status']).toBe('completed');
    expect(made.json['target_fields']).toMatchObject([
      { name: 'a', title: 'A', data_type: 'string', is_transient: false },
    ]);
    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=a`));
    expect(field).toMatchObject({ data_type: 'string', title: 'A', is_valid: true });
  });

  test('with NaN and infinities fail with their codes and leave the dataset as it was', async () => {
    const datasetId = await newDataset();
    const body = `{"dataset_id":${datasetId},"records":[{"a":1.5},{"a":NaN},{"a":Infinity}]}`;
    const made = await ann.post('/v2/dataset_imports', body);
    expect([made.status, made.json['status']]).toEqual([201, 'failed']);
    expect(made.json['error_message']).toEqual(expect.any(String));
    const { validation } = made.json['metadata'] as { validation: { error_codes: number[] } };
    expect(validation.error_codes.toSorted()).toEqual([304, 305]);
    expect(await total(datasetId)).toBe(0);
    expect(made.json['dataset_commits']).toEqual([]);
  });

  test('are listed, newest first, in both lists; deleting one keeps its records', async () => {
    const datasetId = await newDataset();
    const first = idOf(
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] }),
    );
    const second = idOf(
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 2 }] }),
    );
    for (const path of [
      `/v2/dataset_imports?dataset_id=${datasetId}`,
      `/v2/datasets/${datasetId}/imports`,
    ]) {
      expect(listOf(await ann.get(path)).map((row) => row['id'])).toEqual([second, first]);
    }
    expect(
      (await ann.get(`/v2/dataset_imports?dataset_id=${datasetId}&status=failed,canceled`)).json[
        'total'
      ],
    ).toBe(0);
    const deleted = await ann.delete(`/v2/dataset_imports/${first}`);
    expect([deleted.status, deleted.json['id']]).toEqual([200, first]);
    expect((await ann.get(`/v2/dataset_imports/${first}`)).status).toBe(404);
    expect(await total(datasetId)).toBe(2);
  });

  test('leave nothing in the scratch folder', async () => {
    const names = await readdir(server.data.scratch);
    expect(names.filter((name) => !name.startsWith('spill'))).toEqual([]);
  });
});

describe('commits', () => {
  test('are listed and shown with every key, and are too late to cancel', async () => {
    const datasetId = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
    const [commit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
    expect(keysOf(commit)).toEqual(commitKeys);
    expect(listOf(await ann.get(`/v2/dataset_commits?dataset_id=${datasetId}`))).toEqual([commit]);
    const id = String(commit?.['id']);
    expect((await ann.get(`/v2/dataset_commits/${id}`)).json).toEqual(commit);
    for (const path of [`/v2/dataset_commits/${id}`, `/v2/datasets_commits/${id}/cancel`]) {
      const { status, json } = await ann.put(path, { status: 'canceled' });
      expect([status, Object.keys(json)]).toEqual([400, ['status']]);
    }
  });
});

describe('tasks', () => {
  test('show both ids, what they work on, and the resource itself', async () => {
    const datasetId = await newDataset();
    const made = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      records: [{ a: 1 }],
    });
    const taskId = Number(made.json['task_id']);
    const { status, json } = await ann.get(`/v2/tasks/${taskId}`);
    expect(status).toBe(200);
    expect(keysOf(json)).toEqual([...taskKeys, 'task_object'].toSorted());
    expect(json).toMatchObject({
      class_name: 'ECSTask',
      id: taskId,
      task_id: idOf(made),
      task_type: 'datasets.DatasetImport',
      task_display_name: 'Dataset Import',
      status: 'completed',
      parent_id: null,
      source_object: null,
      available_actions: [],
      target_object: { id: datasetId },
      target_vault: { id: vaultId },
      user: { id: ann.user.id, full_name: 'ann' },
      task_object: { id: idOf(made), class_name: 'DatasetImport' },
    });
    expect(keysOf(json['target_object'])).toEqual(shortObjectKeys);
    expect(keysOf(json['target_vault'])).toEqual(shortVaultKeys);
    const tasks = listOf(await ann.get(`/v2/tasks?target_object_id=${datasetId}`));
    expect(tasks.map((task) => task['task_type'])).toEqual([
      'datasets.DatasetCommit',
      'datasets.DatasetImport',
    ]);
    expect(tasks[0]).toMatchObject({ parent_id: taskId, task_display_name: 'Dataset Commit' });
    expect(keysOf(tasks[1])).toEqual(taskKeys);
  });

  test.each([
    ['task_type=datasets.DatasetCommit', 1],
    ['task_type=other.Thing', 0],
    ['status=completed', 2],
    ['status=running,queued', 0],
    ['status=running&status=completed', 2],
    ['user=$U', 2],
    ['user_id=1', 0],
    ['parent_task_id=1', 0],
    ['ordering=-updated_at', 2],
    ['ordering=created_at&limit=1', 2],
  ])('%s finds %d of two', async (filter, expected) => {
    const datasetId = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
    const query = filter.replace('$U', String(ann.user.id));
    const { json } = await ann.get(`/v2/tasks?target_object_id=${datasetId}&${query}`);
    expect(json['total']).toBe(expected);
  });

  test('come ten to a page, and refuse odd filters', async () => {
    expect(listOf(await ann.get('/v2/tasks'))).toHaveLength(10);
    expect((await ann.get('/v2/tasks?status=done')).status).toBe(400);
    expect((await ann.get('/v2/tasks?ordering=name')).status).toBe(400);
  });

  test('that have ended cannot be canceled, and take no other status', async () => {
    const [task] = listOf(await ann.get('/v2/tasks?status=completed&limit=1'));
    const path = `/v2/tasks/${String(task?.['id'])}`;
    for (const status of ['canceled', 'completed', 'running', 'odd']) {
      const answer = await ann.patch(path, { status });
      expect([status, answer.status, Object.keys(answer.json)]).toEqual([status, 400, ['status']]);
    }
    expect((await ann.put(path, {})).json['status']).toBe('completed');
  });

  test.each(['task', 'import', 'import by PUT', 'import by its cancel path'])(
    'cancel through the %s',
    async (way) => {
      const datasetId = await newDataset();
      const lines = Array.from(
        { length: 200_000 },
        (_, i) => `{"i":${i},"t":"${'x'.repeat(60)}"}\n`,
      ).join('');
      const objectId = await newFile('big.json', lines);
      const made = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: objectId,
      });
      const taskId = String(made.json['task_id']);
      const started = performance.now();
      const answer = await {
        task: () => ann.patch(`/v2/tasks/${taskId}`, { status: 'canceled' }),
        import: () =>
          ann.patch(`/v2/dataset_imports/${idOf(made)}`, { status: 'canceled', metadata: {} }),
        'import by PUT': () =>
          ann.put(`/v2/dataset_imports/${idOf(made)}`, { ...made.json, status: 'canceled' }),
        'import by its cancel path': () =>
          ann.put(`/v2/datasets_imports/${idOf(made)}/cancel`, { status: 'canceled' }),
      }[way]!();
      expect(performance.now() - started).toBeLessThan(3_000);
      expect([answer.status, answer.json['status']]).toEqual([200, 'canceled']);
      expect((await ann.get(`/v2/tasks/${taskId}`)).json).toMatchObject({
        status: 'canceled',
        task_object: { status: 'canceled' },
      });
      expect(await total(datasetId)).toBe(0);
    },
  );
});

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

  async function run(body: object): Promise<Answer> {
    const made = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, ...body });
    if (made.status !== 201) return made;
    return waitFor(ann, `/v2/dataset_exports/${idOf(made)}`);
  }

  async function file(id: number): Promise<Response> {
    const { json } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
    return fetch(String(json['url']));
  }

  test('show every key and can be downloaded under the name in their address', async () => {
    const done = await run({ format: 'json', params: null });
    const id = idOf(done);
    expect(keysOf(done.json)).toEqual(exportKeys);
    expect(done.json).toMatchObject({
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
      `?response-content-disposition=attachment%3B%20filename%3Dd${count}-${id}.json.gz&`,
    );
    const response = await file(id);
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

  test('redirect unless told otherwise', async () => {
    const id = idOf(await run({ format: 'csv' }));
    for (const query of ['', '?redirect=true', '?redirect=1']) {
      const answer = await ann.get(`/v2/dataset_exports/${id}/download${query}`);
      expect(answer.status).toBe(302);
      expect((await fetch(String(answer.headers.get('location')))).status).toBe(200);
    }
    for (const query of ['?redirect=', '?redirect=False', '?redirect=0']) {
      expect((await ann.get(`/v2/dataset_exports/${id}/download${query}`)).status).toBe(200);
    }
    expect(await (await file(id)).text()).toContain('"A,""B"');
  });

  test('hold what their query finds', async () => {
    const done = await run({
      format: 'csv',
      params: { filters: [['gene', 'KRAS']], fields: ['gene'], limit: 5, entities: null },
    });
    expect(done.json['documents_count']).toBe(1);
    expect(await (await file(idOf(done))).text()).toBe('gene\r\nKRAS\r\n');
    expect((await run({ format: 'csv', params: { limit: 2 } })).json['documents_count']).toBe(2);
  });

  test('also become a file where they are told to', async () => {
    const done = await run({ format: 'csv', target_full_path: 'Lab:/out/deep/copy' });
    expect(done.json['error_message']).toBeNull();
    const object = await ann.get(`/v2/objects/${String(done.json['target_object_id'])}`);
    expect(object.json).toMatchObject({
      path: '/out/deep/copy.csv',
      availability: 'available',
      object_type: 'file',
    });
  });

  test.each([
    [{}, 'format'],
    [{ format: 'odd' }, 'format'],
    [{ format: 'excel' }, 'format'],
    [{ format: 'json', params: { limit: 0 } }, 'params'],
    [{ format: 'json', params: { limit: 1_000_001 } }, 'params'],
    [{ format: 'json', params: { offset: 5 } }, 'params'],
    [{ format: 'json', params: { facets: { gene: {} } } }, 'params'],
    [{ format: 'json', params: { filters: [['nope', 1]] } }, 'params'],
    [{ format: 'json', params: [1] }, 'params'],
    [{ format: 'json', target_full_path: 'nowhere:/x' }, 'target_full_path'],
    [{ format: 'json', target_full_path: 'Lab:/' }, 'target_full_path'],
    [{ format: 'json', target_fields: [{ name: 'x' }] }, 'target_fields'],
  ])('refuse %j and name %s', async (body, key) => {
    const { status, json } = await run(body);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test('are gone for good once deleted', async () => {
    const id = idOf(await run({ format: 'json' }));
    const url = String((await ann.get(`/v2/dataset_exports/${id}/download?redirect=`)).json['url']);
    expect((await ann.delete(`/v2/dataset_exports/${id}`)).json['id']).toBe(id);
    expect((await fetch(url)).status).toBe(404);
    expect(
      (await readdir(server.data.exports)).filter((name) => name.startsWith(`${id}.`)),
    ).toEqual([]);
  });

  test('of a deleted dataset go with it', async () => {
    const own = await newDataset();
    const made = await ann.post('/v2/dataset_exports', { dataset_id: own, format: 'json' });
    const done = await waitFor(ann, `/v2/dataset_exports/${idOf(made)}`);
    const url = String(
      (await ann.get(`/v2/dataset_exports/${idOf(done)}/download?redirect=`)).json['url'],
    );
    await ann.delete(`/v2/objects/${own}`);
    expect((await fetch(url)).status).toBe(404);
    expect((await ann.get(`/v2/dataset_exports/${idOf(done)}`)).status).toBe(404);
  });

  test.each([
    '/v2/dataset_exports/$/cancel',
    '/v2/datasets_exports/$/cancel',
    '/v2/dataset_exports/$',
  ])('that have ended cannot be canceled at %s', async (path) => {
    const id = idOf(await run({ format: 'json' }));
    const answer = await ann.put(path.replace('$', String(id)), { status: 'canceled' });
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, ['status']]);
  });
});
