import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { commitKeys, datasetKeys, importKeys, sortedKeysOf } from '../keys.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

const { server, ann, vaultId, newDataset, newFile, runImport, countRecords } =
  await startServerFixture();

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
      const createdImport = await ann.post('/v2/dataset_imports', body);
      expect(createdImport.status).toBe(201);
      expect(sortedKeysOf(createdImport.json)).toEqual(importKeys);
      expect(createdImport.json).toMatchObject({
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
      expect(sortedKeysOf(createdImport.json['dataset'])).toEqual(datasetKeys);
      const [commit, ...others] = createdImport.json['dataset_commits'] as object[];
      expect(others).toEqual([]);
      expect(sortedKeysOf(commit)).toEqual(commitKeys);
      expect(commit).toMatchObject({
        class_name: 'DatasetCommit',
        status: 'completed',
        mode: 'append',
        parent_job_model: 'datasets.DatasetImport',
        parent_job_id: idOf(createdImport),
        records_modified: 2,
        records_total: 2,
      });
      const steps = (createdImport.json['timestamps'] as [string, string, string][]).map(
        ([from, to]) => `${from}-${to}`,
      );
      expect(steps).toEqual(['new-queued', 'queued-running', 'running-completed']);
      expect((await ann.get(`/v2/dataset_imports/${idOf(createdImport)}`)).json).toEqual(
        createdImport.json,
      );
      expect(await countRecords(datasetId)).toBe(2);
    },
  );

  test('of a file answer queued and run in the background', async () => {
    const datasetId = await newDataset();
    const objectId = await newFile('x.json', '{"a":1}\n{"a":"x"}\n');
    const createdImport = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      object_id: String(objectId),
    });
    expect([createdImport.status, createdImport.json['source']]).toEqual([201, 'object']);
    expect(createdImport.json).toMatchObject({
      object_id: objectId,
      logical_object: objectId,
      source_object: { id: objectId },
    });
    const endedImport = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect([endedImport.json['status'], endedImport.json['error_message']]).toEqual([
      'completed',
      null,
    ]);
    expect(await countRecords(datasetId)).toBe(2);
  });

  test.each(['of the request', 'of a file', 'of a table'])(
    'replace an _id given with a record %s by a new one, also that of a stored record (contract 10.4)',
    async (sourceKind) => {
      const datasetId = await newDataset();
      await runImport({ dataset_id: datasetId, records: [{ n: 1 }] });
      const fetchRecords = async (): Promise<readonly Readonly<Record<string, unknown>>[]> => {
        const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { ordering: ['n'] });
        return json['results'] as readonly Readonly<Record<string, unknown>>[];
      };
      const [storedRecord] = await fetchRecords();
      const storedId = String(storedRecord!['_id']);
      // Two records have the same `_id`, which is no error, because an append ignores it.
      const givenRecords = [
        { _id: storedId, _commit: '7', n: 2 },
        { _id: 'mine', _commit: '7', n: 3 },
        { _id: 'mine', _commit: '7', n: 4 },
      ];
      const lines = givenRecords.map((record) => `${JSON.stringify(record)}\n`).join('');
      const rows = givenRecords.map(({ _id, _commit, n }) => `${_id},${_commit},${n}\n`).join('');
      const source =
        sourceKind === 'of the request'
          ? { records: givenRecords }
          : {
              object_id: await (sourceKind === 'of a file'
                ? newFile('given-ids.json', lines)
                : newFile('given-ids.csv', `_id,_commit,n\n${rows}`)),
            };
      const endedImport = await runImport({ dataset_id: datasetId, ...source });
      const [commit] = endedImport['dataset_commits'] as readonly { readonly id: number }[];
      expect(commit).toMatchObject({ mode: 'append', records_added: 3, records_changed: 0 });
      const [firstRecord, ...addedRecords] = await fetchRecords();
      expect(firstRecord).toEqual(storedRecord);
      expect(addedRecords.map(({ n, _commit }) => [n, _commit])).toEqual(
        [2, 3, 4].map((n) => [n, String(commit!.id)]),
      );
      const ids = addedRecords.map(({ _id }) => String(_id));
      for (const id of ids) expect(id).toMatch(/^[0-9a-z]{19}$/);
      expect(new Set([...ids, storedId]).size).toBe(4);
      const queryAnswer = await ann.post(`/v2/datasets/${datasetId}/data`, {
        filters: [['_id', 'mine']],
      });
      expect(queryAnswer.json['total']).toBe(0);
    },
  );

  test('of a manifest with one uploaded file work', async () => {
    const datasetId = await newDataset();
    const objectId = await newFile('y.json', '{"a":1}\n');
    const manifest = {
      files: [{ object_id: objectId, name: 'y.json', url: null, reader_params: null }],
    };
    const createdImport = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      manifest,
    });
    expect([
      createdImport.status,
      createdImport.json['source'],
      createdImport.json['manifest'],
    ]).toEqual([201, 'manifest', manifest]);
    expect(
      (await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json['status'],
    ).toBe('completed');
  });

  test('tell all that is wrong at once, and make no task of it', async () => {
    const tasksBefore = (await ann.get('/v2/tasks')).json['total'];
    const refusedAnswer = await ann.post('/v2/dataset_imports', {
      dataset_id: 1,
      manifest: { files: [{}] },
      commit_mode: 'odd',
      target_fields: ['x'],
    });
    expect(refusedAnswer.status).toBe(400);
    expect(Object.keys(refusedAnswer.json).toSorted()).toEqual([
      'commit_mode',
      'dataset_id',
      'manifest',
      'target_fields',
    ]);
    expect(refusedAnswer.json['dataset_id']).toEqual([expect.stringContaining('Invalid dataset')]);
    expect(refusedAnswer.json['manifest']).toEqual([expect.stringContaining('Each file must')]);
    expect((await ann.get('/v2/tasks')).json['total']).toBe(tasksBefore);
  });

  test('refuse every source that is none', async () => {
    const datasetId = await newDataset();
    const folderId = idOf(
      await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'f' }),
    );
    const waitingId = idOf(
      await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'w.json' }),
    );
    const oddFileId = await newFile('z.unknown', 'x');
    const goodFileId = await newFile('z.json', '{}');
    const cases: readonly (readonly [object, string])[] = [
      [{}, 'non_field_errors'],
      [{ records: [], object_id: goodFileId }, 'non_field_errors'],
      [{ object_id: folderId }, 'object_id'],
      [{ object_id: waitingId }, 'object_id'],
      [{ object_id: oddFileId }, 'object_id'],
      [{ object_id: 'x' }, 'object_id'],
      [{ records: 'x' }, 'records'],
      [{ records: [1] }, 'records'],
      [{ data_records: [[]] }, 'data_records'],
      [{ data_records: Array.from({ length: 5001 }, () => ({})) }, 'data_records'],
      [{ object_id: goodFileId, reader_params: { reader: 'odd' } }, 'reader_params'],
      [{ records: [{}], commit_mode: 'replace' }, 'commit_mode'],
      [{ records: [{}], id_fields: ['a'] }, 'id_fields'],
      [{ records: [{}], commit_mode: 'upsert', id_fields: ['a', 'a'] }, 'id_fields'],
      [{ records: [{}], commit_mode: 'upsert', id_fields: ['a', '_id'] }, 'id_fields'],
      [{ records: [{}], target_fields: [{}] }, 'target_fields'],
      [{ records: [{}], target_fields: [{ name: 'a', expression: '1 +' }] }, 'target_fields'],
      [{ records: [{}], validation_params: { disable: 'maybe' } }, 'validation_params'],
      [{ records: [{}], annotator_params: { pre_annotation_expression: '(' } }, 'annotator_params'],
      [{ records: [{}], priority: 'x' }, 'priority'],
      [{ records: [{}], genome_build: 'hg19' }, 'genome_build'],
      [{ object_id: goodFileId, reader_params: { genome_build: 'GRCh39' } }, 'reader_params'],
    ];
    for (const [body, key] of cases) {
      const { status, json } = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        ...body,
      });
      expect([body, status, Object.keys(json)]).toEqual([body, 400, [key]]);
    }
    expect(await countRecords(datasetId)).toBe(0);
  });

  test('take target fields as a list or keyed by name, and give them back with all keys', async () => {
    const datasetId = await newDataset();
    const createdImport = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      records: { a: 1 },
      target_fields: { a: { data_type: 'string', title: 'A' } },
    });
    expect(createdImport.json['status']).toBe('completed');
    expect(createdImport.json['target_fields']).toMatchObject([
      { name: 'a', title: 'A', data_type: 'string', is_transient: false },
    ]);
    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=a`));
    expect(field).toMatchObject({ data_type: 'string', title: 'A', is_valid: true });
  });

  test('with NaN and infinities fail with their codes and leave the dataset as it was', async () => {
    const datasetId = await newDataset();
    const body = `{"dataset_id":${datasetId},"records":[{"a":1.5},{"a":NaN},{"a":Infinity}]}`;
    const createdImport = await ann.post('/v2/dataset_imports', body);
    expect([createdImport.status, createdImport.json['status']]).toEqual([201, 'failed']);
    expect(createdImport.json['error_message']).toEqual(expect.any(String));
    const { validation } = createdImport.json['metadata'] as {
      validation: { error_codes: number[] };
    };
    expect(validation.error_codes.toSorted()).toEqual([304, 305]);
    expect(await countRecords(datasetId)).toBe(0);
    expect(createdImport.json['dataset_commits']).toEqual([]);
  });

  test('are listed, newest first, in both lists; deleting one keeps its records', async () => {
    const datasetId = await newDataset();
    const firstImportId = idOf(
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] }),
    );
    const secondImportId = idOf(
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 2 }] }),
    );
    for (const path of [
      `/v2/dataset_imports?dataset_id=${datasetId}`,
      `/v2/datasets/${datasetId}/imports`,
    ]) {
      expect(listOf(await ann.get(path)).map((row) => row['id'])).toEqual([
        secondImportId,
        firstImportId,
      ]);
    }
    expect(
      (await ann.get(`/v2/dataset_imports?dataset_id=${datasetId}&status=failed,canceled`)).json[
        'total'
      ],
    ).toBe(0);
    const deletionAnswer = await ann.delete(`/v2/dataset_imports/${firstImportId}`);
    expect([deletionAnswer.status, deletionAnswer.json['id']]).toEqual([200, firstImportId]);
    expect((await ann.get(`/v2/dataset_imports/${firstImportId}`)).status).toBe(404);
    expect(await countRecords(datasetId)).toBe(2);
  });

  test('leave nothing in the scratch folder', async () => {
    const names = await readdir(server.data.scratch);
    expect(names.filter((name) => !name.startsWith('spill'))).toEqual([]);
  });
});
