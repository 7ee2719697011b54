import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hostileTexts } from '../../engine/query/hostile.js';
import { idOf, listOf, startServer, type Client, type TestServer } from '../server.js';

/** A selection of the hostile texts; the engine's own test uses all texts in every part of a query. */
const injectionTexts = hostileTexts.filter(
  (text, i) => i % 13 === 0 || /^(__|\W{1,2}$|_id|NaN|9)/.test(text),
);

let server: TestServer;
let ann: Client;
let datasetId: number;
let beaconSetId: number;
let beaconId: number;
let fieldIds: readonly number[];
let cursor: string;

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  const fields = [
    { name: 'gene', data_type: 'string', entity_type: 'gene' },
    { name: 'n', data_type: 'long' },
    { name: 'd', data_type: 'date' },
  ];
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'a', fields }));
  const records = Array.from({ length: 9 }, (_, n) => ({ gene: `G${n}`, n, d: '2016-05-01' }));
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, data_records: records });
  beaconSetId = idOf(await ann.post('/v2/beacon_sets', { title: 'Cohorts', description: 'all' }));
  const beacon = { beacon_set_id: beaconSetId, title: 'A', vault_object_id: datasetId };
  beaconId = idOf(await ann.post('/v2/beacons', beacon));
  fieldIds = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`)).map((view) => view['id'] as number); // prettier-ignore
  cursor = (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 2, cursor: true })).json['cursor'] as string; // prettier-ignore
});
afterAll(async () => {
  await server.close();
  expect(Object.keys(Object.prototype)).toEqual([]);
});

/** Functions that return a query with a text; together they put it into every part of a query that takes text. */
const queryMakers: readonly ((text: string) => object)[] = [
  (text) => ({ filters: [[text, text]] }),
  (text) => ({ filters: [{ [text]: [['gene', text]] }] }),
  (text) => ({ filters: [[`gene__${text}`, text]] }),
  (text) => ({ filters: [{ or: [['gene', text], ['gene__regexp', text], ['gene__prefix', text]] }] }),
  (text) => ({ query: text, fields: [text], exclude_fields: [text] }),
  (text) => ({ ordering: [text], genome_build: text }),
  (text) => ({ entities: [['gene', text], [text, text]] }),
  (text) => ({ facets: { [text]: { facet_type: text } }, limit: text }),
]; // prettier-ignore

/** Sends each hostile text, which must be refused or answered normally. */
async function askEachText(ask: (text: string) => Promise<{ status: number; text: string }>, allowed: readonly number[]): Promise<void> {
  for (const text of injectionTexts) {
    const { status, text: body } = await ask(text);
    expect([text.slice(0, 60), status, allowed.includes(status)]).toEqual([text.slice(0, 60), status, true]); // prettier-ignore
    expect(() => JSON.parse(body) as unknown).not.toThrow();
  }
} // prettier-ignore

describe('hostile texts (Q1, Q2)', () => {
  test('in a batch spoil only their own query', async () => {
    for (const text of injectionTexts) {
      const queries = [
        { dataset: text, limit: 1 },
        { dataset_id: text },
        { dataset: `acme:Lab:/${text}` },
        { dataset: datasetId, [text]: text, limit: 1 },
        ...queryMakers.map((makeQuery) => ({ dataset: datasetId, ...makeQuery(text) })),
        { dataset: datasetId, limit: 1 },
      ];
      const { status, json } = await ann.post('/v2/batch_query', { queries });
      const answers = json as unknown as readonly { status_code: number; results?: unknown[] }[];
      expect([text.slice(0, 60), status, answers.length]).toEqual([text.slice(0, 60), 200, queries.length]); // prettier-ignore
      for (const { status_code: code } of answers) expect([200, 400, 404]).toContain(code);
      expect(answers.at(-1)).toMatchObject({ status_code: 200, results: [{ gene: 'G0' }] });
    }
  });

  test('in saved queries are kept as they are, or refused with the dataset that they are for', async () => {
    for (const [turn, text] of injectionTexts.entries()) {
      for (const [i, makeQuery] of queryMakers.entries()) {
        if ((i + turn) % 3 > 0) continue;
        const params = makeQuery(text);
        const isChecked = i % 2 === 0;
        const body = { name: text || 'x', description: text, params, ...(isChecked && { dataset: datasetId }) }; // prettier-ignore
        const { status, json } = await ann.post('/v2/saved_queries', body);
        expect([text.slice(0, 60), [201, 400].includes(status)]).toEqual([text.slice(0, 60), true]);
        if (status !== 201) continue;
        // JSON.stringify shows an own key `__proto__`, which toEqual does not compare.
        expect(JSON.stringify(json['params'])).toBe(JSON.stringify(params));
        expect((await ann.delete(`/v2/saved_queries/${json['id'] as number}`)).status).toBe(200);
      }
      const listedQueries = await ann.get(`/v2/saved_queries?name=${encodeURIComponent(text.toWellFormed())}&dataset=${encodeURIComponent(text.toWellFormed())}`); // prettier-ignore
      expect([200, 400]).toContain(listedQueries.status);
    }
  });

  test('in beacon sets and beacons are titles and parameters like others', async () => {
    for (const [turn, text] of injectionTexts.entries()) {
      const createdBeaconSet = await ann.post('/v2/beacon_sets', {
        title: text,
        description: text,
      });
      expect([text.slice(0, 60), [201, 400].includes(createdBeaconSet.status)]).toEqual([text.slice(0, 60), true]); // prettier-ignore
      if (createdBeaconSet.status === 201)
        expect(createdBeaconSet.json).toMatchObject({ title: text, description: text });
      for (const [i, makeQuery] of queryMakers.entries()) {
        if ((i + turn) % 4 > 0) continue;
        const params = makeQuery(text);
        const beacon = await ann.post('/v2/beacons', { beacon_set_id: beaconSetId, title: text || 'x', vault_object_id: datasetId, params }); // prettier-ignore
        expect([201, 400]).toContain(beacon.status);
        if (beacon.status !== 201) continue;
        const path = `/v2/beacons/${idOf(beacon)}`;
        const queryAnswer = await ann.post(`${path}/query`, { query: 'G1', entity_type: 'gene' });
        expect([200, 400]).toContain(queryAnswer.status);
        expect((await ann.delete(path)).status).toBe(200);
      }
      const strangeBody = { beacon_set_id: text, title: 'x', vault_object_id: text, params: text };
      expect([400, 404]).toContain((await ann.post('/v2/beacons', strangeBody)).status);
    }
  });

  test.each(['query', 'entity_type'] as const)('as the %s of a beacon query', async (key) => {
    const bodyOf = (text: string): object =>
      key === 'query' ? { query: text, entity_type: 'gene' } : { query: 'G1', entity_type: text };
    for (const path of [`/v2/beacon_sets/${beaconSetId}/query`, `/v2/beacons/${beaconId}/query`]) {
      await askEachText(async (text) => ann.post(path, bodyOf(text)), [200, 400]);
      await askEachText(async (text) => ann.post(path, { query: [text, 'G1'] }), [200, 400]);
    }
  });

  test('as a cursor, whole or in part, are refused', async () => {
    const [payload, signature] = cursor.split('.') as [string, string?];
    const ask = (wrongCursor: string): ReturnType<Client['post']> =>
      ann.post(`/v2/datasets/${datasetId}/data`, { limit: 2, cursor: wrongCursor }); // prettier-ignore
    const beginningTexts = new Set(['', '*', 'true']);
    await askEachText(async (text) => (beginningTexts.has(text) ? ask('x') : ask(text)), [400]);
    await askEachText(async (text) => ask(`${Buffer.from(text).toString('base64url')}.${signature ?? ''}`), [400]); // prettier-ignore
    await askEachText(async (text) => ask(`${payload}.${text}`), [400]);
    expect((await ask(cursor)).status).toBe(200);
  });

  test('as options of a field’s facets', async () => {
    for (const key of ['facet_type', 'limit', 'interval', 'percents', 'extended', 'facets']) {
      for (const id of fieldIds.slice(0, 3))
        await askEachText(async (text) => ann.get(`/v2/dataset_fields/${id}/facets?${key}=${encodeURIComponent(text.toWellFormed())}`), [200, 400]); // prettier-ignore
    }
  });

  test('nothing has changed', async () => {
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { facets: ['gene'] });
    expect(json).toMatchObject({ total: 9 });
    expect(listOf(await ann.get(`/v2/datasets/${datasetId}/fields`))).toHaveLength(fieldIds.length);
  });
});
