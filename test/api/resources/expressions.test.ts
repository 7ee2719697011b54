import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { builtinDeclarations } from '../../../engine/expression/builtins/builtin-declarations.js';
import { builtins } from '../../../engine/expression/builtins/type-declarations.js';
import { libraryFunctionByName } from '../../../engine/expression/library/library.js';
import {
  idOf,
  startServer,
  waitForJob,
  type Answer,
  type Client,
  type TestServer,
} from '../server.js';
import { pollUntil } from '../../until.js';

/* Tests expressions over HTTP (contract 19; threats E1, E4, E5, E6). */

let server: TestServer;
let ann: Client;
let datasetId: number;
const cohortPath = 'acme:shared:/cohort';

const cohortRecords = [
  { sample: 'S1', gene: 'BRCA1', effect: 'missense', vaf: 0.25, age: 54, tags: ['a', 'b'] },
  { sample: 'S1', gene: 'TP53', effect: 'stop', vaf: 0.5, age: 54, tags: [] },
  { sample: 'S2', gene: 'BRCA1', effect: 'missense', vaf: 0.75, age: 61, tags: ['b'] },
  { sample: 'S3', gene: 'EGFR', effect: null, vaf: null, age: 47, tags: ['c'] },
  { sample: 'S4', gene: 'TP53', effect: 'missense', vaf: 1, age: 61, tags: ['a', 'c'] },
  { sample: 'S4', gene: 'BRCA2', effect: 'silent', vaf: 0.125, age: 61, tags: ['a'] },
];

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'shared' }));
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'cohort' }));
  const target_fields = [
    { name: 'gene', entity_type: 'gene', data_type: 'string' },
    { name: 'sample', entity_type: 'sample', data_type: 'string' },
    { name: 'vaf', data_type: 'double' },
    { name: 'tags', data_type: 'string', is_list: true },
  ];
  const body = { dataset_id: datasetId, records: cohortRecords, target_fields };
  const importId = idOf(await ann.post('/v2/dataset_imports', body));
  await pollUntil(async () => {
    const { json } = await ann.get(`/v2/dataset_imports/${importId}`);
    return json['status'] === 'completed';
  });
});
afterAll(() => server.close());

function evaluate(expression: string, more: object = {}, client = ann): Promise<Answer> {
  return client.post('/v1/evaluate', { expression, ...more });
}

/** Returns the result of an expression, or `! ` and the detail of its error. `D` stands for the path of the dataset, `ID` for its id. */
async function evaluateOrDetail(expression: string, client = ann): Promise<unknown> {
  const { json } = await evaluate(expression, { data: { D: cohortPath, ID: datasetId } }, client);
  return 'result' in json ? json['result'] : `! ${String(json['detail'])}`;
}

const annotate = (body: object): Promise<Answer> => ann.post('/v1/annotate', body);

