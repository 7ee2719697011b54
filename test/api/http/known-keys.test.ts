import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KnownKeys } from '../../../api/http/known-keys.js';
import type { OperationRow } from '../../../api/http/operation-row.js';
import type { ApiRequest } from '../../../api/http/api-request.js';
import type { NamedSchema } from '../../../api/http/json-schema.js';
import { operations, schemas } from '../../../api/resources/index.js';
import { listOf, makeVaultFixture, startServer, type Client, type VaultFixture, type TestServer } from '../server.js'; // prettier-ignore

const knownRequestKeys = new KnownKeys(operations, schemas);
const strictHeaders = { prefer: 'handling=strict' };

/** Returns the ignored keys of a request, or the messages by key if it is answered with a 400. */
function ignoredKeysOrErrors(
  id: string,
  { body, query = {}, headers = {} }: { body?: unknown; query?: object; headers?: object },
): unknown {
  try {
    return knownRequestKeys.checkRequest(id, { body, query, headers } as unknown as ApiRequest);
  } catch (error) {
    return (error as { fields: unknown }).fields;
  }
}

const operationRows = Object.values(operations);
const operationsWithBody = operationRows.filter(
  (row): row is OperationRow & { body: NamedSchema } =>
    row.body !== undefined && 'schema' in row.body,
);

/** Returns a known key of at least four characters, and a misspelling of it with two letters swapped. */
function misspellKey(knownKeys: readonly string[]): {
  readonly word: string;
  readonly meant: string;
} {
  const meant = knownKeys.find((key) => /^\w(\w)(?!\1)\w\w/.test(key))!;
  return { word: meant[0]! + meant[2]! + meant[1]! + meant.slice(3), meant };
}

describe('every operation with a body', () => {
  test.each(operationsWithBody.map((row) => [row.id, row] as const))(
    '%s refuses a misspelt key and names any other',
    (id, { body }) => {
      const { word, meant } = misspellKey(Object.keys(body.schema['properties'] as object));
      const suggestion = `Unknown key. Did you mean "${meant}"?`;
      expect(ignoredKeysOrErrors(id, { body: { [word]: 1 } })).toEqual({ [word]: [suggestion] });
      expect(ignoredKeysOrErrors(id, { body: { zzz_mine: 1 } })).toEqual(['zzz_mine']);
      expect(ignoredKeysOrErrors(id, { body: { zzz_mine: 1 }, headers: strictHeaders })).toEqual({
        zzz_mine: [expect.stringMatching(/^Unknown key\. Known keys: /)],
      });
      expect(ignoredKeysOrErrors(id, { body: body.example, headers: strictHeaders })).toEqual([]);
    },
  );
});

describe('every list', () => {
  test.each(operationRows.filter(({ answer }) => typeof answer === 'object' && 'listOf' in answer).map(({ id }) => id))(
    '%s refuses a misspelt parameter and names any other',
    (id) => {
      expect(ignoredKeysOrErrors(id, { query: { limti: '1' } })).toEqual({
        limti: ['Unknown key. Did you mean "limit"?'],
      });
      expect(ignoredKeysOrErrors(id, { query: { zzz_mine: '', access_token: 'x' } })).toEqual(['zzz_mine']);
    },
  ); // prettier-ignore
});

describe('a query', () => {
  test.each([
    ['filter', 'filters'],
    ['filters_', 'filters'],
    ['Filters', 'filters'],
    ['where', 'filters'],
    ['sort', 'ordering'],
    ['order_by', 'ordering'],
    ['orderBy', 'ordering'],
    ['select', 'fields'],
    ['field', 'fields'],
    ['offest', 'offset'],
    ['excludeFields', 'exclude_fields'],
    ['assembly', 'genome_build'],
    ['aggregations', 'facets'],
  ])('with %s is refused: %s is meant', (key, meant) => {
    const expectedErrors = { [key]: [`Unknown key. Did you mean ${JSON.stringify(meant)}?`] };
    expect(ignoredKeysOrErrors('datasets.query', { body: { [key]: [] } })).toEqual(expectedErrors);
    expect(ignoredKeysOrErrors('datasets.query', { body: { [key]: null } })).toEqual([key]);
  });
});

