import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tableFromIPC } from 'apache-arrow';
import { datasetKeys, fieldKeys, sortedKeysOf } from '../keys.js';
import { idOf, listOf, startServer, type Answer, type Client, type TestServer } from '../server.js';

let server: TestServer;
let ann: Client;
let vaultId: number;
let datasetId: number;

const records = [
  { gene: 'TP53', n: 1, score: 0.5, tags: ['a', 'b'], info: { AF: 0.1 } },
  { gene: 'KRAS', n: 2, score: 1.5, tags: ['a'] },
  { gene: 'tp53', n: 9_007_199_254_740_993n, score: null, tags: [] },
];

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab', default_storage_class: 'Essential' }));
  datasetId = idOf(
    await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd', description: 'text' }),
  );
  const body = `{"dataset_id":"${datasetId}","data_records":${JSON.stringify(
    records,
    (_, value: unknown) => (typeof value === 'bigint' ? `#${value}#` : value),
  ).replaceAll(/"#(\d+)#"/g, '$1')}}`;
  const importAnswer = await ann.post('/v2/dataset_imports', body);
  if (importAnswer.json['status'] !== 'completed') throw new Error(importAnswer.text);
});
afterAll(() => server.close());

function postQuery(body: unknown, path = `/v2/datasets/${datasetId}/data`): Promise<Answer> {
  return ann.post(path, body);
}

describe('datasets', () => {
  test('have every key, their vault’s storage class, and the same view in list and get', async () => {
    const datasetAnswer = await ann.get(`/v2/datasets/${datasetId}`);
    expect(sortedKeysOf(datasetAnswer.json)).toEqual(datasetKeys);
    expect(datasetAnswer.json).toMatchObject({
      class_name: 'Dataset',
      name: 'd',
      description: 'text',
      documents_count: 3,
      storage_class: 'Essential',
      availability: 'available',
      vault_object_path: '/d',
      full_path: 'acme:Lab:/d',
      capacity: 'small',
    });
    expect(listOf(await ann.get(`/v2/datasets?vault_id=${vaultId}&name=D`))).toEqual([
      datasetAnswer.json,
    ]);
    for (const path of [`/v1/datasets/${datasetId}`, `/v2/dataset/${datasetId}`]) {
      expect((await ann.get(path)).json).toEqual(datasetAnswer.json);
    }
  });

  test('change by PUT and PATCH, and answer the whole resource', async () => {
    const patchAnswer = await ann.patch(`/v2/datasets/${datasetId}`, {
      metadata: { a: 1 },
      tags: 'x',
      name: 'd',
      capacity: 'small',
    });
    expect(patchAnswer.json).toMatchObject({
      metadata: { a: 1 },
      tags: ['x'],
      name: 'd',
      capacity: 'small',
    });
    const putAnswer = await ann.put(`/v2/datasets/${datasetId}`, { description: 'new' });
    expect(putAnswer.json).toMatchObject({ description: 'new', metadata: { a: 1 } });
    expect((await ann.get(`/v2/objects/${datasetId}`)).json['description']).toBe('new');
  });

  test('need a name and a vault', async () => {
    const { status, json } = await ann.post('/v2/datasets', {});
    expect([status, Object.keys(json).toSorted()]).toEqual([400, ['name', 'vault_id']]);
  });

  test('answer their deletion with the resource, and are gone with their records', async () => {
    const otherDatasetId = idOf(
      await ann.post('/v2/datasets', { vault_id: vaultId, name: 'gone' }),
    );
    await ann.post('/v2/dataset_imports', { dataset_id: otherDatasetId, records: [{ a: 1 }] });
    const deletionAnswer = await ann.delete(`/v2/datasets/${otherDatasetId}`);
    expect([deletionAnswer.status, deletionAnswer.json['id']]).toEqual([200, otherDatasetId]);
    expect((await postQuery({}, `/v2/datasets/${otherDatasetId}/data`)).status).toBe(404);
    expect((await ann.get('/v2/dataset_imports')).status).toBe(200);
    expect((await ann.get('/v2/tasks')).status).toBe(200);
  });
});

describe('queries', () => {
  test('answer the contract’s keys, the next offset, and whole numbers', async () => {
    const { status, json } = await postQuery({ limit: 2, offset: 0 });
    expect(status).toBe(200);
    expect(sortedKeysOf(json)).toEqual([
      'dataset',
      'dataset_id',
      'offset',
      'results',
      'took',
      'total',
    ]);
    expect(json).toMatchObject({ dataset: 'd', dataset_id: datasetId, total: 3, offset: 2 });
    expect(Number.isInteger(json['took'])).toBe(true);
    expect(json['results']).toHaveLength(2);
    expect((await postQuery({ limit: 2, offset: 2 })).json['offset']).toBeNull();
    expect((await postQuery({ limit: 0, facets: ['gene'] })).json).toMatchObject({
      results: [],
      total: 3,
    });
  });

  test('keep insertion order and long integers to the last digit', async () => {
    const { text } = await postQuery({ fields: ['gene', 'n'] });
    expect(text).toContain(
      '"results":[{"gene":"TP53","n":1},{"gene":"KRAS","n":2},{"gene":"tp53","n":9007199254740993}]',
    );
  });

  test('show each key of a record once, and only the fields that were asked for', async () => {
    const { text, json } = await postQuery({ limit: 1 });
    expect(text.match(/"_commit"/g)).toHaveLength(1);
    expect(text.match(/"_id"/g)).toHaveLength(1);
    const [record] = json['results'] as Record<string, unknown>[];
    expect(sortedKeysOf(record)).toEqual(['_commit', '_id', 'gene', 'info', 'n', 'score', 'tags']);
    expect((await postQuery({ limit: 1, fields: 'gene' })).json['results']).toEqual([
      { gene: 'TP53' },
    ]);
    const [remainingRecord] = (
      await postQuery({ limit: 1, exclude_fields: ['_id', '_commit', 'info'] })
    ).json['results'] as object[];
    expect(sortedKeysOf(remainingRecord)).toEqual(['gene', 'n', 'score', 'tags']);
  });

  test.each(['/data', '/query'])('are served at %s, under every spelling', async (path) => {
    for (const base of ['/v2/datasets', '/v2/dataset', '/v1/datasets']) {
      const { status, json } = await postQuery(
        { filters: [['gene', 'tp53']] },
        `${base}/${datasetId}${path}`,
      );
      expect([status, json['total']]).toEqual([200, 2]);
    }
  });

  test('take what clients send along', async () => {
    const body = {
      limit: '1',
      offset: '1',
      filters: [],
      query: null,
      entities: null,
      target_fields: null,
      debug: 'True',
      dataset_id: datasetId,
      meta: {},
      parallel: false,
      workers: 4,
      annotator_params: {},
      genome_build: null,
    };
    expect((await postQuery(body)).json).toMatchObject({ total: 3, offset: 2 });
    expect((await postQuery({ ordering: '-n', fields: 'n', limit: 1 })).text).toContain(
      '9007199254740993',
    );
  });

  test('facets come with a terms list by default', async () => {
    const { json } = await postQuery({
      limit: 0,
      facets: { gene: {}, n: { facet_type: 'count' } },
    });
    const { gene, n } = json['facets'] as Record<string, unknown>;
    expect(gene).toEqual(
      expect.arrayContaining([
        ['KRAS', 1],
        ['TP53', 1],
        ['tp53', 1],
      ]),
    );
    expect(n).toBe(3);
  });

  test.each([
    [{ filters: [['nope', 1]] }, 'filters'],
    [{ filters: 'x' }, 'filters'],
    [{ filters: [['gene__odd', 1]] }, 'filters'],
    [{ fields: ['nope'] }, 'fields'],
    [{ ordering: ['nope'] }, 'ordering'],
    [{ facets: { nope: {} } }, 'facets'],
    [{ limit: 10_001 }, 'limit'],
    [{ limit: -1 }, 'limit'],
    [{ offset: -1 }, 'offset'],
  ])('refuse %j and name %s', async (body, key) => {
    const { status, json } = await postQuery(body);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test('answer lines of JSON or CSV to those who ask for it, and refuse facets there', async () => {
    const fetchPage = (accept: string, body: object): Promise<Response> =>
      fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ann.token}`, accept },
        body: JSON.stringify(body),
      });
    const fields = ['gene', 'n', 'tags'];
    const lines = await fetchPage('application/x-ndjson', { limit: 2, fields });
    expect(lines.headers.get('content-type')).toBe('application/x-ndjson');
    expect([lines.headers.get('x-total'), lines.headers.get('x-next-offset')]).toEqual(['3', '2']);
    expect(await lines.text()).toBe(
      '{"gene":"TP53","n":1,"tags":["a","b"]}\n{"gene":"KRAS","n":2,"tags":["a"]}\n',
    );
    const table = await fetchPage('text/csv;q=0.9, application/json;q=0.1', { fields, offset: 1 });
    expect(table.headers.get('content-type')).toBe('text/csv');
    expect(table.headers.get('x-next-offset')).toBeNull();
    expect(await table.text()).toBe('gene,n,tags\r\nKRAS,2,"[""a""]"\r\ntp53,9007199254740993,[]\r\n'); // prettier-ignore
    expect(await (await fetchPage('text/csv', { fields, limit: 0 })).text()).toBe(
      'gene,n,tags\r\n',
    );
    const jsonPage = await fetchPage('application/json, text/csv', { limit: 0 });
    expect(jsonPage.headers.get('content-type')).toBe('application/json');
    const refusedAnswer = await fetchPage('text/csv', { facets: ['gene'] });
    expect([refusedAnswer.status, refusedAnswer.headers.get('content-type')]).toEqual([
      400,
      'application/json',
    ]);
    expect(await refusedAnswer.json()).toHaveProperty('facets');
  });

  test('answer an Arrow stream to those who ask for it', async () => {
    const response = await fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ann.token}`,
        accept: 'application/vnd.apache.arrow.stream',
      },
      body: JSON.stringify({ limit: 2, fields: ['gene'] }),
    });
    expect(response.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
    expect([response.headers.get('x-total'), response.headers.get('x-next-offset')]).toEqual([
      '3',
      '2',
    ]);
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
    expect(table.toArray().map((row) => (row as { gene: string }).gene)).toEqual(['TP53', 'KRAS']);
  });

  test('look up records in the order asked, without those that are not there', async () => {
    const results = (await postQuery({})).json['results'] as Record<string, unknown>[];
    const ids = results.map((record) => String(record['_id']));
    const lookupAnswer = await ann.get(`/v2/datasets/${datasetId}/data/${ids[2]},nope,${ids[0]}`);
    expect(lookupAnswer.json).toMatchObject({ total: 2, dataset_id: datasetId });
    expect(
      (lookupAnswer.json['results'] as Record<string, unknown>[]).map((record) => record['_id']),
    ).toEqual([ids[2], ids[0]]);
    expect((await ann.get(`/v2/datasets/${datasetId}/data/nope`)).json['results']).toEqual([]);
  });

  test('on an empty dataset find nothing', async () => {
    const emptyDatasetId = idOf(
      await ann.post('/v2/datasets', { vault_id: vaultId, name: 'empty' }),
    );
    const { status, json } = await postQuery({}, `/v2/datasets/${emptyDatasetId}/data`);
    expect([status, json['total'], json['results'], json['offset']]).toEqual([200, 0, [], null]);
  });

  test('stop when the client goes away (W6)', async () => {
    const controller = new AbortController();
    const pendingAnswer = fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}` },
      body: '{}',
      signal: controller.signal,
    }).catch((error: unknown) => (error as Error).name);
    controller.abort();
    expect(await pendingAnswer).toBe('AbortError');
    expect((await postQuery({})).status).toBe(200);
  });
});