describe('evaluate', () => {
  test.each<[object, unknown]>([
    [{ expression: "'hello ' + my_field", data: { my_field: 'world' } }, 'hello world'],
    [{ expression: "'hello ' + my_field", fields: { my_field: 'world' } }, 'hello world'],
    [{ expression: 'x', data: { x: 1 }, fields: { x: 2 } }, '1'],
    [{ expression: 'record', data: { record: 123 }, data_type: 'integer' }, 123],
    [{ expression: '[1, 2]', data_type: 'integer' }, 1],
    [{ expression: '[1, 2]', data_type: 'integer', is_list: true }, [1, 2]],
    [{ expression: 'record.a', data: { record: { a: 1 } } }, '1'],
    [{ expression: '\n  1 +\n  2\n', data: null }, '3'],
    [{ expression: "float('inf')", data_type: 'double' }, 'Infinity'],
    [{ expression: "float('-inf')", data_type: 'double', is_list: true }, ['-Infinity']],
    [{ expression: "float('nan')", data_type: 'double' }, null],
    [{ expression: '[]' }, null],
  ])('%j', async (body, result) => {
    const answer = await ann.post('/v1/evaluate', body);
    expect([answer.status, answer.json]).toEqual([200, { result }]);
  });

  test('tells floats from ints, with all digits', async () => {
    const body = `{"expression": "[str(v) for v in x]", "data_type": "auto", "is_list": true,
      "data": {"x": [1, 1.0, 1e2, 9007199254740993, 123456789012345678901234567890]}}`;
    const answer = await ann.call('POST', '/v1/evaluate', body);
    expect(answer.json['result']).toEqual(['1', '1.0', '100.0', '9007199254740993', '123456789012345678901234567890']); // prettier-ignore
    const wholeAnswer = await evaluate('2 ** 70', { data_type: 'auto' });
    expect(wholeAnswer.text).toBe('{"result":1180591620717411303424}');
    expect((await evaluate('9 / 3', { data_type: 'auto' })).text).toBe('{"result":3.0}');
  });

  test.each<[object, object]>([
    [{ expression: '1 / 0' }, { detail: 'division by zero (line 1, column 3)' }],
    [
      { expression: '1 +' },
      { detail: expect.stringMatching(/^Syntax error: .*line 1, column/) as unknown },
    ],
    [
      { expression: "'abc'", data_type: 'integer' },
      { detail: "Invalid value for data type integer: 'abc'" },
    ],
    [{ expression: 'record' }, { detail: "name 'record' is not defined (line 1, column 1)" }],
    [
      { expression: '[a for a in [[]] if a.append(a) is None]' },
      { detail: 'Expression limit exceeded: values or calls nested too deeply' },
    ],
    [{ expression: 'len' }, { detail: expect.stringContaining('cannot be stored') as unknown }],
    [{ expression: '' }, { expression: ['This field is required.'] }],
    [{ expression: '1', data_type: 'number' }, { data_type: expect.anything() as unknown }],
    [{ expression: '1', data: [1] }, { data: ['Must be a JSON object.'] }],
    [
      { expression: "'a' * 1000001" },
      { detail: 'Expression limit exceeded: a result of more than 1 MB' },
    ],
    [
      { expression: '[dataset_count(D) for i in range(101)]', data: { D: cohortPath } },
      { detail: 'Expression limit exceeded: more than 100 dataset calls (line 1, column 2)' },
    ],
  ])('400: %j', async (body, json) => {
    const answer = await ann.post('/v1/evaluate', body);
    expect([answer.status, answer.json]).toEqual([400, json]);
  });
});

