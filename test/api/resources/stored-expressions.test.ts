import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/* Tests expressions that are stored with the fields of a dataset (specification, "Dataset field"; contract 9). */

const { ann, vaultId } = await startServerFixture();
const fields = [
  { name: 'depth', expression: 'sum(record.ad)', data_type: 'integer' },
  { name: 'vaf', expression: 'record.ad[1] / record.depth', data_type: 'double', depends_on: ['depth'] },
  { name: 'gene', expression: 'value.upper()' },
]; // prettier-ignore

async function newDataset(definitions: readonly object[]): Promise<number> {
  const body = { vault_id: vaultId, name: `d${Math.random()}`, fields: definitions };
  return idOf(await ann.post('/v2/datasets', body));
}

async function runJob(kind: 'imports' | 'migrations', body: object): Promise<void> {
  const createdJob = await ann.post(`/v2/dataset_${kind}`, body);
  const { json } = await waitForJob(ann, `/v2/dataset_${kind}/${idOf(createdJob)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
}

async function fetchStoredRecords(datasetId: number): Promise<readonly unknown[]> {
  const body = { exclude_fields: ['_id', '_commit'] };
  return (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json['results'] as unknown[];
}

const records = [{ gene: 'tp53', ad: [3, 1] }, { gene: 'brca1', ad: [0, 8] }]; // prettier-ignore
const expectedRecords = [
  { gene: 'TP53', ad: [3, 1], depth: 4, vaf: 0.25 },
  { gene: 'BRCA1', ad: [0, 8], depth: 8, vaf: 1 },
];

test('compute fields of imports and migrations into the dataset', async () => {
  const datasetId = await newDataset(fields);
  await runJob('imports', { dataset_id: datasetId, data_records: records });
  expect(await fetchStoredRecords(datasetId)).toEqual(expectedRecords);
  const sourceId = await newDataset([]);
  await runJob('imports', { dataset_id: sourceId, data_records: records });
  await runJob('migrations', { source_id: sourceId, target_id: datasetId });
  expect(await fetchStoredRecords(datasetId)).toEqual([...expectedRecords, ...expectedRecords]);
});

test('give way to those of target_fields', async () => {
  const datasetId = await newDataset(fields);
  const target_fields = [{ name: 'depth', expression: '100' }];
  await runJob('imports', {
    dataset_id: datasetId,
    data_records: records.slice(0, 1),
    target_fields,
  });
  expect(await fetchStoredRecords(datasetId)).toEqual([
    { gene: 'TP53', ad: [3, 1], depth: 100, vaf: 0.01 },
  ]);
});

test('may be set, changed and removed', async () => {
  const datasetId = await newDataset([]);
  const body = { dataset_id: datasetId, name: 'n', expression: 'len(record.gene)', data_type: 'integer' }; // prettier-ignore
  const createdField = await ann.post('/v2/dataset_fields', body);
  expect([createdField.status, createdField.json['expression']]).toEqual([201, 'len(record.gene)']);
  await ann.patch(`/v2/dataset_fields/${idOf(createdField)}`, {
    expression: 'len(record.gene) * 2',
  });
  await runJob('imports', { dataset_id: datasetId, data_records: [{ gene: 'tp53' }] });
  await ann.patch(`/v2/dataset_fields/${idOf(createdField)}`, { expression: '' });
  await runJob('imports', { dataset_id: datasetId, data_records: [{ gene: 'tp53', n: 7 }] });
  expect(await fetchStoredRecords(datasetId)).toEqual([{ gene: 'tp53', n: 8 }, { gene: 'tp53', n: 7 }]); // prettier-ignore
});

test.each<[object, string]>([
  [{ expression: 'len(' }, 'expression'],
  [{ name: 'a.b', expression: '1' }, 'expression'],
  [{ expression: 'record.one', depends_on: ['one'] }, 'depends_on'],
])('400: %j', async (more, key) => {
  const datasetId = await newDataset([{ name: 'one', expression: 'record.x', depends_on: ['x'] }]);
  const { status, json } = await ann.post('/v2/dataset_fields', { dataset_id: datasetId, name: 'x', ...more }); // prettier-ignore
  expect([status, Object.keys(json)]).toEqual([400, [key]]);
});

test('a dataset is not created with a circle', async () => {
  const circularFields = [
    { name: 'a', expression: 'record.b', depends_on: ['b'] },
    { name: 'b', expression: 'record.a', depends_on: ['a'] },
  ];
  const answer = await ann.post('/v2/datasets', { vault_id: vaultId, name: 'circle', fields: circularFields });
  expect([answer.status, answer.json]).toEqual([400, { fields: [expect.stringContaining('circle')] }]);
  expect(listOf(await ann.get('/v2/objects?filename=circle'))).toEqual([]);
}); // prettier-ignore

const labelFields = [
  { name: 'label', expression: "record.chrom + ':' + str(int(record.pos))" },
  { name: 'symbol', expression: "(record.gene or 'none').upper()" },
  { name: 'title', expression: "record.label + '!'", depends_on: ['label'] },
  { name: 'names', expression: 'value or []', is_list: true },
  { name: 'twice', expression: 'record.pos * 2', data_type: 'long' },
  { name: 'origin', expression: "'lab'" },
];
const labelRecords = [{ chrom: '1', pos: 5, gene: 'tp53', names: ['x'] }, { chrom: '2', gene: 'brca1' }, { chrom: '3', pos: 7 }]; // prettier-ignore

test.each([[{}], [{ pre_annotation_expression: 'record' }]])(
  'an upsert leaves what it gives no values for as it is (annotator_params %j)',
  async (annotator_params) => {
    const datasetId = await newDataset(labelFields);
    await runJob('imports', { dataset_id: datasetId, data_records: labelRecords });
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, {});
    const ids = (json['results'] as { _id: string }[]).map(({ _id }) => _id);
    const recordsBefore = (await fetchStoredRecords(datasetId)) as object[];
    const expectedErrors = { label: expect.any(String), title: expect.any(String), twice: expect.any(String) }; // prettier-ignore
    expect(recordsBefore).toMatchObject([{ label: '1:5', title: '1:5!', symbol: 'TP53', names: ['x'], twice: 10, _errors: null }, { label: null, symbol: 'BRCA1', _errors: expectedErrors }, { label: '3:7', symbol: 'NONE', names: [] }]); // prettier-ignore
    const upsertBody = { dataset_id: datasetId, commit_mode: 'upsert', annotator_params };
    await runJob('imports', { ...upsertBody, data_records: ids.map((_id, i) => ({ _id, note: `n${i}` })) }); // prettier-ignore
    expect(await fetchStoredRecords(datasetId)).toEqual(recordsBefore.map((one, i) => ({ ...one, note: `n${i}` }))); // prettier-ignore
    await runJob('imports', { ...upsertBody, data_records: [{ _id: ids[1], chrom: '9', pos: 1 }] }); // prettier-ignore
    await runJob('imports', { ...upsertBody, data_records: [{ _id: ids[0], gene: 'egfr' }, { chrom: 'X', pos: 8 }] }); // prettier-ignore
    expect(await fetchStoredRecords(datasetId)).toMatchObject([
      { label: '1:5', symbol: 'EGFR', title: '1:5!', twice: 10, _errors: null },
      { chrom: '9', label: '9:1', symbol: 'BRCA1', title: '9:1!', twice: 2, _errors: null },
      { label: '3:7', symbol: 'NONE', note: 'n2', _errors: null },
      { label: 'X:8', title: 'X:8!', twice: 16, origin: 'lab', _errors: null },
    ]);
  },
);

test('an upsert of a dataset into itself computes fields of all records', async () => {
  const datasetId = await newDataset([]);
  await runJob('imports', {
    dataset_id: datasetId,
    data_records: [{ i: 1, gene: 'tp53' }, { i: 2 }],
  });
  await ann.post('/v2/dataset_fields', { dataset_id: datasetId, ...labelFields[1] });
  const body = { source_id: datasetId, target_id: datasetId, commit_mode: 'upsert' };
  await runJob('migrations', body);
  expect(await fetchStoredRecords(datasetId)).toMatchObject([
    { symbol: 'TP53' },
    { symbol: 'NONE' },
  ]);
});

test('an upsert from another dataset leaves fields as they are where its records give no values for them', async () => {
  const datasetId = await newDataset(labelFields);
  await runJob('imports', { dataset_id: datasetId, data_records: labelRecords });
  const recordsBefore = (await fetchStoredRecords(datasetId)) as object[];
  const sourceId = await newDataset([]);
  const data_records = labelRecords.map(({ chrom }, i) => ({ chrom, note: `n${i}`, gene: [null, 'egfr', null][i] })); // prettier-ignore
  await runJob('imports', { dataset_id: sourceId, data_records });
  const target_fields = [{ name: 'label', expression: "'by ' + record.note" }];
  await runJob('migrations', { source_id: sourceId, target_id: datasetId, commit_mode: 'upsert', id_fields: ['chrom'], target_fields }); // prettier-ignore
  expect(await fetchStoredRecords(datasetId)).toMatchObject(recordsBefore.map((one, i) => ({ ...one, note: `n${i}`, label: `by n${i}`, title: `by n${i}!`, ...(i === 1 && { gene: 'egfr', symbol: 'EGFR', _errors: { twice: expect.any(String) } }) }))); // prettier-ignore
});

test.each([
  ['records', {}],
  ['records that expressions produce', { pre_annotation_expression: 'record' }],
])('an upsert of %s by id_fields does not take the key for a value that is given', async (_, annotator_params) => {
  const datasetId = await newDataset([
    { name: 'name', expression: "record.variant + ' ' + (record.gene or 'none')" },
    { name: 'chrom', expression: "record.variant.split('-')[0]" },
    { name: 'place', expression: "record.info.id + ' ' + (record.info.gene or 'none')" },
  ]);
  const importedRecord = { variant: '1-5-A-T', gene: 'TP53', info: { id: 'a', gene: 'TP53' } };
  await runJob('imports', { dataset_id: datasetId, data_records: [importedRecord] });
  const computedValues = { name: '1-5-A-T TP53', chrom: '1', place: 'a TP53' };
  expect(await fetchStoredRecords(datasetId)).toMatchObject([{ ...importedRecord, ...computedValues }]);
  const upsertBody = { dataset_id: datasetId, commit_mode: 'upsert', annotator_params };
  const [variant, info] = [importedRecord.variant, { id: 'a' }];
  await runJob('imports', { ...upsertBody, id_fields: ['variant'], data_records: [{ variant, note: 'x' }] });
  await runJob('imports', { ...upsertBody, id_fields: ['info.id'], data_records: [{ info, more: 'y' }] });
  expect(await fetchStoredRecords(datasetId)).toMatchObject([{ ...importedRecord, ...computedValues, note: 'x', more: 'y' }]);
  await runJob('imports', { ...upsertBody, id_fields: ['variant'], data_records: [{ variant, gene: 'EGFR' }, { variant: '2-7-C-G' }] });
  expect(await fetchStoredRecords(datasetId)).toMatchObject([{ ...computedValues, name: '1-5-A-T EGFR' }, { name: null, chrom: '2' }]);
}); // prettier-ignore
