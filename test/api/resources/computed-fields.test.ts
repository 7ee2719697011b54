import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { idOf, startServer, type Client, type TestServer } from '../server.js';
import { pollUntil } from '../../until.js';

/* Tests fields that a query computes for the records that it finds (contract 8.1, 19.5; threats A3, E4). */

let server: TestServer;
let ann: Client;
let datasetId: number;
let genesDatasetId: number;

const records = [
  { variant: 'v1', gene: 'BRCA1', vaf: 0.25, ad: [20, 5], info: { AF: 1, CSQ: ['stop'] } },
  { variant: 'v2', gene: 'TP53', vaf: 1, ad: [3, 9], info: { CSQ: ['missense', 'splice'] } },
  { variant: 'v3', gene: null, vaf: null, ad: [], info: null },
  { variant: 'v4', gene: 'BRCA1', vaf: 0.5, ad: [7, 7], info: { AF: 0.125 } },
];
const genes = [
  { gene: 'BRCA1', role: 'tumour suppressor' },
  { gene: 'BRCA1', role: 'repair' },
  { gene: 'TP53', role: 'tumour suppressor' },
];

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'shared' }));
  const newFilledDataset = async (
    name: string,
    rows: readonly object[],
    target_fields: readonly object[],
  ) => {
    const createdDatasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
    const body = { dataset_id: createdDatasetId, records: rows, target_fields };
    const importId = idOf(await ann.post('/v2/dataset_imports', body));
    await pollUntil(async () => (await ann.get(`/v2/dataset_imports/${importId}`)).json['status'] === 'completed'); // prettier-ignore
    return createdDatasetId;
  };
  datasetId = await newFilledDataset('cohort', records, [{ name: 'vaf', data_type: 'double' }]);
  genesDatasetId = await newFilledDataset('genes', genes, []);
});
afterAll(() => server.close());

const query = (body: object, client = ann) => client.post(`/v2/datasets/${datasetId}/data`, body);

/** Returns the records in the answer to a query. */
async function fetchResults(body: object, client = ann): Promise<readonly unknown[]> {
  const { status, json, text } = await query(body, client);
  if (status !== 200) throw new Error(text);
  return json['results'] as readonly unknown[];
}

/** Returns the values of one computed field in all records. */
async function fetchComputedValues(
  expression: string,
  more: object = {},
): Promise<readonly unknown[]> {
  const body = { fields: ['variant'], target_fields: [{ name: 'x', expression, ...more }] };
  return (await fetchResults(body)).map((record) => (record as { x: unknown }).x);
}

describe('what expressions see', () => {
  test.each<[string, object, readonly unknown[]]>([
    ['record.gene', {}, ['BRCA1', 'TP53', null, 'BRCA1']],
    ['record.info.AF if record.info else None', {}, [1, null, null, 0.125]],
    ["get(record, 'info.CSQ.0', 'none')", {}, ['stop', 'missense', 'none', 'none']],
    // A missing member of an object is None, and doubles are floats.
    ['[str(record.vaf), str(record.info and record.info.AF)]', {}, [['0.25', '1.0'], ['1.0', 'None'], ['None', 'None'], ['0.5', '0.125']]],
    ['sum(record.ad)', { data_type: 'integer' }, [25, 12, 0, 14]],
    ['record.ad', { data_type: 'string', is_list: true }, [['20', '5'], ['3', '9'], [], ['7', '7']]],
    ['len(record.items()) > 3', {}, [true, true, true, true]],
    ['source_dataset == str(id)', {}, [null, null, null, null]],
    ['value', {}, [null, null, null, null]],
    ['len(record._id) == len(record._commit)', {}, [false, false, false, false]],
    ['user()["name"]', {}, ['ann', 'ann', 'ann', 'ann']],
  ])('%s', async (expression, more, expected) => {
    expect(await fetchComputedValues(expression, more)).toEqual(expected);
  }); // prettier-ignore

  test('variables of data, and the dataset', async () => {
    const target_fields = [{ name: 'x', expression: '[source_dataset, add + 1]' }];
    const [firstResult] = await fetchResults({ limit: 1, fields: ['variant'], target_fields, annotator_params: { data: { add: 2 } } }); // prettier-ignore
    expect(firstResult).toEqual({ variant: 'v1', x: [String(datasetId), 3] });
  });

  test('results are those of annotate for the same records', async () => {
    const fields = [
      { name: 'a', expression: "record.gene + '!'", ordering: 2 },
      { name: 'b', expression: 'record.c * 2', depends_on: ['c'] },
      { name: 'c', expression: 'record.vaf + 0.5', data_type: 'double', is_transient: true },
      { name: 'gene', expression: 'value and value.lower()' },
      { name: 'constant', expression: 7 },
    ];
    const plainResults = await fetchResults({ fields: ['variant', 'gene', 'vaf'] });
    const annotateAnswer = await ann.post('/v1/annotate', { records: plainResults, fields });
    const queryResults = await fetchResults({
      fields: ['variant', 'gene', 'vaf'],
      target_fields: fields,
    });
    expect(queryResults).toEqual(annotateAnswer.json['results']);
    expect(queryResults).toHaveLength(4);
  });
});

