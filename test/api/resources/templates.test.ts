import { beforeAll, describe, expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, type Client } from '../server.js';

/* Tests templates of datasets and imports (contract 13). */

const { server, ann, vaultId, runImport } = await startServerFixture({
  scheduler: { startWorker },
});
let eve: Client;
let cat: Client;

beforeAll(async () => {
  cat = await server.user('cat');
  eve = await server.user('eve', { domain: 'other' });
});

const fields = [
  { name: 'depth', data_type: 'integer', expression: 'sum(record.ad)', is_transient: true },
  { name: 'vaf', data_type: 'double', expression: 'record.ad[1] / record.depth', depends_on: ['depth'] }, // prettier-ignore
  { name: 'gene', data_type: 'string', entity_type: 'gene', title: 'Gene' },
];

async function newTemplate(more: object = {}): Promise<number> {
  const createdTemplate = await ann.post('/v2/dataset_templates', { name: 't', fields, ...more });
  expect([createdTemplate.status, createdTemplate.text]).toEqual([201, expect.any(String)]);
  return idOf(createdTemplate);
}

async function newDataset(more: object = {}): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `d${Math.random()}`, ...more })); // prettier-ignore
}

async function fetchStoredRecords(datasetId: number): Promise<unknown> {
  const body = { exclude_fields: ['_id', '_commit'] };
  return (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json['results'];
}

const records = [{ gene: 'TP53', ad: [3, 1] }];

test('the fields of a template are those of a new dataset, but for the transient ones', async () => {
  const id = await newTemplate({ fields: [{ name: 'build', expression: ['GRCh38'], is_transient: true }, ...fields] }); // prettier-ignore
  const { json } = await ann.get(`/v2/dataset_templates/${id}`);
  for (const more of [{ template_id: id }, { fields: json['fields'] }]) {
    const answer = await ann.get(`/v2/datasets/${await newDataset(more)}/fields`);
    expect(listOf(answer).map(({ name }) => name)).toEqual(['gene', 'vaf']);
  }
  const wrongAnswer = await ann.post('/v2/datasets', { vault_id: vaultId, name: 'wrong', fields: [{ name: '', is_transient: true }] }); // prettier-ignore
  expect([wrongAnswer.status, Object.keys(wrongAnswer.json)]).toEqual([400, ['fields']]);
});

describe('the resource', () => {
  test('has all keys, and changes', async () => {
    const id = await newTemplate({ description: 'd', tags: ['a', 'b'], reader_params: { delimiter: ';' } }); // prettier-ignore
    const { json } = await ann.get(`/v2/dataset_templates/${id}`);
    expect(json).toMatchObject({
      class_name: 'DatasetTemplate',
      id,
      name: 't',
      version: '',
      template_type: 'dataset',
      is_public: false,
      tags: ['a', 'b'],
      reader_params: { delimiter: ';' },
      entity_params: {},
      validation_params: {},
      annotator_params: {},
      fields: [
        { name: 'depth', is_transient: true, expression: 'sum(record.ad)' },
        { name: 'vaf', depends_on: ['depth'] },
        { name: 'gene', title: 'Gene', entity_type: 'gene' },
      ],
    });
    const changedAnswer = await ann.patch(`/v2/dataset_templates/${id}`, { name: 'u', version: '2', fields: { name: 'x' } }); // prettier-ignore
    expect(changedAnswer.json).toMatchObject({ name: 'u', version: '2', fields: [{ name: 'x' }] });
    expect((await ann.delete(`/v2/dataset_templates/${id}`)).status).toBe(200);
    expect((await ann.get(`/v2/dataset_templates/${id}`)).status).toBe(404);
  });

  test('belongs to the account, to its owner, or to everybody', async () => {
    const id = await newTemplate({ name: 'whose' });
    const path = `/v2/dataset_templates/${id}`;
    const fetchVisibility = async (client: Client): Promise<readonly unknown[]> => [
      (await client.get(path)).status,
      listOf(await client.get('/v2/dataset_templates?name=whose')).length,
    ];
    expect([await fetchVisibility(cat), await fetchVisibility(eve)]).toEqual([[200, 1], [404, 0]]); // prettier-ignore
    expect((await cat.patch(path, { name: 'mine' })).status).toBe(403);
    const ownTemplate = await ann.patch(path, { account_id: null });
    expect([ownTemplate.json['account_id'], await fetchVisibility(ann), await fetchVisibility(cat)]).toEqual([null, [200, 1], [404, 0]]); // prettier-ignore
    const publicAnswer = await ann.patch(path, { is_public: 'True' });
    expect([publicAnswer.json['is_public'], await fetchVisibility(eve)]).toEqual([true, [200, 1]]);
    expect((await eve.patch(path, { name: 'mine' })).status).toBe(403);
    expect((await ann.patch(path, { account_id: 99_999 })).status).toBe(400);
  });

  test('is listed by name, type, tags and publicity', async () => {
    const id = await newTemplate({ name: 'listed', template_type: 'search', tags: ['x1', 'x2'], is_public: true }); // prettier-ignore
    const fetchIds = async (query: string): Promise<readonly unknown[]> =>
      listOf(await ann.get(`/v2/dataset_templates?${query}`)).map((one) => one['id']);
    for (const query of [
      'name=listed',
      'template_type=search',
      'tags=x1',
      'tags=x1,x2',
      'is_public=true&name=listed',
    ])
      // prettier-ignore
      expect([query, await fetchIds(query)]).toEqual([query, [id]]);
    for (const query of ['name=listed&is_public=false', 'tags=x1,x3'])
      expect([query, await fetchIds(query)]).toEqual([query, []]);
  });

  test('has its tags trimmed, each once, and without empty ones, as vaults and objects do', async () => {
    const id = await newTemplate({ tags: [' cardio ', 'cardio', ''] });
    const path = `/v2/dataset_templates/${id}`;
    expect((await ann.get(path)).json['tags']).toEqual(['cardio']);
    const { json } = await ann.patch(path, { tags: ['kidney ', ' '] });
    expect(json['tags']).toEqual(['kidney']);
    const found = listOf(await ann.get('/v2/dataset_templates?tags=kidney'));
    expect(found.map((one) => one['id'])).toEqual([id]);
  });

  test.each<[object, string]>([
    [{ fields: [{ name: 'a', expression: '(' }] }, 'fields'],
    [{ fields: [{ name: 'a', depends_on: ['b'], expression: '1' }, { name: 'b', depends_on: ['a'], expression: '1' }] }, 'fields'],
    [{ fields: [{ data_type: 'string' }] }, 'fields'],
    [{ name: '' }, 'name'],
    [{ version: '1 0' }, 'version'],
    [{ template_type: 'odd' }, 'template_type'],
    [{ annotator_params: { post_annotation_expression: '(' } }, 'annotator_params'],
  ])('400: %j', async (body, key) => {
    const { status, json } = await ann.post('/v2/dataset_templates', { name: 't', ...body });
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  }); // prettier-ignore
});

test('of a dataset is not saved, and makes the same dataset and the same imports', async () => {
  const datasetId = await newDataset({ fields: fields.slice(1), tags: ['t'] });
  await runImport({ dataset_id: datasetId, data_records: records, target_fields: fields.slice(0, 1) }); // prettier-ignore
  for (const path of ['dataset', 'datasets']) {
    const { json } = await ann.get(`/v2/${path}/${datasetId}/template`);
    expect(json).toMatchObject({ class_name: 'DatasetTemplate', id: null, url: null, tags: ['t'] });
    for (const key of ['reader_params', 'entity_params', 'annotator_params', 'validation_params'])
      expect(json[key]).toEqual({});
    const names = (json['fields'] as { name: string }[]).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['ad', 'gene', 'vaf']);
    const savedTemplateId = idOf(
      await ann.post('/v2/dataset_templates', { ...json, name: 'copy' }),
    );
    const copyId = await newDataset({ template_id: savedTemplateId });
    await runImport({
      dataset_id: copyId,
      data_records: records,
      target_fields: fields.slice(0, 1),
    });
    expect(await fetchStoredRecords(copyId)).toEqual(await fetchStoredRecords(datasetId));
  }
  expect((await eve.get(`/v2/datasets/${datasetId}/template`)).status).toBe(404);
});

