import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { operations } from '../../../api/resources/index.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, grantPermission, idOf, listOf, type Client } from '../server.js';
import { concernsUserResource } from '../http/owned-resources.js';

let bob: Client;
let eve: Client;
let datasetId: number;
let otherDatasetId: number;
let beaconSetId: number;
let beaconIds: readonly number[];

const { server, ann, vaultId, newDataset, runImport } = await startServerFixture();
beforeAll(async () => {
  bob = await server.user('bob');
  eve = await server.user('eve', { domain: 'other' });
  const fields = [{ name: 'gene', data_type: 'string', entity_type: 'gene' }, { name: 'n', data_type: 'long' }]; // prettier-ignore
  const createdIds: number[] = [];
  for (const [name, genes] of [
    ['a', ['BRCA1', 'brca1', 'EGFR']],
    ['b', ['TTN']],
  ] as const) {
    const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, fields }));
    const records = genes.map((gene, n) => ({ gene, n, note: `about ${gene}` }));
    await ann.post('/v2/dataset_imports', { dataset_id: id, data_records: records });
    createdIds.push(id);
  }
  [datasetId, otherDatasetId] = createdIds as [number, number];
  beaconSetId = idOf(await ann.post('/v2/beacon_sets', { title: 'Cohorts', description: 'all' }));
  const bodies = [
    { title: 'A', vault_object_id: String(datasetId) },
    { title: 'B', vault_object_id: otherDatasetId, params: [['n__gte', 0]] },
    { title: 'scoped', vault_object_id: datasetId, params: { filters: [['n', 2]] } },
    { title: 'wrong', vault_object_id: datasetId, params: [['bogus', 1]] },
  ];
  const createdBeaconIds: number[] = [];
  for (const body of bodies)
    createdBeaconIds.push(
      idOf(await ann.post('/v2/beacons', { beacon_set_id: beaconSetId, ...body })),
    );
  beaconIds = createdBeaconIds;
});

