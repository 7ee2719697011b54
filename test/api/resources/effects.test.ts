import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NamedSchema } from '../../../api/http/json-schema.js';
import { operations } from '../../../api/resources/index.js';
import { idOf, listOf, makeVaultFixture, makeMigration, sendRequest, startServer, waitForJob, type Client, type VaultFixture, type TestServer } from '../server.js'; // prettier-ignore

/* Each key of a request has an effect or is refused by its name; no key is accepted and ignored. */

let server: TestServer;
let ann: Client;
let fixture: VaultFixture;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  fixture = await makeVaultFixture(ann);
});
afterAll(() => server.close());

describe('changes of a dataset', () => {
  test('rename and move it', async () => {
    const { vaultId, folderId } = fixture;
    const createdDataset = await ann.post('/v2/datasets', { vault_id: vaultId, name: 'before' });
    const path = `/v2/datasets/${idOf(createdDataset)}`;
    const renameAnswer = await ann.patch(path, { name: 'after' });
    expect(renameAnswer.json).toMatchObject({ name: 'after', vault_object_path: '/after' });
    const moveAnswer = await ann.put(path, { vault_parent_object_id: String(folderId) });
    expect(moveAnswer.json).toMatchObject({
      vault_parent_object_id: folderId,
      vault_object_path: '/runs/after',
    });
    const moveBackAnswer = await ann.patch(path, { vault_parent_object_id: null, name: null });
    expect(moveBackAnswer.json).toMatchObject({ name: 'after', vault_object_path: '/after' });
    expect((await ann.patch(path, { name: 'a/b' })).json).toHaveProperty('name');
    expect((await ann.patch(path, { vault_parent_object_id: idOf(createdDataset) })).status).toBe(
      400,
    );
  });

  test.each([
    ['vault_id', 999, 'An object cannot be moved to another vault.'],
    ['capacity', 'large', 'The capacity of a dataset cannot be changed.'],
  ])('of %s are refused, as a dataset and as an object', async (key, value, message) => {
    for (const kind of ['datasets', 'objects']) {
      const answer = await ann.patch(`/v2/${kind}/${fixture.datasetId}`, { [key]: value });
      expect([answer.status, answer.json]).toEqual([400, { [key]: [message] }]);
    }
  });

  test.each(['datasets', 'objects'])('repeat all that /v2/%s shows', async (kind) => {
    const path = `/v2/${kind}/${fixture.datasetId}`;
    const { json } = await ann.get(path);
    const repeatAnswer = await ann.put(path, { ...json, capacity: 'small' });
    expect([repeatAnswer.status, repeatAnswer.text]).toEqual([200, repeatAnswer.text]);
    const { updated_at: _, last_accessed: __, last_modified: ___, ...sameKeys } = json;
    expect(repeatAnswer.json).toMatchObject(sameKeys);
    expect((await ann.put(path, { vault_id: String(fixture.vaultId), capacity: null })).status).toBe(200); // prettier-ignore
  });
});

test('a file has no storage class and no capacity, and keeps its type and its vault', async () => {
  const file = { vault_id: fixture.vaultId, object_type: 'file', filename: 'f' };
  for (const key of ['storage_class', 'capacity']) {
    const value = key === 'capacity' ? 'small' : 'Standard';
    const createdObject = await ann.post('/v2/objects', { ...file, [key]: value });
    expect([createdObject.status, Object.keys(createdObject.json)]).toEqual([400, [key]]);
    const changedAnswer = await ann.patch(`/v2/objects/${fixture.fileId}`, { [key]: value });
    expect([changedAnswer.status, Object.keys(changedAnswer.json)]).toEqual([400, [key]]);
    expect((await ann.post('/v2/objects', { ...file, [key]: null })).status).toBe(201);
  }
  const path = `/v2/objects/${fixture.fileId}`;
  expect((await ann.patch(path, { object_type: 'folder' })).json).toHaveProperty('object_type');
  expect((await ann.patch(path, { vault_id: 999 })).json).toHaveProperty('vault_id');
  const { json } = await ann.get(path);
  expect((await ann.put(path, json)).status).toBe(200);
});

describe('requests of clients', () => {
  test('what clients always send asks for nothing', async () => {
    const dataset_id = fixture.datasetId;
    const exportAnswer = await ann.post('/v2/dataset_exports', { dataset_id, format: 'csv', send_email_on_completion: false, target_fields: null, annotator_params: {} }); // prettier-ignore
    expect(exportAnswer.status).toBe(201);
    const field = await ann.post('/v2/dataset_fields', { dataset_id, name: 'plain', expression: null, url_template: null }); // prettier-ignore
    expect(field.status).toBe(201);
    expect((await ann.patch(`/v2/dataset_fields/${idOf(field)}`, { expression: '' })).status).toBe(200); // prettier-ignore
    expect((await ann.patch(`/v2/vaults/${fixture.vaultId}`, { versioning: 'disabled' })).status).toBe(200); // prettier-ignore
  });
});