describe('fields', () => {
  test('have exactly the keys that clients compare', async () => {
    const createdField = await ann.post('/v2/dataset_fields', {
      dataset_id: String(datasetId),
      name: 'extra',
    });
    expect(createdField.status).toBe(201);
    expect(sortedKeysOf(createdField.json)).toEqual(fieldKeys);
    expect(createdField.json).toMatchObject({
      class_name: 'DatasetField',
      name: 'extra',
      title: 'extra',
      description: '',
      data_type: 'auto',
      entity_type: null,
      expression: null,
      is_hidden: false,
      is_list: null,
      is_read_only: false,
      is_valid: false,
      ordering: null,
      depends_on: [],
      url_template: null,
      vault_id: vaultId,
      dataset_id: datasetId,
    });
    const fieldAnswer = await ann.get(`/v1/dataset_fields/${idOf(createdField)}`);
    expect(fieldAnswer.json).toEqual(createdField.json);
    const [listedField] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=extra`));
    expect(listedField).toEqual(createdField.json);
  });

  test('are found with their types, nested ones and _commit too', async () => {
    const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?limit=10000`));
    const types = Object.fromEntries(fields.map((field) => [field['name'], field['data_type']]));
    expect(types).toMatchObject({
      gene: 'string',
      n: 'long',
      score: 'double',
      tags: 'string',
      info: 'object',
      'info.AF': 'double',
      _commit: 'string',
    });
    expect(types).not.toHaveProperty('_id');
    expect(fields.find((field) => field['name'] === 'tags')?.['is_list']).toBe(true);
  });

  test('change what may be changed, by PUT and PATCH', async () => {
    const createdField = await ann.post('/v2/dataset_fields', {
      dataset_id: datasetId,
      name: 'change',
      entity_type: 'gene',
    });
    const path = `/v2/dataset_fields/${idOf(createdField)}`;
    const putAnswer = await ann.put(path, {
      ...createdField.json,
      title: 'T',
      description: 'D',
      is_hidden: 'TRUE',
      ordering: '3',
    });
    expect(putAnswer.json).toMatchObject({
      title: 'T',
      description: 'D',
      is_hidden: true,
      ordering: 3,
      entity_type: 'gene',
    });
    const clearedField = await ann.patch(path, {
      entity_type: null,
      url_template: 'https://x.org/?q={value}',
      ordering: null,
    });
    expect(clearedField.json).toMatchObject({
      entity_type: null,
      url_template: 'https://x.org/?q={value}',
      ordering: null,
    });
    expect((await ann.patch(path, { data_type: 'long' })).json['data_type']).toBe('long');
  });

  test('_commit is read-only, and may be sent back as it was read', async () => {
    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=_commit`));
    expect(field).toMatchObject({ title: '_commit', is_read_only: true });
    const path = `/v2/dataset_fields/${String(field!['id'])}`;
    const changes = {
      name: 'commit',
      title: 'Commit',
      description: 'D',
      data_type: 'text',
      entity_type: 'gene',
      expression: '"x"',
      is_hidden: true,
      is_list: true,
      ordering: 0,
      depends_on: ['gene'],
      url_template: 'https://x.org/?q={value}',
    };
    for (const [key, value] of Object.entries(changes)) {
      const { status, json } = await ann.patch(path, { [key]: value });
      const messages = ['The field is read-only and cannot be changed.'];
      expect([status, json]).toEqual([400, { [key]: messages }]);
    }
    const repeatAnswer = await ann.put(path, field);
    const sameField = { ...field, updated_at: expect.any(String) };
    expect([repeatAnswer.status, repeatAnswer.json]).toEqual([200, sameField]);
  });

  test.each([
    [{ data_type: 'string' }, 'data_type'],
    [{ name: 'other' }, 'name'],
    [{ data_type: 'odd' }, 'data_type'],
    [{ entity_type: 'odd' }, 'entity_type'],
    [{ url_template: 'javascript:alert({value})' }, 'url_template'],
    [{ url_template: 'data:text/html,{value}' }, 'url_template'],
    [{ is_hidden: 'maybe' }, 'is_hidden'],
    [{ ordering: 'first' }, 'ordering'],
  ])('refuse %j and name %s', async (body, key) => {
    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=n`));
    const { status, json } = await ann.patch(`/v2/dataset_fields/${String(field?.['id'])}`, body);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test.each(['', '_x', 'a__b', 'gene'])('refuse the name %j', async (name) => {
    const { status, json } = await ann.post('/v2/dataset_fields', { dataset_id: datasetId, name });
    expect([status, Object.keys(json)]).toEqual([400, ['name']]);
  });

  test('with data cannot be deleted, those of an empty dataset can', async () => {
    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=gene`));
    expect((await ann.delete(`/v2/dataset_fields/${String(field?.['id'])}`)).status).toBe(400);
    const emptyDatasetId = idOf(
      await ann.post('/v2/datasets', {
        vault_id: vaultId,
        name: 'e',
        fields: { a: { data_type: 'long' } },
      }),
    );
    const [ownField] = listOf(await ann.get(`/v2/datasets/${emptyDatasetId}/fields`));
    const path = `/v2/dataset_fields/${String(ownField?.['id'])}`;
    expect((await ann.delete(path)).json).toMatchObject({ name: 'a', data_type: 'long' });
    expect((await ann.get(path)).status).toBe(404);
  });

  test('show the facets of their values', async () => {
    const fetchFacets = async (name: string, options = ''): Promise<Answer> => {
      const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`));
      return ann.get(`/v2/dataset_fields/${String(field?.['id'])}/facets${options}`);
    };
    const terms = await fetchFacets('gene', '?limit=2');
    expect(terms.json).toMatchObject({ total: 3, facets: expect.any(Array) });
    expect(terms.json['facets']).toHaveLength(2);
    expect((await fetchFacets('score')).json['facets']).toMatchObject({
      count: 2,
      min: 0.5,
      max: 1.5,
    });
    expect((await fetchFacets('gene', '?facet_type=odd')).status).toBe(400);
  });

  test('take every option of a facet from the address', async () => {
    const fetchFacets = async (name: string, options: string): Promise<unknown> => {
      const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`));
      const path = `/v2/dataset_fields/${String(field?.['id'])}/facets?${options}`;
      return (await ann.get(path)).json;
    };
    const bins = [[0.5, 1], [1.5, 1]]; // prettier-ignore
    const facetsByOptions = {
      'facet_type=count': 2,
      'facet_type=histogram&interval=0.5': bins,
      'facet_type=histogram&scale=log&interval=1': [[0.1, 1], [1, 1]], // prettier-ignore
      'facet_type=percentiles&percents=0,100': { '0.0': 0.5, '100.0': 1.5 },
      'facet_type=percentiles&percents=0&percents=100': { '0.0': 0.5, '100.0': 1.5 },
      'facet_type=terms&limit=1': [[0.5, 1]],
      [`facet_type=histogram&interval=10&facets=${encodeURIComponent('{"score":{"facet_type":"count"}}')}`]:
        [[0, 2, { score: 2 }]], // prettier-ignore
      'facet_type=histogram&interval=1&facets=gene&facets=score': [
        [0, 1, { gene: expect.any(Array), score: expect.objectContaining({ count: 1 }) }],
        [1, 1, { gene: expect.any(Array), score: expect.objectContaining({ count: 1 }) }],
      ],
      'facet_type=stats&extended=true': expect.objectContaining({ variance: 0.25, sum: 2 }),
    };
    for (const [options, expectedFacets] of Object.entries(facetsByOptions))
      expect([options, await fetchFacets('score', options)]).toEqual([
        options,
        { facets: expectedFacets, total: 2, took: expect.any(Number) },
      ]);
    const messageByOptions = {
      'facet_type=histogram&interval=-1':
        'interval is a positive number, not "-1" (at facets.score)',
      'facet_type=percentiles&percents=x': 'Expected a number, not "x" (at facets.score)',
      'facets=gene': 'Facets nest only under terms and histogram (at facets.score)',
      'facet_type=terms&facets={': 'Unknown field: { (at facets.score.facets.{)',
    };
    for (const [options, message] of Object.entries(messageByOptions))
      expect([options, await fetchFacets('score', options)]).toEqual([
        options,
        { facets: [message] },
      ]);
  });
});