test('applies to an import where the request says nothing', async () => {
  const id = await newTemplate({ annotator_params: { post_annotation_expression: '[record, record]' } }); // prettier-ignore
  const datasetId = await newDataset();
  const json = await runImport({
    dataset_id: datasetId,
    data_records: records,
    template_id: id,
  });
  expect((json['target_fields'] as object[]).length).toBe(3);
  const row = { gene: 'TP53', ad: [3, 1], vaf: 0.25 };
  expect(await fetchStoredRecords(datasetId)).toEqual([row, row]);
  const ownDatasetId = await newDataset();
  const target_fields = [{ name: 'vaf', expression: '7', data_type: 'integer' }];
  const annotator_params = { post_annotation_expression: '' };
  await runImport({ dataset_id: ownDatasetId, data_records: records, template_id: id, target_fields, annotator_params }); // prettier-ignore
  expect(await fetchStoredRecords(ownDatasetId)).toEqual([{ gene: 'TP53', ad: [3, 1], vaf: 7 }]);
});

test('whose expression a deletion by _id would ignore is refused, unless the request has an empty one', async () => {
  const template_id = await newTemplate({ annotator_params: { post_annotation_expression: 'record' } }); // prettier-ignore
  const dataset_id = await newDataset();
  const body = { dataset_id, template_id, commit_mode: 'delete', data_records: [{ _id: 'x' }] };
  const refusedAnswer = await ann.post('/v2/dataset_imports', body);
  const message = expect.stringMatching(/^post_annotation_expression of the request or its template: Not with commit_mode delete/); // prettier-ignore
  expect([refusedAnswer.status, refusedAnswer.json]).toEqual([
    400,
    { annotator_params: [message] },
  ]);
  await runImport({ ...body, annotator_params: { post_annotation_expression: '' } });
});