test('an address of values needs the place of the value', async () => {
  const path = `/v2/dataset_fields/${fixture.fieldId}`;
  const refusedAnswer = await ann.patch(path, { url_template: 'https://example.org/' });
  expect([refusedAnswer.status, refusedAnswer.text]).toEqual([
    400,
    expect.stringContaining('{value}'),
  ]);
  const keptAnswer = await ann.patch(path, { url_template: 'https://example.org/{value}' });
  expect(keptAnswer.json['url_template']).toBe('https://example.org/{value}');
});

describe('every key that creates a resource changes it, or is refused by its name', () => {
  const patchedResources = Object.values(operations).flatMap(({ method, paths: [path] }) => (method === 'PATCH' ? [path.split('/')[2]!] : []));
  const creatableResources = patchedResources.flatMap((name) => {
    const createOperation = Object.values(operations).find((one) => one.method === 'POST' && one.paths[0] === `/v2/${name}`);
    return createOperation === undefined ? [] : [[name, createOperation.body as NamedSchema] as const];
  });

  test.each(creatableResources)('%s', async (name, { schema, example }) => {
    const { properties, required = [] } = schema as { properties: object; required?: readonly string[] };
    const { vaultId, datasetId, fileId, exportId } = fixture;
    const setId = idOf(await ann.post('/v2/beacon_sets', { title: `of ${name}` }));
    const beacon = { beacon_set_id: setId, vault_object_id: datasetId, title: 'b' };
    const records = [{ gene: 'x' }];
    const idGetters: Readonly<Record<string, () => Promise<number> | number>> = {
      vaults: () => vaultId,
      objects: () => fileId,
      datasets: () => datasetId,
      dataset_fields: async () => idOf(await ann.post('/v2/dataset_fields', { dataset_id: datasetId, name: 'changing' })),
      dataset_imports: async () => idOf(await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records })),
      dataset_exports: () => exportId,
      dataset_migrations: () => makeMigration(ann, datasetId),
      applications: async () =>
        idOf(await ann.post('/v2/applications', { name: 'a', redirect_uris: 'https://example.org/' })),
      beacon_sets: () => setId,
      beacons: async () => idOf(await ann.post('/v2/beacons', beacon)),
    };
    // Any other resource can be created from the required keys of its example.
    const requiredBody = Object.fromEntries(Object.entries(example as object).filter(([key]) => required.includes(key)));
    const getId = idGetters[name] ?? (async () => idOf(await ann.post(`/v2/${name}`, requiredBody)));
    const path = `/v2/${name}/${await getId()}`;
    for (const key of Object.keys(properties)) {
      const jsonBefore = (await ann.get(path)).json;
      const value = differentJson(jsonBefore[key]);
      const answer = await ann.patch(path, { [key]: value });
      if (answer.status === 400) {
        expect([key, Object.keys(answer.json)]).toEqual([key, [key]]);
        expect((await ann.get(path)).json[key]).toEqual(jsonBefore[key]);
        const sameAnswer = await ann.patch(path, { [key]: jsonBefore[key] ?? null });
        expect([key, sameAnswer.status, sameAnswer.text]).toEqual([key, 200, sameAnswer.text]);
      } else {
        // A dataset does not show its `mimetype`, which is a key of the dataset's object.
        const shownValue = (await ann.get(key === 'mimetype' && name === 'datasets' ? `/v2/objects/${datasetId}` : path)).json[key];
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        expect([key, answer.status, shownValue]).toEqual([key, 200, isObject ? expect.objectContaining(value) : value]);
      }
    }
  });
}); // prettier-ignore

/** Returns another value; it has the same JSON type unless the value is null or undefined. */
function differentJson(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return `${value}x`;
  if (Array.isArray(value)) return ['x'];
  if (typeof value === 'object' && value !== null) return { x: 1 };
  return value === undefined ? [{ gene: 'y' }] : 'x';
}