describe('what the answer has', () => {
  const x = { name: 'x', expression: 'record.gene', data_type: 'string' };
  test.each<[object, object]>([
    [{ fields: ['variant'] }, { variant: 'v1', x: 'BRCA1' }],
    [{ fields: 'variant' }, { variant: 'v1', x: 'BRCA1' }],
    [{ fields: ['x'] }, { x: 'BRCA1' }],
    [{ fields: ['x', 'gene'] }, { gene: 'BRCA1', x: 'BRCA1' }],
    [{ fields: ['info.AF'] }, { info: { AF: 1 }, x: 'BRCA1' }],
    [{ exclude_fields: ['gene', '_id', '_commit', 'ad', 'info'] }, { variant: 'v1', vaf: 0.25, x: 'BRCA1' }],
    [{ fields: ['info.AF'], target_fields: [{ name: 'y', expression: 'record.info.CSQ[0]' }] }, { info: { AF: 1 }, y: 'stop' }],
    [{ fields: ['variant'], target_fields: [{ name: 'y', expression: 'record.info.CSQ[0]' }] }, { variant: 'v1', y: 'stop' }],
    [{ fields: ['info.AF'], target_fields: [{ name: 'y', expression: 'len(record.info)' }] }, { info: { AF: 1, CSQ: ['stop'] }, y: 2 }],
    [{ fields: [], exclude_fields: ['_id', '_commit', 'info.AF', 'vaf', 'ad', 'gene'], target_fields: [{ name: 'y', expression: 'record.info.AF' }] }, { variant: 'v1', info: { CSQ: ['stop'] }, y: 1 }],
    [{ fields: ['variant'], target_fields: [{ name: 'y', expression: '1', is_transient: true }] }, { variant: 'v1' }],
  ])('%j', async (more, expected) => {
    expect((await fetchResults({ limit: 1, target_fields: [x], ...more }))[0]).toEqual(expected);
  }); // prettier-ignore

  test('errors concern one field of one record, and may be left out', async () => {
    const target_fields = [{ name: 'x', expression: '1 / (record.ad[0] - 3)' }];
    const body = { fields: ['variant'], target_fields };
    const failedRecord = { variant: 'v2', x: null };
    expect(await fetchResults(body)).toMatchObject([
      {},
      { ...failedRecord, _errors: { x: 'division by zero (line 1, column 3)' } },
      { x: null, _errors: { x: 'list index out of range (line 1, column 15)' } },
      { x: 0.25 },
    ]);
    const quietResults = await fetchResults({
      ...body,
      annotator_params: { include_errors: false },
    });
    expect(quietResults[1]).toEqual(failedRecord);
  });

  test('explode changes the number of records, not total, offset and limit', async () => {
    const body = {
      fields: ['variant', 'info.CSQ', '_id'],
      target_fields: [{ name: 'csq', expression: "get(record, 'info.CSQ')", is_list: true }],
      annotator_params: { post_annotation_expression: "explode(record, fields=['csq'])" },
      limit: 2,
    };
    const { json } = await query(body);
    expect([json['total'], json['offset']]).toEqual([4, 2]);
    const rows = json['results'] as readonly Record<string, string>[];
    expect(rows.map(({ variant, csq }) => `${variant} ${csq}`)).toEqual(['v1 stop', 'v2 missense', 'v2 splice']); // prettier-ignore
    expect(rows[2]!['_id']).toMatch(/-1$/);
    const droppingParams = {
      pre_annotation_expression: "record if record.gene == 'BRCA1' else None",
    };
    const keptAnswer = await query({ fields: ['variant'], annotator_params: droppingParams });
    expect([keptAnswer.json['total'], keptAnswer.json['results']]).toEqual([4, [{ variant: 'v1' }, { variant: 'v4' }]]); // prettier-ignore
  });

  test('pages by cursor have the same records', async () => {
    const body = { fields: ['variant'], target_fields: [x], limit: 3 };
    const firstPage = await query({ ...body, cursor: true });
    const secondPage = await query({ ...body, cursor: firstPage.json['cursor'] });
    const bothResults = [firstPage, secondPage].flatMap(
      ({ json }) => json['results'] as readonly unknown[],
    );
    expect(bothResults).toEqual(await fetchResults({ ...body, limit: 10 }));
  });

  test('JSON lines and CSV have them too, with the number of records before expressions change it', async () => {
    const body = { fields: ['variant'], limit: 2, target_fields: [x] };
    const path = `/v2/datasets/${datasetId}/data`;
    const fetchPage = (accept: string, more: object = {}) =>
      ann.call('POST', path, JSON.stringify({ ...body, ...more }), { accept });
    const lines = await fetchPage('application/x-ndjson');
    expect(lines.text).toBe('{"variant":"v1","x":"BRCA1"}\n{"variant":"v2","x":"TP53"}\n');
    const csv = await fetchPage('text/csv', { annotator_params: { post_annotation_expression: '[record] * 2' } }); // prettier-ignore
    expect(csv.text).toBe('variant,x\r\nv1,BRCA1\r\nv1,BRCA1\r\nv2,TP53\r\nv2,TP53\r\n');
    for (const { headers } of [lines, csv])
      expect([headers.get('x-total'), headers.get('x-next-offset')]).toEqual(['4', '2']);
    const emptyPage = await fetchPage('text/csv', { filters: [['x', 'none']] });
    expect([emptyPage.text, emptyPage.headers.get('x-total')]).toEqual(['variant,x\r\n', '0']);
    for (const more of [{ facets: ['x'] }, { explain: true }]) {
      const refusedAnswer = await fetchPage('text/csv', more);
      expect([refusedAnswer.status, Object.keys(refusedAnswer.json)]).toEqual([
        400,
        Object.keys(more),
      ]);
    }
    const errorPage = await fetchPage('text/csv', {
      target_fields: [{ name: 'x', expression: '1 / len(record.ad[:1])' }], offset: 2, limit: 1,
    }); // prettier-ignore
    expect(errorPage.text).toBe(
      'variant,x,_errors.x\r\nv3,,"division by zero (line 1, column 3)"\r\n',
    );
    expect(readdirSync(server.data.fileTables).filter((name) => name.startsWith('page'))).toEqual([]); // prettier-ignore
  });

  test('a batch has them, each query its own', async () => {
    const oneQuery = { dataset: datasetId, fields: ['variant'], limit: 1 };
    const { json } = await ann.post('/v2/batch_query', { queries: [{ ...oneQuery, target_fields: [x] }, oneQuery] }); // prettier-ignore
    expect((json as unknown as readonly object[]).map((item) => (item as { results: unknown }).results)).toEqual([
      [{ variant: 'v1', x: 'BRCA1' }],
      [{ variant: 'v1' }],
    ]); // prettier-ignore
  });
});