test('that a user may not read is an error of the request', async () => {
  const id = await newTemplate({ account_id: null });
  const catVaultId = idOf(await cat.post('/v2/vaults', { name: 'cats' }));
  for (const template_id of [id, 999_999, 'x']) {
    const { status, json } = await cat.post('/v2/datasets', { vault_id: catVaultId, name: 'd', template_id }); // prettier-ignore
    expect([status, Object.keys(json)]).toEqual([400, ['template_id']]);
  }
});

describe('annotate()', () => {
  const evaluateExpression = async (
    expression: string,
    data: object,
    client = ann,
  ): Promise<unknown> => {
    const body = { expression, data, data_type: 'auto', is_list: false };
    const { json } = await client.post('/v1/evaluate', body);
    return 'result' in json ? json['result'] : json;
  };
  const record = { gene: 'TP53', ad: [3, 1] };

  test('runs the fields of a template on a record', async () => {
    const id = await newTemplate();
    expect(await evaluateExpression('annotate(r, id)', { r: record, id })).toEqual({ ...record, vaf: 0.25 });
    expect(await evaluateExpression('annotate(record=r, template=id)', { r: { ...record, ad: [0, 0] }, id })).toEqual({ gene: 'TP53', ad: [0, 0], vaf: null, _errors: { vaf: 'division by zero (line 1, column 14)' } });
    expect(await evaluateExpression("annotate(r, id, include_errors=False).get('_errors')", { r: { ad: [0, 0] }, id })).toBe(null);
  }); // prettier-ignore

  test('E4: has the rights of the user, and a depth', async () => {
    const id = await newTemplate({ account_id: null });
    const expectedError = { detail: `there is no template ${id} (line 1, column 1)` };
    expect(await evaluateExpression('annotate({}, id)', { id }, cat)).toEqual(expectedError);
    const loopTemplateId = await newTemplate({ fields: [{ name: 'x', expression: '1' }] });
    const expression = `str(annotate(record, ${loopTemplateId}))`;
    await ann.patch(`/v2/dataset_templates/${loopTemplateId}`, { fields: [{ name: 'x', expression }] });
    expect(JSON.stringify(await evaluateExpression(`annotate({}, ${loopTemplateId})`, {}))).toContain('more than 3 templates');
  }); // prettier-ignore

  test('works in imports', async () => {
    const id = await newTemplate();
    const datasetId = await newDataset();
    const target_fields = [{ name: 'vaf', expression: `annotate(record, ${id}).vaf`, data_type: 'double' }]; // prettier-ignore
    await runImport({ dataset_id: datasetId, data_records: records, target_fields });
    expect(await fetchStoredRecords(datasetId)).toEqual([{ gene: 'TP53', ad: [3, 1], vaf: 0.25 }]);
  });
});