test('metadata of an import are changed by its user, and those of the server stay', async () => {
  const body = { dataset_id: fixture.datasetId, commit_mode: 'upsert', records: [{ gene: 'x' }] };
  const createdImport = await ann.post('/v2/dataset_imports', { ...body, metadata: { study: 'A', n: 1 } });
  const path = `/v2/dataset_imports/${idOf(createdImport)}`;
  const { progress, validation, receipt, changes } = createdImport.json['metadata'] as Record<string, unknown>;
  expect(changes).toEqual({ records_added: 1, records_changed: 0 });
  const serverMetadata = { progress, validation, receipt, changes };
  for (const [method, metadata, userMetadata] of [
    ['PATCH', { study: 'B' }, { study: 'B' }],
    ['PUT', { label: ['x'], more: { a: 1 } }, { label: ['x'], more: { a: 1 } }],
    // A client that saves a resource may send back the metadata of the server, possibly in an earlier state.
    ['PATCH', { ...serverMetadata, progress: { processed_records: 0 }, study: 'C' }, { study: 'C' }],
    ['PATCH', null, { study: 'C' }],
    ['PATCH', [], {}],
  ] as const) {
    const changedAnswer = await ann.call(method, path, { metadata });
    expect([changedAnswer.status, changedAnswer.json['metadata']]).toEqual([200, { ...serverMetadata, ...userMetadata }]);
    expect((await ann.get(path)).json['metadata']).toEqual({ ...serverMetadata, ...userMetadata });
    const isIgnored = metadata !== null && 'progress' in metadata;
    expect(changedAnswer.headers.get('ignored-keys')).toBe(isIgnored ? 'metadata.progress, metadata.validation, metadata.receipt, metadata.changes' : null);
  }
  expect((await ann.patch(path, { metadata: 'x' })).json).toHaveProperty('metadata');
}); // prettier-ignore

test('metadata that change while an import runs and what the server reports are both kept', async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `{"gene":"g${i}"}\n`).join('');
  const file = { vault_id: fixture.vaultId, object_type: 'file', filename: 'many.json' };
  const createdObject = await ann.post('/v2/objects', file);
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), lines);
  const body = {
    dataset_id: fixture.datasetId,
    object_id: idOf(createdObject),
    metadata: { n: -1 },
  };
  const path = `/v2/dataset_imports/${idOf(await ann.post('/v2/dataset_imports', body))}`;
  let status: unknown;
  let n = 0;
  do {
    status = (await ann.patch(path, { metadata: { n: ++n } })).json['status'];
  } while (status === 'queued' || status === 'running');
  expect((await ann.get(path)).json).toMatchObject({
    status: 'completed',
    metadata: { n, receipt: { records_stored: 20_000 }, progress: { processed_records: 20_000 } },
  });
});

test('metadata given with an import stay beside those of the server', async () => {
  const body = { dataset_id: fixture.datasetId, records: [{ gene: 'x' }] };
  const createdImport = await ann.post('/v2/dataset_imports', {
    ...body,
    metadata: { study: 'A', n: 1 },
  });
  expect(createdImport.json).toMatchObject({
    status: 'completed',
    metadata: {
      study: 'A',
      n: 1,
      progress: { processed_records: 1 },
      receipt: { records_read: 1 },
    },
  });
  const wrongBody = { ...body, records: [{ n: 'text' }], metadata: { study: 'B' } };
  const failedImport = await ann.post('/v2/dataset_imports', wrongBody);
  expect(failedImport.json).toMatchObject({ status: 'failed', metadata: { study: 'B' } });
  const takenAnswer = await ann.post('/v2/dataset_imports', { ...body, metadata: { progress: 1 } });
  expect([takenAnswer.status, Object.keys(takenAnswer.json)]).toEqual([400, ['metadata']]);
});

describe('the documents of an uploaded file are counted', () => {
  async function upload(filename: string, text: string): Promise<number> {
    const file = { vault_id: fixture.vaultId, object_type: 'file', filename };
    const createdObject = await ann.post('/v2/objects', file);
    await sendRequest('', 'PUT', String(createdObject.json['upload_url']), text);
    return idOf(createdObject);
  }
  const fetchCount = async (id: number): Promise<unknown> =>
    (await ann.get(`/v2/objects/${id}`)).json['documents_count'];

  test('by a query', async () => {
    const id = await upload('three.csv', 'gene\na\nb\nc\n');
    expect(await fetchCount(id)).toBeNull();
    const updatedBefore = (await ann.get(`/v2/objects/${id}`)).json['updated_at'];
    await ann.post(`/v2/objects/${id}/data`, { limit: 1 });
    expect(await fetchCount(id)).toBe(3);
    expect((await ann.get(`/v2/objects/${id}`)).json['updated_at']).toBe(updatedBefore);
  });

  test('by an import, each file of a manifest', async () => {
    const [firstFileId, secondFileId] = [
      await upload('1.csv', 'gene\na\n'),
      await upload('2.csv', 'gene\nb\nc\n'),
    ];
    const files = [{ object_id: firstFileId }, { object_id: secondFileId }];
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: fixture.datasetId, manifest: { files } }); // prettier-ignore
    await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect([await fetchCount(firstFileId), await fetchCount(secondFileId)]).toEqual([1, 2]);
  });

  test('by a dry run', async () => {
    const id = await upload('4.csv', 'gene\na\nb\nc\nd\n');
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: fixture.datasetId, object_id: id, dry_run: true }); // prettier-ignore
    await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect(await fetchCount(id)).toBe(4);
  });
});