describe('annotate', () => {
  const noErrors = { records: 0, fields: 0, examples: [] };

  test('computes fields, without _errors where nothing fails', async () => {
    const fields = [{ name: 'test', expression: '"hello world"' }];
    const answer = await annotate({ records: [{ i: 1 }], fields });
    expect([answer.status, answer.json]).toEqual([
      200,
      { results: [{ i: 1, test: 'hello world' }], errors: noErrors },
    ]);
  });

  test('an error concerns one field of one record', async () => {
    const fields = [
      { name: 'q', expression: 'record.n / record.d', data_type: 'double' },
      { name: 'p', expression: 'record.n * 2', data_type: 'integer' },
    ];
    const records = [
      { n: 4, d: 0 },
      { n: 4, d: 2 },
    ];
    const wholeAnswer = await annotate({ records, fields });
    const failedRecord = { n: 4, d: 0, q: null, p: 8 };
    const computedRecord = { n: 4, d: 2, q: 2, p: 8 };
    expect(wholeAnswer.json).toEqual({
      results: [
        { ...failedRecord, _errors: { q: 'division by zero (line 1, column 10)' } },
        computedRecord,
      ],
      errors: {
        records: 1,
        fields: 1,
        examples: [{ record: 0, field: 'q', message: 'division by zero (line 1, column 10)' }],
      },
    });
    for (const more of [{ include_errors: false }, { annotator_params: { include_errors: false } }])
      expect((await annotate({ records, fields, ...more })).json['results']).toEqual([failedRecord, computedRecord]); // prettier-ignore
  });

  test('record-level expressions at the top and in annotator_params', async () => {
    const records = [{ g: ['A', 'B'], i: 1 }];
    const fields = [{ name: 'lower', expression: 'record.g.lower() + x' }];
    const preParams = { pre_annotation_expression: 'explode(record, fields=["g"])' };
    const results = [
      { g: 'A', i: 1, lower: 'a!' },
      { g: 'B', i: 1, lower: 'b!' },
    ];
    const data = { x: '!' };
    expect((await annotate({ records, fields, data, ...preParams })).json['results']).toEqual(
      results,
    );
    const paramsWithin = {
      annotator_params: { ...preParams, data, annotator: 'parallel', pool_size: 10 },
    };
    expect((await annotate({ records, fields, ...paramsWithin })).json['results']).toEqual(results);
    const postParams = { post_annotation_expression: 'None' };
    expect((await annotate({ records, fields, data, ...postParams })).json['results']).toEqual([]);
  });

  test('constants, transient fields and floats keep what they are', async () => {
    const body = `{"records": [{"a": 1.0, "b": 1}], "fields": [
      {"name": "c", "expression": [1.0, 2], "is_list": true, "is_transient": true},
      {"name": "t", "expression": "str(record.a) + str(record.b) + str(record.c)"}]}`;
    const answer = await ann.call('POST', '/v1/annotate', body);
    expect(answer.text).toContain('[{"a":1.0,"b":1,"t":"1.01[1.0, 2]"}]');
  });

  test('the left join that clients build', async () => {
    const fields = [
      {
        name: 'j',
        expression: `dataset_query('${cohortPath}', fields=['gene','age'], filters=[["gene", get(record, "gene")]],
          entities=None, limit=100000, ordering=None) if get(record, "gene") else {}`,
        data_type: 'object',
        is_list: true,
        is_transient: true,
      },
      {
        name: 'b_age',
        expression: '[get(item, "age") for item in get(record, "j")]',
        is_list: true,
        depends_on: ['j'],
      },
    ];
    const postParams = { post_annotation_expression: "explode(record, fields=['b_age'])" };
    const records = [{ gene: 'TP53' }, { gene: 'KRAS' }];
    expect((await annotate({ records, fields, ...postParams })).json['results']).toEqual([
      { gene: 'TP53', b_age: 54 },
      { gene: 'TP53', b_age: 61 },
      { gene: 'KRAS', b_age: null },
    ]);
  });

  test('D22: a value of a dataset by a field of the record', async () => {
    const expression = `dataset_field_values('${cohortPath}', 'gene', entities=[('sample', record.s)], limit=1)`;
    const fields = [{ name: 'gene', expression, data_type: 'string', is_list: false }];
    expect((await annotate({ records: [{ s: 'S3' }], fields })).json['results']).toEqual([
      { s: 'S3', gene: 'EGFR' },
    ]);
  });

  const oneRecord = { records: [{}] };
  const fieldWith = (name: string, more: object): object => ({ name, expression: '1', ...more });
  test.each<[string, object, string]>([
    ['501 records', { records: Array.from({ length: 501 }, () => ({})) }, 'records'],
    ['no records', { fields: [] }, 'records'],
    ['records that are none', { records: [1] }, 'records'],
    ['a syntax error', { ...oneRecord, fields: [fieldWith('x', { expression: '1 +' })] }, 'x'],
    ['a circle', { ...oneRecord, fields: [fieldWith('a', { depends_on: ['b'] }), fieldWith('b', { depends_on: ['a'] })] }, 'a'], // prettier-ignore
    ['a field that depends on itself', { ...oneRecord, fields: [fieldWith('a', { depends_on: ['a'] })] }, 'a'], // prettier-ignore
    [
      'an unknown type',
      { ...oneRecord, fields: [fieldWith('a', { data_type: 'number' })] },
      'fields',
    ],
    ['a field without a name', { ...oneRecord, fields: [{ expression: '1' }] }, 'fields'],
    ['1001 fields', { ...oneRecord, fields: Array.from({ length: 1001 }, () => fieldWith('a', {})) }, 'fields'], // prettier-ignore
    ['fields that are none', { ...oneRecord, fields: 'a' }, 'fields'],
    ['a syntax error before the fields', { ...oneRecord, pre_annotation_expression: '(' }, 'pre_annotation_expression'], // prettier-ignore
    ['a syntax error in annotator_params', { ...oneRecord, annotator_params: { post_annotation_expression: '(' } }, 'post_annotation_expression'], // prettier-ignore
  ])('400: %s', async (_, body, key) => {
    const answer = await annotate(body);
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
  });

  test('names misspelt keys of fields, and takes those that answers show', async () => {
    const misspeltAnswer = await annotate({
      ...oneRecord,
      fields: [{ name: 'a', expresion: '1' }],
    });
    expect([misspeltAnswer.status, misspeltAnswer.text]).toEqual([
      400,
      expect.stringContaining('expression'),
    ]);
    const strictHeaders = { prefer: 'handling=strict' };
    const fields = [
      fieldWith('a', { id: 1, title: 'A', description: '', is_hidden: false, url: 'u' }),
    ];
    const strictAnswer = await ann.call(
      'POST',
      '/v1/annotate',
      { ...oneRecord, fields },
      strictHeaders,
    );
    expect([strictAnswer.status, strictAnswer.json['results']]).toEqual([200, [{ a: 1 }]]);
  });

  test('413: a body of more than 16 MB', async () => {
    const answer = await annotate({ records: [{ a: 'a'.repeat(16_000_000) }] });
    expect(answer.status).toBe(413);
  });

  test('400: results of more than 10 MB', async () => {
    const fields = [{ name: 'x', expression: "'a' * 2000000" }];
    const answer = await annotate({ records: Array.from({ length: 6 }, () => ({})), fields });
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('results of more than 10 MB'),
    ]);
  });

  test('a chain of 1,000 fields runs in its order', async () => {
    const fields = Array.from(
      { length: 1000 },
      (_, i) =>
      fieldWith(`f${i}`, i < 999 ? { expression: `record.f${i + 1} + 1`, depends_on: [`f${i + 1}`] } : {}), // prettier-ignore
    );
    const [record] = (await annotate({ ...oneRecord, fields })).json['results'] as [{ f0: number }];
    expect(record.f0).toBe(1000);
  });
});

