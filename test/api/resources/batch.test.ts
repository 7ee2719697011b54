import { beforeAll, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { grantPermission, idOf, type Client } from '../server.js';

let bob: Client;
let datasetIds: readonly number[];

const { server, ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  bob = await server.user('bob');
  const createdIds: number[] = [];
  for (const [name, count] of [
    ['a', 3],
    ['b', 5],
  ] as const) {
    const id = idOf(
      await ann.post('/v2/datasets', {
        vault_id: vaultId,
        name,
        fields: [{ name: 'n', data_type: 'long' }],
      }),
    );
    const records = Array.from({ length: count }, (_, n) => ({ n, gene: n % 2 ? 'TTN' : 'BRCA1' }));
    await ann.post('/v2/dataset_imports', { dataset_id: id, data_records: records });
    createdIds.push(id);
  }
  datasetIds = createdIds;
});

test('answers the queries in their order, by id or by full path, as each query alone would', async () => {
  const [a, b] = datasetIds;
  const queries = [
    { dataset: a, limit: 1 },
    { dataset: a, fields: ['bogus'] },
    { dataset: 'acme:Lab:/b', filters: [['gene', 'ttn']], facets: ['gene'], limit: 0 },
    { dataset_id: String(b), limit: 2, offset: 3 },
    { dataset: '~/nothing' },
    { limit: 1 },
    5,
    { dataset: b, query: 'gene:(' },
  ];
  for (const path of ['/v2/batch_query', '/v1/batch_query']) {
    for (const body of [{ queries }, queries]) {
      const { status, json } = await ann.post(path, body);
      expect(status).toBe(200);
      const items = json as unknown as Record<string, unknown>[];
      expect(items.map((item) => item['status_code'])).toEqual([200, 400, 200, 200, 404, 400, 400, 400]); // prettier-ignore
      const singleAnswer = await ann.post(`/v2/datasets/${a}/data`, { limit: 1 });
      expect({ ...items[0], took: 0 }).toEqual({ ...singleAnswer.json, took: 0, status_code: 200 });
      expect(items[1]).toEqual({ status_code: 400, fields: ['Unknown field: bogus'] });
      expect(items[2]).toMatchObject({ dataset_id: b, total: 2, results: [], facets: { gene: [['TTN', 2]] } }); // prettier-ignore
      expect(items[3]).toMatchObject({ total: 5, offset: null, results: [{ n: 3 }, { n: 4 }] });
      expect(items[5]).toHaveProperty('dataset');
      expect(items[7]).toHaveProperty('query');
    }
  }
});

test('what the caller may not read is missing, for one query of many (A2)', async () => {
  const batchBody = { queries: [{ dataset: datasetIds[0] }, { dataset: 'acme:Lab:/a' }] };
  const fetchStatusCodes = async (): Promise<unknown[]> =>
    (
      (await bob.post('/v2/batch_query', batchBody)).json as unknown as Record<string, unknown>[]
    ).map((item) => item['status_code']);
  expect(await fetchStatusCodes()).toEqual([404, 404]);
  await grantPermission(server, vaultId, bob, 'read');
  expect(await fetchStatusCodes()).toEqual([200, 200]);
});

test('takes 100 queries and names the limit for more (T0: batchQueries)', async () => {
  const batchOf = (count: number): object =>
    ({ queries: Array.from({ length: count }, () => ({ dataset: datasetIds[0], limit: 0 })) }); // prettier-ignore
  const largestBatch = await ann.post('/v2/batch_query', batchOf(100));
  expect((largestBatch.json as unknown as unknown[]).length).toBe(100);
  const tooLargeBatch = await ann.post('/v2/batch_query', batchOf(101));
  expect([tooLargeBatch.status, tooLargeBatch.text]).toEqual([
    400,
    expect.stringContaining(
      'A batch takes at most 100 queries, not 101: split them over several requests.',
    ),
  ]);
  for (const body of [{}, { queries: {} }, { queries: 'x' }])
    expect((await ann.post('/v2/batch_query', body)).status).toBe(400);
});