test('objects inherit the metadata of their vault and folders, the nearest first', async () => {
  const vault = await ann.post('/v2/vaults', { name: 'Heirs', metadata: { study: 'V', owner: 'ann' } }); // prettier-ignore
  const place = { vault_id: idOf(vault), object_type: 'folder' };
  const a = await ann.post('/v2/objects', { ...place, filename: 'a', metadata: { study: 'A' } });
  const b = await ann.post('/v2/objects', { ...place, filename: 'b', parent_object_id: idOf(a), metadata: { run: 2 } }); // prettier-ignore
  const file = await ann.post('/v2/objects', { ...place, object_type: 'file', filename: 'f', parent_object_id: idOf(b), metadata: { own: 1 } }); // prettier-ignore
  expect(a.json['inherited_metadata']).toEqual({ study: 'V', owner: 'ann' });
  expect(b.json['inherited_metadata']).toEqual({ study: 'A', owner: 'ann' });
  expect(file.json).toMatchObject({ metadata: { own: 1 }, inherited_metadata: { study: 'A', owner: 'ann', run: 2 } }); // prettier-ignore
  await ann.patch(`/v2/objects/${idOf(a)}`, { metadata: { study: 'C' } });
  const list = listOf(await ann.get(`/v2/objects?vault_id=${idOf(vault)}`));
  const shownMetadata = list.map((view) => [view['filename'], view['inherited_metadata']]);
  expect(shownMetadata).toEqual([
    ['a', { study: 'V', owner: 'ann' }],
    ['b', { study: 'C', owner: 'ann' }],
    ['f', { study: 'C', owner: 'ann', run: 2 }],
  ]);
});

test.each(['numbers', 'texts'])('PubMed ids that are %s are detected, and found', async (kind) => {
  const createdDataset = await ann.post('/v2/datasets', { vault_id: fixture.vaultId, name: `papers ${kind}` });
  const dataset_id = idOf(createdDataset);
  const ids = [31345061, 28166811, 25741868, 29300386];
  const records = ids.map((id, n) => ({ pmid: kind === 'texts' ? String(id) : id, pmid_count: n, citations: [1, 2] }));
  const entity_params = { entity_types: ['literature'] };
  const importAnswer = await ann.post('/v2/dataset_imports', { dataset_id, records, entity_params });
  expect(importAnswer.json['status']).toBe('completed');
  const fields = listOf(await ann.get(`/v2/datasets/${dataset_id}/fields`));
  const types = new Map(fields.map((field) => [field['name'], field['entity_type']]));
  expect([types.get('pmid'), types.get('citations')]).toEqual(['literature', null]);
  const queryAnswer = await ann.post(`/v2/datasets/${dataset_id}/data`, { entities: [['literature', 'PMID: 28166811']] });
  expect([queryAnswer.status, queryAnswer.json['total']]).toEqual([200, 1]);
}); // prettier-ignore

test.each([['POST', '/v2/vault_sync_tasks']])(
  '%s %s answers 501 and says what to do instead',
  async (method, path) => {
    const { status, json } = await ann.call(method, path, {});
    expect([status, json]).toEqual([
      501,
      { detail: expect.stringMatching(/^Not available on this server: .+\. Instead, .+\.$/) },
    ]);
  },
);

test('unknown paths answer 404, and methods that a path does not have 405', async () => {
  expect((await ann.get('/v2/dataset_template')).status).toBe(404);
  expect((await ann.get('/v2/objects/7/versions/')).status).toBe(404);
  expect((await ann.post('/v2/vault_sync_tasks/', {})).status).toBe(501);
  expect((await ann.call('PATCH', '/v2/objects/7/versions', {})).status).toBe(405);
  expect((await ann.call('DELETE', '/v2/vaults', undefined)).status).toBe(405);
});