test.each<[object, object]>([
  [{ target_fields: ['x'] }, { target_fields: ['Must be a list of objects.'] }],
  [{ target_fields: [{ expression: '1' }] }, { target_fields: [expect.stringContaining('target_fields[0].name')] }],
  [{ target_fields: [{ name: 'x', expression: '(' }] }, { target_fields: [expect.stringContaining('x: Syntax error')] }],
  [{ target_fields: [{ name: 'x', data_type: 'number' }] }, { target_fields: [expect.stringContaining('data_type')] }],
  [{ target_fields: [{ name: 'x', depends_on: ['y'] }, { name: 'y', depends_on: ['x'] }] }, { target_fields: [expect.stringContaining('circle')] }],
  [{ annotator_params: { post_annotation_expression: ')' } }, { annotator_params: [expect.stringContaining('post_annotation_expression')] }],
  [{ target_fields: [{ name: 'x', expression: '1' }], fields: ['genee'] }, { fields: [expect.stringContaining('genee')] }],
])('400: %j', async (body, json) => {
  const answer = await query(body);
  expect([answer.status, answer.json]).toEqual([400, json]);
}); // prettier-ignore

test('filters, ordering and facets see the stored values of a field that the query computes anew', async () => {
  const { status, json } = await query({
    fields: ['variant', 'gene'],
    target_fields: [{ name: 'gene', expression: "'other'", data_type: 'string' }],
    filters: [['gene', 'BRCA1']],
    ordering: ['-gene'],
    facets: { gene: {} },
  });
  expect([status, json['results'], json['facets']]).toEqual([
    200,
    [
      { variant: 'v1', gene: 'other' },
      { variant: 'v4', gene: 'other' },
    ],
    { gene: [['BRCA1', 2]] },
  ]);
});

