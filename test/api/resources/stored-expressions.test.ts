import { expect, test } from '@jest/globals';
import { startServerFixture } from '../lab.js';
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
  const made = await ann.post(`/v2/dataset_${kind}`, body);
  const { json } = await waitForJob(ann, `/v2/dataset_${kind}/${idOf(made)}`);
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
  const source = await newDataset([]);
  await runJob('imports', { dataset_id: source, data_records: records });
  await runJob('migrations', { source_id: source, target_id: datasetId });
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
  const field = await ann.post('/v2/dataset_fields', body);
  expect([field.status, field.json['expression']]).toEqual([201, 'len(record.gene)']);
  await ann.patch(`/v2/dataset_fields/${idOf(field)}`, { expression: 'len(record.gene) * 2' });
  await runJob('imports', { dataset_id: datasetId, data_records: [{ gene: 'tp53' }] });
  await ann.patch(`/v2/dataset_fields/${idOf(field)}`, { expression: '' });
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
  const circle = [
    { name: 'a', expression: 'record.b', depends_on: ['b'] },
    { name: 'b', expression: 'record.a', depends_on: ['a'] },
  ];
  const answer = await ann.post('/v2/datasets', { vault_id: vaultId, name: 'circle', fields: circle });
  expect([answer.status, answer.json]).toEqual([400, { fields: [expect.stringContaining('circle')] }]);
  expect(listOf(await ann.get('/v2/objects?filename=circle'))).toEqual([]);
}); // prettier-ignore