describe('saved queries', () => {
  const keys = 'account_id class_name created_at dataset dataset_id description fields id is_shared name params updated_at url user user_id'; // prettier-ignore

  test('keep their parameters as they were sent, and tell the fields that they speak of', async () => {
    const params = {
      filters: [{ and: [['gene__in', ['a']], { not: ['n__gte', 1] }] }, { any: { path: 'sample', filters: [['name', 'a'], ['GT__in', []]] } }], // prettier-ignore
      ordering: ['-n'],
      facets: { gene: { facets: { 'note.x': {} } } },
      unknown: 1,
    };
    const createdSavedQuery = await ann.post('/v2/saved_queries', { name: 'q', params });
    const { json } = createdSavedQuery;
    expect(createdSavedQuery.status).toBe(201);
    const path = `/v2/saved_queries/${idOf(createdSavedQuery)}`;
    expect(Object.keys(json).toSorted().join(' ')).toBe(keys);
    expect(json).toMatchObject({ class_name: 'SavedQuery', params, fields: ['gene', 'n', 'sample.name', 'sample.GT', 'note.x'], is_shared: false, dataset: null }); // prettier-ignore
    expect((await ann.get(path)).json).toEqual(json);
    const patchAnswer = await ann.patch(path, {
      name: 'r',
      is_shared: 'true',
    });
    expect(patchAnswer.json).toMatchObject({ name: 'r', is_shared: true, params });
    const deletionAnswer = await ann.delete(path);
    expect([deletionAnswer.status, idOf(deletionAnswer)]).toEqual([200, idOf(createdSavedQuery)]);
    expect((await ann.get(path)).status).toBe(404);
  });

  test('are checked with the dataset that they are made for', async () => {
    const params = { filters: [['gene', 'x']], query: 'about' };
    const createdSavedQuery = await ann.post('/v2/saved_queries', {
      name: 'q',
      dataset: 'acme:Lab:/a',
      params,
    });
    expect(createdSavedQuery.json).toMatchObject({ dataset: datasetId, dataset_id: datasetId });
    const bogusAnswer =
      await ann.post('/v2/saved_queries', { name: 'q', dataset: datasetId, params: { fields: ['bogus'] } }); // prettier-ignore
    expect([bogusAnswer.status, JSON.stringify(bogusAnswer.json)]).toEqual(
      [400, expect.stringContaining('Unknown field: bogus')],
    ); // prettier-ignore
    expect(Object.keys(bogusAnswer.json)).toEqual(['params']);
    const commitOf = async (id: number): Promise<number> => Number(listOf(await ann.get(`/v2/datasets/${id}/commits`))[0]!['id']); // prettier-ignore
    const postWithAsOf = (as_of: unknown): ReturnType<Client['post']> => ann.post('/v2/saved_queries', { name: 'q', dataset: datasetId, params: { as_of } }); // prettier-ignore
    for (const value of ['nonsense', await commitOf(otherDatasetId)]) {
      const wrongAnswer = await postWithAsOf(value);
      expect([wrongAnswer.status, wrongAnswer.json]).toEqual(
        [400, { params: [{ as_of: [expect.stringMatching(/not "nonsense"|has no commit/)] }] }],
      ); // prettier-ignore
    }
    for (const value of [await commitOf(datasetId), '2026-03-02'])
      expect((await postWithAsOf(value)).status).toBe(201);
    const missingAnswer = await ann.post('/v2/saved_queries', {
      name: 'q',
      dataset: 'acme:Lab:/z',
    });
    expect([missingAnswer.status, Object.keys(missingAnswer.json)]).toEqual([400, ['dataset']]);
    expect((await ann.post('/v2/saved_queries', { params: 5 })).json).toMatchObject({ name: expect.anything(), params: expect.anything() }); // prettier-ignore
  });

  test('are listed by the dataset that has all their fields', async () => {
    await ann.post('/v2/saved_queries', { name: 'fits', params: { filters: [['gene', 'x']] } });
    await ann.post('/v2/saved_queries', { name: 'not', params: { fields: ['elsewhere'] } });
    const fetchNames = async (query: string): Promise<unknown[]> =>
      listOf(await ann.get(`/v2/saved_queries?${query}`)).map((view) => view['name']);
    expect(await fetchNames(`dataset_id=${datasetId}`)).toContain('fits');
    expect(await fetchNames(`dataset=acme:Lab:/a`)).not.toContain('not');
    expect(await fetchNames('name=not')).toEqual(['not']);
    expect(await fetchNames('dataset=acme:Lab:/nowhere')).toEqual([]);
    expect(await fetchNames('is_shared=true')).toEqual([]);
  });

  test('may name fields that contain the separator of actions', async () => {
    const id = await newDataset();
    const record = { a__b: [1], c__lt: 1, calls: [{ d__e: ['x'] }] };
    await runImport({ dataset_id: id, data_records: [record] });
    const filters = [['a__b', 1], ['a__b__gte', 1], ['a__b__length__lt', 2], ['c__lt__in', [1]], { any: { path: 'calls', filters: [['d__e__length', 1]] } }]; // prettier-ignore
    const { json } = await ann.post('/v2/saved_queries', {
      name: 'separated',
      params: { filters },
    });
    expect(json['fields']).toEqual(['a__b', 'c__lt', 'calls.d__e']);
    // Only with the fields of a dataset is it known that `c__lt` is no action on a field `c`.
    const wholeParams = { filters: [['c__lt', 1]] };
    expect((await ann.post('/v2/saved_queries', { name: 'whole', params: wholeParams })).json['fields']).toEqual(['c']); // prettier-ignore
    const listedNames = listOf(await ann.get(`/v2/saved_queries?dataset_id=${id}`)).map(({ name }) => name); // prettier-ignore
    expect(listedNames).toEqual(expect.arrayContaining(['separated', 'whole']));
  });
});