describe('dataset functions', () => {
  /** Returns the body of the request that `Query.join` of the Python client sends (`query.py` of the client). */
  const joinBodyOf = (id: number | string) => ({
    fields: ['variant', 'gene'],
    target_fields: [
      {
        name: 'join_1',
        data_type: 'object',
        is_list: true,
        is_transient: true,
        expression: `
          dataset_query(
              "${id}",
              fields=['role', 'gene'],
              filters=[["gene", get(record, "gene")]],
              entities=None,
              limit=100000,
              ordering=None
          ) if get(record, "gene") else {}
        `,
      },
      {
        name: 'role',
        data_type: 'string',
        is_list: true,
        is_transient: false,
        expression: '[get(item, "role") for item in get(record, "join_1")]',
        depends_on: ['join_1'],
      },
    ],
    annotator_params: { post_annotation_expression: "explode(record, fields=['role'])" },
  });

  test('join two datasets', async () => {
    const suppressor = 'tumour suppressor';
    const expectedRecords = [
      { variant: 'v1', gene: 'BRCA1', role: suppressor },
      { variant: 'v1', gene: 'BRCA1', role: 'repair' },
      { variant: 'v2', gene: 'TP53', role: suppressor },
      { variant: 'v3', gene: null, role: null },
      { variant: 'v4', gene: 'BRCA1', role: suppressor },
      { variant: 'v4', gene: 'BRCA1', role: 'repair' },
    ];
    expect(await fetchResults(joinBodyOf(genesDatasetId))).toEqual(expectedRecords);
  });

  test('have the rights of the user who queries', async () => {
    const bob = await server.user('bob');
    const secretVaultId = idOf(await bob.post('/v2/vaults', { name: 'secret' }));
    const secretDatasetId = idOf(
      await bob.post('/v2/datasets', { vault_id: secretVaultId, name: 'secret' }),
    );
    const [secretRecord] = await fetchResults(joinBodyOf(secretDatasetId));
    const [missingRecord] = await fetchResults(joinBodyOf(1));
    const textWithoutId = (value: unknown): string =>
      JSON.stringify(value).replace(String(secretDatasetId), '1');
    expect(textWithoutId(secretRecord)).toContain('Dataset query failed');
    expect(textWithoutId(secretRecord)).toBe(textWithoutId(missingRecord));
  });
});