describe('dataset functions', () => {
  const cases = readFileSync('test/api/resources/dataset-expressions.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t') as [string, string]);

  test.each(cases)('%s', async (expression, expected) => {
    if (expected.startsWith('! ')) {
      const error = await evaluateOrDetail(expression);
      expect(error).toMatch(/^! /);
      expect(error).toContain(expected.slice(2).trim());
    } else expect(await evaluateOrDetail(`repr((${expression}))`)).toBe(expected);
  });

  test('have the rights of the caller: what they may not read is missing', async () => {
    const bob = await server.user('bob');
    for (const datasetVariable of ['D', 'ID']) {
      const datasetText = datasetVariable === 'D' ? JSON.stringify(cohortPath) : datasetId;
      const missingMessage = `! Dataset query failed: there is no dataset ${datasetText} (line 1, column 1)`;
      for (const call of [
        `dataset_count(${datasetVariable})`,
        `dataset_query(${datasetVariable})`,
        `dataset_field_values(${datasetVariable}, 'gene')`,
        `dataset_field_top_terms(${datasetVariable}, 'gene')`,
        `dataset_field_terms_count(${datasetVariable}, 'gene')`,
        `dataset_entity_top_terms(${datasetVariable}, 'gene')`,
        `dataset_field_stats(${datasetVariable}, 'age')`,
        `dataset_field_percentiles(${datasetVariable}, 'age')`,
        `prevalence(${datasetVariable}, ('gene', 'BRCA1'), 'sample')`,
      ])
        expect([call, await evaluateOrDetail(call, bob)]).toEqual([call, missingMessage]);
    }
    expect(await evaluateOrDetail("beacon('BRCA1', 'gene')['found_count']", bob)).toBe('0');
    expect(await evaluateOrDetail("beacon('BRCA1', 'gene', datasets=D)['failed_count']", bob)).toBe(
      '1',
    );
    const { json } = await evaluate('dataset_count(D)', { data: { D: cohortPath } }, bob);
    expect(JSON.stringify(json)).not.toContain('6');
  });

  test('read no more than a limit of bytes', async () => {
    const vault_id = idOf(await ann.post('/v2/vaults', { name: 'large' }));
    const dataset_id = idOf(await ann.post('/v2/datasets', { vault_id, name: 'large' }));
    const records = Array.from({ length: 700 }, () => ({ text: 'x'.repeat(30_000) }));
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id, records });
    await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect(await evaluateOrDetail(`dataset_query(${dataset_id}, limit=100000)`)).toContain(
      'the answer is larger than 16 MB: ask for fewer records or fields',
    );
  });

  test('a beacon set answers by its beacons', async () => {
    const beacon_set_id = idOf(await ann.post('/v2/beacon_sets', { title: 'set' }));
    await ann.post('/v2/beacons', { beacon_set_id, vault_object_id: datasetId, title: 'one' });
    const beaconCall = (gene: string): string =>
      `beacon('${gene}', 'gene', beacon_set=${beacon_set_id})`;
    expect(await evaluateOrDetail(`repr(${beaconCall('TP53')}['found'])`)).toBe(
      `['${cohortPath}']`,
    );
    expect(await evaluateOrDetail(`repr(${beaconCall('KRAS')}['not_found'])`)).toBe(
      `['${cohortPath}']`,
    );
    const bob = await server.user('bea');
    expect(await evaluateOrDetail(beaconCall('TP53'), bob)).toBe('! Dataset query failed: there is no such beacon set (line 1, column 1)'); // prettier-ignore
  });
});

test('the list of functions has the library and the built-in functions', async () => {
  const { json } = await ann.get('/v1/expressions/functions');
  const functionNames = (json['functions'] as { name: string }[]).map(({ name }) => name);
  expect(functionNames).toEqual([...libraryFunctionByName.keys(), ...builtinDeclarations.map(({ name }) => name)]); // prettier-ignore
  expect(builtinDeclarations.map(({ name }) => name)).toEqual([...builtins.keys()]);
});