describe('keys that real clients send (contract 1.2)', () => {
  test.each<[string, { body?: object; query?: object }]>([
    [
      'datasets.query',
      { body: { dataset_id: 1, meta: true, parallel: false, workers: 4, all: false, page: 2 } },
    ],
    ['datasets.query', { body: { debug: 'True', target_fields: null, annotator_params: {} } }],
    ['imports.create', { body: { max_records: 5000, dataset_id: 1, records: [], sync: true } }],
    ['objects.list', { query: { follow_shortcuts: 'True', recursive: 'True', tag: 'a', q: 'b' } }],
    ['objects.create', { body: { target: null, vault_id: 1, class_name: 'Object', id: 5 } }],
    ['objects.patch', { body: { id: 5, object_type: 'file', metadata: {} } }],
    ['fields.list', { query: { all: 'FALSE', dataset_id: '5' } }],
    ['fields.patch', { body: { field_id: 5, data_type: 'auto' } }],
    ['exports.create', { body: { dataset_id: 1, format: 'json', params: null, follow: true } }],
    ['exports.patch', { body: { status: 'canceled', dataset: {}, metadata: {}, timestamps: [] } }],
    ['savedQueries.create', { body: { params: { page_size: 10, result_class: 'dict', filters: [] } } }],
    ['objects.query', { body: { output_format: 'csv', entities: [], query: null, limit: 5 } }],
  ] as [string, { body?: object; query?: object }][])('%s accepts %j', (id, request) => {
    expect(ignoredKeysOrErrors(id, request)).toEqual(expect.any(Array));
  }); // prettier-ignore
});

describe('within a body', () => {
  test.each([
    ['imports.create', { entity_params: { dissable: true } }, { entity_params: ['Unknown key entity_params.dissable. Did you mean "disable"?'] }],
    ['imports.create', { entity_params: { mine: true } }, { entity_params: ['Unknown key entity_params.mine. Known keys: disable, entity_types, sample_rate, sample_count, apply_detection.'] }],
    ['imports.create', { validation_params: { strict: true } }, { validation_params: [expect.stringContaining('Unknown key validation_params.strict')] }],
    ['imports.create', { target_fields: [{ name: 'a' }, { name: 'b', dataType: 'long' }] }, { target_fields: ['Unknown key target_fields[1].dataType. Did you mean "data_type"?'] }],
    ['imports.create', { target_fields: { b: { type: 'long' } } }, { target_fields: ['Unknown key target_fields.b.type. Did you mean "data_type"?'] }],
    ['imports.create', { manifest: { files: [{ url: 'x', validation_params: { mine: 1 } }] } }, { manifest: [expect.stringContaining('manifest.files[0].validation_params.mine')] }],
    ['imports.create', { manifest: { files: [{ filename: 'x' }] } }, ['manifest.files[0].filename']],
    ['exports.create', { params: { filter: [] } }, { params: ['Unknown key params.filter. Did you mean "filters"?'] }],
    ['savedQueries.create', { params: { filter: [] } }, { params: ['Unknown key params.filter. Did you mean "filters"?'] }],
    ['beacons.create', { params: { filter: [] } }, { params: ['Unknown key params.filter. Did you mean "filters"?'] }],
    ['beacons.create', { params: [['a', 'b']] }, []],
    ['datasets.create', { fields: [{ name: 'a', id: 1, class_name: 'DatasetField' }] }, ['fields[0].id', 'fields[0].class_name']],
    ['datasets.create', { metadata: { filter: 1 }, 'a b\n,é': 1 }, ['a%20b%0A%2C%C3%A9']],
    ['imports.create', { data_records: [{ filter: 1 }] }, []],
    ['datasets.batch', { queries: [{ filter: 1 }] }, []],
  ])('%s with %j answers %j', (id, body, expected) => {
    expect(ignoredKeysOrErrors(id, { body })).toEqual(expected);
  }); // prettier-ignore

  test('a repeated key that the user cannot change is named, also with strict handling', () => {
    const body = { name: 'a', created_at: '2026-01-01', url: 'x' };
    expect(ignoredKeysOrErrors('vaults.patch', { body, headers: strictHeaders })).toEqual([
      'created_at',
      'url',
    ]);
  });
});