describe('beacons', () => {
  test('ask every dataset of a set, count, and explain what failed', async () => {
    const queryBeaconSet =
      (body: object): ReturnType<Client['post']> => ann.post(`/v2/beacon_sets/${beaconSetId}/query`, body); // prettier-ignore
    const { status, json } = await queryBeaconSet({ query: 'BRCA1', entity_type: 'gene' });
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(['query', 'entity_type', 'beacon_set', 'beacons', 'found_count', 'not_found_count', 'failed_count']); // prettier-ignore
    expect(json).toMatchObject({ query: 'BRCA1', entity_type: 'gene', found_count: 1, not_found_count: 2, failed_count: 1 }); // prettier-ignore
    expect(json['beacons']).toMatchObject([
      { title: 'A', status: 'found', total: 2, error: null },
      { title: 'B', status: 'not_found', total: 0 },
      { title: 'scoped', status: 'not_found', total: 0 },
      { title: 'wrong', status: 'failed', total: null, error: expect.stringContaining('Unknown field: bogus') }, // prettier-ignore
    ]);
    const severalValuesAnswer = await queryBeaconSet({
      query: ['brca1', 'TTN'],
      entity_type: 'gene',
    });
    expect(severalValuesAnswer.json).toMatchObject({ found_count: 2, query: ['brca1', 'TTN'] });
    const sampleAnswer = await queryBeaconSet({ query: 'S1', entity_type: 'sample' });
    expect(sampleAnswer.json).toMatchObject({ found_count: 0, failed_count: 4 });
  });

  test('search all text without an entity type', async () => {
    const fetchTotal = async (query: unknown): Promise<unknown> =>
      (await ann.post(`/v2/beacons/${beaconIds[0]}/query`, { query })).json['total'];
    expect(await fetchTotal('egfr')).toBe(1);
    expect(await fetchTotal('about BRCA1')).toBe(3);
    expect(await fetchTotal(['about egfr', 'about brca1'])).toBe(3);
    expect(await fetchTotal('gene:(brca1 -egfr)')).toBe(2);
    // Genomic coordinates are recognized as an entity without `entity_type`, and this dataset has no field of that type.
    const placeAnswer = await ann.post(`/v2/beacons/${beaconIds[0]}/query`, { query: '13:32315086-32400268' }); // prettier-ignore
    expect(placeAnswer.json).toMatchObject({
      detail: expect.stringContaining('genomic_coordinates'),
    });
  });

  test('answer one by one with the first records, and a failure as an error', async () => {
    const { json } = await ann.post(`/v2/beacons/${beaconIds[2]}/query`, { query: 'EGFR', entity_type: 'gene' }); // prettier-ignore
    expect(json).toMatchObject({ title: 'scoped', status: 'found', total: 1, query: 'EGFR', results: [{ gene: 'EGFR', n: 2 }] }); // prettier-ignore
    const wrongAnswer = await ann.post(`/v2/beacons/${beaconIds[3]}/query`, { query: 'EGFR' });
    expect([wrongAnswer.status, Object.keys(wrongAnswer.json)]).toEqual([400, ['detail']]);
    for (const body of [{}, { query: '' }, { query: [] }, { query: [5, {}] }])
      expect((await ann.post(`/v2/beacons/${beaconIds[0]}/query`, body)).json).toHaveProperty(
        'query',
      );
    expect((await ann.post(`/v2/beacons/${beaconIds[0]}/query`, { query: 'x', entity_type: 'y' })).status).toBe(400); // prettier-ignore
  });

  test('need an own set and a dataset', async () => {
    const beacon = { beacon_set_id: beaconSetId, title: 'x', vault_object_id: datasetId };
    const postBeacon = async (client: Client, body: object): Promise<unknown> => {
      const { status, json } = await client.post('/v2/beacons', { ...beacon, ...body });
      return [status, Object.keys(json)];
    };
    expect(await postBeacon(ann, { beacon_set_id: 999 })).toEqual([400, ['beacon_set_id']]);
    expect(await postBeacon(bob, {})).toEqual([400, ['beacon_set_id', 'vault_object_id']]);
    expect(await postBeacon(ann, { vault_object_id: 5 })).toEqual([400, ['vault_object_id']]);
    expect(await postBeacon(ann, { params: 'x', title: '' })).toEqual([400, ['title', 'params']]);
  });

  test('are found by their set, dataset and vault', async () => {
    const countListed = async (path: string): Promise<number> => listOf(await ann.get(path)).length;
    expect(await countListed(`/v2/beacons?beacon_set_id=${beaconSetId}`)).toBe(4);
    expect(await countListed(`/v2/beacons?vault_object_id=${otherDatasetId}`)).toBe(1);
    expect(await countListed(`/v2/beacons?vault_id=${vaultId}`)).toBe(4);
    expect(await countListed(`/v2/beacons?vault_id=99`)).toBe(0);
    expect(await countListed(`/v2/beacon_sets?vault_object_id=${otherDatasetId}`)).toBe(1);
    expect(await countListed(`/v2/beacon_sets?user_id=${ann.user.id}&is_shared=false`)).toBe(1);
    const { json } = await ann.get(`/v2/beacon_sets/${beaconSetId}`);
    expect(json).toMatchObject({ class_name: 'BeaconSet', beacons_count: 4, is_public: false });
    expect((await ann.get(`/v2/beacons/${beaconIds[0]}`)).json).toMatchObject({ vault_object_id: datasetId, vault_id: vaultId, params: null }); // prettier-ignore
  });
});

