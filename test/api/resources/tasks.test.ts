import { describe, expect, test } from '@jest/globals';
import { commitKeys, sortedKeysOf, shortObjectKeys, shortVaultKeys, taskKeys } from '../keys.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, type Client } from '../server.js';

const { ann, server, vaultId, newDataset, newFile, countRecords } = await startServerFixture();

describe('commits', () => {
  test('are listed and shown with every key, and are too late to cancel', async () => {
    const datasetId = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
    const [commit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
    expect(sortedKeysOf(commit)).toEqual(commitKeys);
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
    const createdImport = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      records: [{ a: 1 }],
    });
    const taskId = Number(createdImport.json['task_id']);
    const { status, json } = await ann.get(`/v2/tasks/${taskId}`);
    expect(status).toBe(200);
    expect(sortedKeysOf(json)).toEqual([...taskKeys, 'task_object'].toSorted());
    expect(json).toMatchObject({
      class_name: 'ECSTask',
      id: taskId,
      task_id: idOf(createdImport),
      task_type: 'datasets.DatasetImport',
      task_display_name: 'Dataset Import',
      status: 'completed',
      parent_id: null,
      source_object: null,
      available_actions: [],
      target_object: { id: datasetId },
      target_vault: { id: vaultId },
      user: { id: ann.user.id, full_name: 'ann' },
      task_object: { id: idOf(createdImport), class_name: 'DatasetImport' },
    });
    expect(sortedKeysOf(json['target_object'])).toEqual(shortObjectKeys);
    expect(sortedKeysOf(json['target_vault'])).toEqual(shortVaultKeys);
    const tasks = listOf(await ann.get(`/v2/tasks?target_object_id=${datasetId}`));
    expect(tasks.map((task) => task['task_type'])).toEqual([
      'datasets.DatasetCommit',
      'datasets.DatasetImport',
    ]);
    expect(tasks[0]).toMatchObject({ parent_id: taskId, task_display_name: 'Dataset Commit' });
    expect(listOf(await ann.get(`/v2/tasks?parent_task_id=${taskId}`))).toEqual([tasks[0]]);
    expect(sortedKeysOf(tasks[1])).toEqual(taskKeys);
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

  test.each(['vacuum', 'checkpoint'] as const)(
    'of the kind %s are found by their type alone, by administrators',
    async (kind) => {
      const datasetId = await newDataset();
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
      const { task } = await server.scheduler.enqueueAndWait(kind, { description: 'Upkeep', targetObjectId: datasetId, params: {} }); // prettier-ignore
      await server.scheduler.wait(task.id);
      const type = kind === 'vacuum' ? 'datasets.DatasetVacuum' : 'datasets.LogCheckpoint';
      const fetchTasks = async (client: Client, query: string): Promise<unknown> =>
      listOf(await client.get(`/v2/tasks?target_object_id=${datasetId}${query}`)).map((one) => [one['id'], one['task_type'], one['status']]); // prettier-ignore
      const admin = await server.user(`admin-of-${kind}`, { role: 'admin' });
      const expectedTasks = [[task.id, type, 'completed']];
      expect(await fetchTasks(admin, `&task_type=${type}`)).toEqual(expectedTasks);
      expect(await fetchTasks(admin, `&task_type=${type}&class=background`)).toEqual(expectedTasks);
      expect(await fetchTasks(admin, `&task_type=${type}&class=standard`)).toEqual([]);
      expect(await fetchTasks(ann, `&task_type=${type}`)).toEqual([]);
      expect(await fetchTasks(admin, '')).toHaveLength(2);
    },
  );

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

  let objectId: number | undefined;
  test.each(['task', 'import', 'import by PUT', 'import by its cancel path'])(
    'cancel through the %s',
    async (way) => {
      const datasetId = await newDataset();
      objectId ??= await newFile('big.json', `{"t":"${'x'.repeat(60)}"}\n`.repeat(200_000));
      const createdImport = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: objectId,
      });
      const taskId = String(createdImport.json['task_id']);
      const answer = await {
        task: () => ann.patch(`/v2/tasks/${taskId}`, { status: 'canceled' }),
        import: () =>
          ann.patch(`/v2/dataset_imports/${idOf(createdImport)}`, {
            status: 'canceled',
            metadata: {},
          }),
        'import by PUT': () =>
          ann.put(`/v2/dataset_imports/${idOf(createdImport)}`, {
            ...createdImport.json,
            status: 'canceled',
          }),
        'import by its cancel path': () =>
          ann.put(`/v2/datasets_imports/${idOf(createdImport)}/cancel`, { status: 'canceled' }),
      }[way]!();
      expect([answer.status, answer.json['status']]).toEqual([200, 'canceled']);
      expect((await ann.get(`/v2/tasks/${taskId}`)).json).toMatchObject({
        status: 'canceled',
        task_object: { status: 'canceled' },
      });
      expect(await countRecords(datasetId)).toBe(0);
    },
  );
});