describe('on the wire', () => {
  let server: TestServer;
  let ann: Client;
  let fixture: VaultFixture;
  let dataPath: string;
  beforeAll(async () => {
    server = await startServer();
    ann = await server.user('ann');
    fixture = await makeVaultFixture(ann);
    dataPath = `/v2/datasets/${fixture.datasetId}/data`;
  });
  afterAll(() => server.close());

  test('names ignored keys in a header and in the debug log', async () => {
    const answer = await ann.post(`${dataPath}?mine=1`, { meta: true, workers: 4, limit: 1 });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ignored-keys')).toBe('mine, meta, workers');
    const logEntry = server.logs.map((text) => JSON.parse(text) as Record<string, unknown>).find(({ event }) => event === 'ignored keys'); // prettier-ignore
    expect(logEntry).toMatchObject({
      request: answer.headers.get('x-request-id'),
      keys: 'mine, meta, workers',
    });
    const plainAnswer = await ann.post(dataPath, { limit: 1 });
    expect(plainAnswer.headers.has('ignored-keys')).toBe(false);
    expect(plainAnswer.headers.has('preference-applied')).toBe(false);
  });

  test('refuses a misspelt key instead of answering with everything', async () => {
    const answer = await ann.post(dataPath, { filter: [['gene', 'TP53']] });
    expect([answer.status, answer.json]).toEqual([
      400,
      { filter: ['Unknown key. Did you mean "filters"?'] },
    ]);
    const list = await ann.get('/v2/objects?fullpath=nothing');
    expect([list.status, list.json]).toEqual([
      400,
      { fullpath: ['Unknown key. Did you mean "full_path"?'] },
    ]);
  });

  test('refuses every unknown key with strict handling, and says that it was applied', async () => {
    const answer = await ann.call('POST', dataPath, { meta: true }, { prefer: 'respond-async, handling=strict' }); // prettier-ignore
    expect(answer.status).toBe(400);
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect(Object.keys(answer.json)).toEqual(['meta']);
    const lenientAnswer = await ann.call(
      'POST',
      dataPath,
      { meta: true },
      { prefer: 'handling=lenient' },
    );
    expect(lenientAnswer.status).toBe(200);
  });

  test('refuses only the query of a batch that has the mistake', async () => {
    const { datasetId } = fixture;
    const queries = [
      { dataset: datasetId, filter: [] },
      { dataset: datasetId, limit: 0, mine: 1 },
      { dataset_id: datasetId, limit: 1 },
    ]; // prettier-ignore
    const answer = await ann.post('/v2/batch_query', { queries });
    expect([answer.status, answer.headers.get('ignored-keys')]).toEqual([200, 'queries[1].mine']);
    expect(answer.json).toMatchObject([
      { status_code: 400, filter: ['Unknown key. Did you mean "filters"?'] },
      { status_code: 200, total: 2 },
      { status_code: 200, total: 2 },
    ]);
  });

  test('checks permissions first', async () => {
    const eve = await server.user('eve', { domain: 'other' });
    expect((await eve.post(dataPath, { filter: [] })).status).toBe(404);
  });

  test.each([
    [{ filters: [['Gene', 'x']] }, 'filters', 'Unknown field: Gene. Did you mean "gene"? (at filters[0])'],
    [{ filters: [['gene__startswith', 'x']] }, 'filters', 'Unknown action: startswith. Did you mean "prefix"? (at filters[0])'],
    [{ filters: [['gene__eq', 'x']] }, 'filters', 'Unknown action: eq. Did you mean "exact"? (at filters[0])'],
    [{ filters: [['gene__like', 'x']] }, 'filters', 'Unknown action: like. Did you mean "contains"? (at filters[0])'],
    [{ filters: [['n__less', 1]] }, 'filters', 'Unknown action: less. Did you mean "lt"? (at filters[0])'],
    [{ filters: [['n__ne', 1]] }, 'filters', 'Unknown action: ne. Use {"not": [FIELD, VALUE]}. (at filters[0])'],
    [{ filters: [{ nto: ['n', 1] }] }, 'filters', 'Unknown boolean operator: nto (at filters[0])'],
    [{ filters: [{ must: [['n', 1]] }] }, 'filters', 'Unknown boolean operator: must. Did you mean "and"? (at filters[0])'],
    [{ ordering: ['-N'] }, 'ordering', 'Unknown field: N. Did you mean "n"?'],
    [{ fields: ['gnee'] }, 'fields', 'Unknown field: gnee. Did you mean "gene"?'],
    [{ facets: { gene: { facet_type: 'term' } } }, 'facets', 'Unknown facet_type: "term". Did you mean "terms"? (at facets.gene)'],
    [{ facets: { n: { facet_type: 'mean' } } }, 'facets', 'Unknown facet_type: "mean". Did you mean "stats"? (at facets.n)'],
    [{ facets: { gene: { size: 5 } } }, 'facets', 'Unknown facet option: size. Did you mean "limit"? (at facets.gene)'],
  ])('answers %j with a suggestion', async (body, key, message) => {
    const answer = await ann.post(dataPath, body);
    expect([answer.status, answer.json]).toEqual([400, { [key]: [message] }]);
  }); // prettier-ignore

  test('suggests a nested field by its last part', async () => {
    const records = [{ info: { CLNSIG: 'Benign' } }];
    await ann.post('/v2/dataset_imports', { dataset_id: fixture.datasetId, records });
    for (const name of ['info.clnsig', 'clnsig', 'CLNSIG']) {
      const answer = await ann.post(dataPath, { filters: [[name, 'x']] });
      expect(answer.text).toContain(String.raw`Did you mean \"info.CLNSIG\"?`);
    }
  });

  test.each([
    [{ delimeter: ';' }, 'delimeter: the reader json has no such parameter.'],
    [{ delimiter: ';' }, 'delimiter: the reader json has no such parameter. It has reader, genome_build.'],
    [{ reader: 'csv', delimeter: ';' }, 'delimeter: the reader csv has no such parameter. Did you mean "delimiter"?'],
    [{ reader: 'vcf', delimiter: ';' }, 'delimiter: the reader vcf has no such parameter.'],
    [{ reader: 'jsonl' }, 'reader: unknown reader "jsonl"'],
  ])('refuses the reader parameters %j', async (reader_params, message) => {
    const answer = await ann.post('/v2/dataset_imports', {
      dataset_id: fixture.datasetId,
      object_id: fixture.fileId,
      reader_params,
    });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ reader_params: [expect.stringContaining(message)] });
  }); // prettier-ignore

  test('refuses a reader parameter that no reader has, also for records of the request and in manifests', async () => {
    const dataset_id = fixture.datasetId;
    const inlineBody = { dataset_id, records: [{ n: 1 }], reader_params: { delimeter: ';' } };
    const generalBody = { dataset_id, manifest: { files: [{ object_id: fixture.fileId }] }, reader_params: { delimeter: ';' } }; // prettier-ignore
    const manifestBody = { dataset_id, manifest: { files: [{ object_id: fixture.fileId, reader_params: { delimeter: ';' } }] } }; // prettier-ignore
    for (const body of [inlineBody, generalBody, manifestBody]) {
      const answer = await ann.post('/v2/dataset_imports', body);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('delimeter')]);
    }
    const otherBody = { ...generalBody, reader_params: { delimiter: ';' } };
    expect((await ann.post('/v2/dataset_imports', otherBody)).status).toBe(201);
  });

  test('accepts a field as it was answered, and names the keys that it ignores', async () => {
    const [field] = listOf(await ann.get(`/v2/datasets/${fixture.datasetId}/fields?name=gene`));
    const answer = await ann.post('/v2/datasets', { vault_id: fixture.vaultId, name: 'copy', fields: [field] }); // prettier-ignore
    expect([answer.status, answer.text]).toEqual([201, answer.text]);
    expect(answer.headers.get('ignored-keys')).toContain('fields[0].class_name');
  });
});