describe('who may do what (A2)', () => {
  const rows = (Object.entries(operations) as [string, OperationRow][]).filter(
    ([id, { paths, method }]) =>
      concernsUserResource(id) && paths[0].includes(':id') && method !== 'DELETE',
  );
  const isReadOperation = ({ method, paths }: OperationRow): boolean =>
    method === 'GET' || paths[0].endsWith('/query');

  test.each([false, true])('with is_shared %s', async (isShared) => {
    const queryId = idOf(
      await ann.post('/v2/saved_queries', { name: 'mine', is_shared: isShared }),
    );
    const account = (await ann.get('/v1/user')).json['account'] as { readonly id: number };
    const templateId = idOf(
      await ann.post('/v2/dataset_templates', {
        name: 'mine',
        account_id: isShared ? account.id : null,
      }),
    );
    await ann.patch(`/v2/beacon_sets/${beaconSetId}`, { is_shared: isShared });
    const ids: Readonly<Record<string, unknown>> = {
      saved_queries: queryId,
      dataset_templates: templateId,
      beacon_sets: beaconSetId,
      beacons: beaconIds[0],
    };
    const fillPath = (path: string): string => {
      const resource = path.split('/')[2]!;
      if (ids[resource] === undefined) throw new Error(`add an id of ${resource} to this test`);
      return path.replace(':id', String(ids[resource]));
    };
    const nobody = clientFor(server.url, ann.user, '');
    for (const [, row] of rows) {
      const [path] = row.paths;
      const statusFor = async (client: Client): Promise<number> => {
        const body =
          row.method === 'GET' ? undefined : path.endsWith('query') ? { query: 'x' } : {};
        return (await client.call(row.method, fillPath(path), body)).status;
      };
      const statusesForBob = isShared ? (isReadOperation(row) ? [200, 400] : [403]) : [404];
      expect([path, statusesForBob.includes(await statusFor(bob))]).toEqual([path, true]);
      expect([path, await statusFor(eve), await statusFor(nobody)]).toEqual([path, 404, 401]);
      expect([path, await statusFor(ann)]).toEqual([path, 200]);
    }
    const listPaths = (Object.entries(operations) as [string, OperationRow][]).flatMap(
      ([id, { paths, method }]) =>
        concernsUserResource(id) && method === 'GET' && !paths[0].includes(':') ? [paths[0]] : [],
    );
    expect(listPaths).toContain('/v2/beacons');
    for (const path of listPaths) {
      expect([path, listOf(await bob.get(path)).length > 0]).toEqual([path, isShared]);
      expect([path, listOf(await eve.get(path))]).toEqual([path, []]);
    }
    await ann.delete(`/v2/saved_queries/${queryId}`);
  });

  test('a shared beacon counts for everybody it is shared with, and shows records to those who may read its dataset', async () => {
    await ann.patch(`/v2/beacon_sets/${beaconSetId}`, { is_shared: true });
    const queryBeaconSet = async (client: Client): Promise<Record<string, unknown>> =>
      (await client.post(`/v2/beacon_sets/${beaconSetId}/query`, { query: 'TTN', entity_type: 'gene' })).json; // prettier-ignore
    const queryBeacon = async (client: Client, index: number): Promise<Record<string, unknown>> =>
      (await client.post(`/v2/beacons/${beaconIds[index]}/query`, { query: 'TTN', entity_type: 'gene' })).json; // prettier-ignore
    const counts = { found_count: 1, not_found_count: 2, failed_count: 1 };
    expect((await ann.get(`/v2/datasets/${otherDatasetId}`)).status).toBe(200);
    expect((await bob.get(`/v2/datasets/${otherDatasetId}`)).status).toBe(404);
    const answerBefore = await queryBeaconSet(bob);
    expect(answerBefore).toMatchObject(counts);
    expect(JSON.stringify(answerBefore)).not.toContain('about');
    expect(JSON.stringify(answerBefore)).not.toContain('Unknown field');
    expect(await queryBeacon(bob, 1)).toMatchObject({ status: 'found', total: 1, results: [] });
    expect(await queryBeacon(ann, 1)).toMatchObject({ total: 1, results: [{ gene: 'TTN' }] });
    expect(await queryBeacon(bob, 3)).toEqual({
      detail: 'The beacon cannot be queried; ask its owner.',
    });
    expect(await queryBeacon(eve, 1)).toEqual({ detail: 'Not found' });
    const textAnswer = await bob.post(`/v2/beacons/${beaconIds[1]}/query`, { query: 'gene:(' });
    expect([textAnswer.status, textAnswer.json]).toEqual([400, { detail: expect.stringContaining('at character 7') }]); // prettier-ignore
    await grantPermission(server, vaultId, bob, 'read');
    expect(await queryBeaconSet(bob)).toMatchObject(counts);
    expect(await queryBeacon(bob, 1)).toMatchObject({ total: 1, results: [{ gene: 'TTN' }] });
    expect(await queryBeacon(bob, 3)).toEqual({
      detail: expect.stringContaining('Unknown field: bogus'),
    });
  });

  test('a beacon counts no longer than its owner may read the dataset', async () => {
    const lentVaultId = idOf(await ann.post('/v2/vaults', { name: 'Lent' }));
    const lentDatasetId = idOf(
      await ann.post('/v2/datasets', { vault_id: lentVaultId, name: 'lent' }),
    );
    await ann.post('/v2/dataset_imports', {
      dataset_id: lentDatasetId,
      records: [{ note: 'lent' }],
    });
    const cora = await server.user('cora');
    await grantPermission(server, lentVaultId, cora, 'read');
    const setId = idOf(await cora.post('/v2/beacon_sets', { title: 'Cora', is_shared: true }));
    await cora.post('/v2/beacons', {
      beacon_set_id: setId,
      title: 'x',
      vault_object_id: lentDatasetId,
    });
    const queryBeaconSet = async (): Promise<unknown> =>
      (await bob.post(`/v2/beacon_sets/${setId}/query`, { query: 'lent' })).json;
    expect(await queryBeaconSet()).toMatchObject({ found_count: 1, failed_count: 0 });
    await server.catalog.vaultPermissions.grant(lentVaultId, { userId: cora.user.id }, null);
    expect(await queryBeaconSet()).toMatchObject({ found_count: 0, failed_count: 1 });
  });

  test('a set takes its beacons with it, and a deleted dataset leaves its beacon failing', async () => {
    const goneDatasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'gone' }));
    const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'short' }));
    const beaconId =
      idOf(await ann.post('/v2/beacons', { beacon_set_id: setId, title: 'x', vault_object_id: goneDatasetId })); // prettier-ignore
    await ann.delete(`/v2/datasets/${goneDatasetId}`);
    expect((await ann.post(`/v2/beacon_sets/${setId}/query`, { query: 'x' })).json).toMatchObject({ failed_count: 1 }); // prettier-ignore
    expect((await ann.get(`/v2/beacons/${beaconId}`)).json).toMatchObject({ vault_id: null });
    expect((await ann.delete(`/v2/beacon_sets/${setId}`)).status).toBe(200);
    expect((await ann.get(`/v2/beacons/${beaconId}`)).status).toBe(404);
  });
});
