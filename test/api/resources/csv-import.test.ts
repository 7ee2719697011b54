import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

const { ann, vaultId, newFile } = await startServerFixture();

async function newDataset(name: string): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
}

async function importFile(datasetId: number, objectId: number, params?: object) {
  const body = { dataset_id: datasetId, object_id: objectId, reader_params: params ?? null };
  const createdImport = await ann.post('/v2/dataset_imports', body);
  expect(createdImport.status).toBe(201);
  return (await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json;
}

async function fetchRecords(
  datasetId: number,
  body: object = {},
): Promise<Record<string, unknown>[]> {
  const page = await ann.post(`/v2/datasets/${datasetId}/data`, {
    exclude_fields: ['_id', '_commit'],
    ...body,
  });
  return page.json['results'] as Record<string, unknown>[];
}

test('a gzip-compressed CSV file becomes records whose fields keep their order', async () => {
  const datasetId = await newDataset('genes');
  const text = 'symbol,start,note\nBRCA2,32315474,"two\nlines, and ""more"""\nTP53,7668402,\n';
  const endedImport = await importFile(datasetId, await newFile('genes.csv.gz', gzipSync(text)));
  expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
  expect(await fetchRecords(datasetId)).toEqual([
    { symbol: 'BRCA2', start: 32315474, note: 'two\nlines, and "more"' },
    { symbol: 'TP53', start: 7668402, note: null },
  ]);
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`)).filter(
    ({ name }) => !String(name).startsWith('_'),
  );
  expect(fields.map((field) => [field['name'], field['data_type'], field['ordering']])).toEqual([
    ['symbol', 'string', 0],
    ['start', 'double', 1],
    ['note', 'string', 2],
  ]);
  expect(await fetchRecords(datasetId, { filters: [['start__gt', 1e7]] })).toHaveLength(1);

  // In the order of the fields after a second import, the known fields precede the new ones.
  const secondFile = await newFile('more.txt', 'start;symbol;extra\n1;2;3\n');
  expect((await importFile(datasetId, secondFile, { delimiter: ';' }))['status']).toBe('completed');
  expect((await fetchRecords(datasetId)).at(-1)).toEqual({
    symbol: '2',
    start: 1,
    note: null,
    extra: 3,
  });
});

test('a large file with cells over many lines comes in whole, in its order', async () => {
  const cell = readFileSync('test/fixtures/csv/large_cells_newlines.csv', 'utf8').slice(0, 5000);
  const rows = Array.from({ length: 1500 }, (_, i) => `${i},"${cell.replaceAll('"', '""')}",${i}`);
  rows[1400] = '1400,x,text';
  const datasetId = await newDataset('large');
  const objectId = await newFile('large.csv', `n,cell,late\r\n${rows.join('\r\n')}\r\n`);
  expect((await importFile(datasetId, objectId))['error_message']).toBeNull();
  const pagedRecords = await fetchRecords(datasetId, { fields: ['n'], limit: 2000 });
  expect(pagedRecords.map(({ n }) => n)).toEqual(rows.map((_, i) => i));
  expect(await fetchRecords(datasetId, { offset: 7, limit: 1 })).toEqual([
    { n: 7, cell, late: '7' },
  ]);
  expect(await fetchRecords(datasetId, { offset: 1400, limit: 1 })).toEqual([
    { n: 1400, cell: 'x', late: 'text' },
  ]);
});

test('what is wrong is told with file and line, and wrong parameters with the request', async () => {
  const datasetId = await newDataset('odd');
  const objectId = await newFile('odd.csv', 'a,b\n1,2\n1,"2\n');
  const endedImport = await importFile(datasetId, objectId);
  expect([endedImport['status'], endedImport['error_message']]).toEqual([
    'failed',
    'odd.csv, line 3: a quote that is opened here is never closed',
  ]);
  const refusedAnswer = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: objectId,
    reader_params: { delimiter: 'too long' },
  });
  expect([refusedAnswer.status, refusedAnswer.json]).toEqual([
    400,
    { reader_params: ['delimiter: expected one character, found "too long"'] },
  ]);
  const namedImport = await importFile(datasetId, objectId, { headercols: ['x'] });
  expect(namedImport['error_message']).toContain('headercols has 1 names, the row has 2 cells');
});

async function importInto(datasetId: number, body: object): Promise<Record<string, unknown>> {
  const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, ...body });
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return json['metadata'] as Record<string, unknown>;
}

async function upsertFile(datasetId: number, text: string): Promise<unknown> {
  const object_id = await newFile('edited.csv', text);
  return (await importInto(datasetId, { object_id, commit_mode: 'upsert' }))['changes'];
}

/** Exports all records of a dataset as CSV; returns the text of the exported file. */
async function exportCsv(datasetId: number): Promise<string> {
  const createdExport = await ann.post('/v2/dataset_exports', {
    dataset_id: datasetId,
    format: 'csv',
  });
  const path = `/v2/dataset_exports/${idOf(createdExport)}`;
  await waitForJob(ann, path);
  const { json } = await ann.get(`${path}/download?redirect=`);
  return (await fetch(String(json['url']))).text();
}

/** Returns the names and types of the fields of a dataset, and its records. */
async function stateOf(datasetId: number) {
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?limit=1000`));
  return {
    fields: fields.map(({ name, data_type, is_list }) => [name, data_type, is_list]),
    records: await fetchRecords(datasetId, { limit: 1000 }),
  };
}

test('the CSV of an export, edited, changes members of objects and lists', async () => {
  const datasetId = await newDataset('members');
  const records = [
    { id: 'a', info: { AF: 0.5, DP: 10, genes: ['X', 'Y'] }, tags: [1, 2], calls: [{ GT: '0/1' }], mixed: '5' },
    { id: 'b', info: { AF: 0.25, call: { by: 'me, you' } }, tags: [], calls: [], mixed: { a: [1, 'x'] } },
    { id: 'c', info: { DP: 7 }, mixed: 5 },
  ]; // prettier-ignore
  await importInto(datasetId, { records });
  const stateBefore = await stateOf(datasetId);
  const text = await exportCsv(datasetId);
  const counts = { records_added: 0, records_changed: 3 };
  expect(await upsertFile(datasetId, text)).toMatchObject(counts);
  expect(await stateOf(datasetId)).toEqual(stateBefore);

  const editedText = text
    .replace('0.25', '0.75')
    .replace('me, you', 'them')
    .replace('""Y""', '""Z""');
  expect(await upsertFile(datasetId, editedText)).toMatchObject(counts);
  const [a, b, c] = stateBefore.records;
  expect(await stateOf(datasetId)).toEqual({
    fields: stateBefore.fields,
    records: [
      { ...a, info: { AF: 0.5, DP: 10, genes: ['X', 'Z'] } },
      { ...b, info: { AF: 0.75, call: { by: 'them' } } },
      c,
    ],
  });
  const matchingRecords = await fetchRecords(datasetId, {
    filters: [['info.AF__gte', 0.5]],
    fields: ['id'],
  });
  expect(matchingRecords).toEqual([{ id: 'a' }, { id: 'b' }]);
});

test.each([
  'vcf/spec_4.4.vcf',
  'vcf/freebayes_7_samples.vcf',
  'vcf/structural.vcf',
  'vcf/mutect2_tumour.vcf',
  'csv/tcga_test.maf',
  'csv/tcga_ov_head.maf',
])('the CSV of %s, imported into its dataset, changes nothing', async (path) => {
  const name = basename(path);
  const datasetId = await newDataset(name);
  const object_id = await newFile(name, readFileSync(`test/fixtures/${path}`));
  await importInto(datasetId, { object_id });
  const stateBefore = await stateOf(datasetId);
  expect(await upsertFile(datasetId, await exportCsv(datasetId))).toMatchObject({ records_added: 0 }); // prettier-ignore
  expect(await stateOf(datasetId)).toEqual(stateBefore);
});

test('a dotted header of a declared type fills the member that the dataset has', async () => {
  const datasetId = await newDataset('declared');
  const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ id: 'a', info: { AF: 0.5 } }] }); // prettier-ignore
  await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const laterImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: await newFile('declared.csv', 'id,info.AF\na,0.25\n'),
    commit_mode: 'upsert',
    id_fields: ['id'],
    target_fields: [{ name: 'info.AF', data_type: 'double' }],
  });
  await waitForJob(ann, `/v2/dataset_imports/${idOf(laterImport)}`);
  expect(await fetchRecords(datasetId)).toEqual([{ id: 'a', info: { AF: 0.25 } }]);
});

test('a dotted header of a declared type is a field of that type where the dataset has such a member in a list', async () => {
  const datasetId = await newDataset('declared in a list');
  await importInto(datasetId, { records: [{ id: 'a', calls: [{ GT: '0/1' }] }] });
  const object_id = await newFile('calls.csv', 'id,calls.GT\nb,1\n');
  const target_fields = [{ name: 'calls.GT', data_type: 'string' }];
  await importInto(datasetId, { object_id, target_fields });
  expect(await fetchRecords(datasetId)).toEqual([
    { id: 'a', calls: [{ GT: '0/1' }], 'calls.GT': null },
    { id: 'b', calls: null, 'calls.GT': '1' },
  ]);
});

test('a dotted header of an object of which only members are declared is a field of its own', async () => {
  const datasetId = await newDataset('declared below');
  const object_id = await newFile('below.csv', 'sub,info.sub\nx,1\ny,2\n');
  const target_fields = [{ name: 'info.sub.AF', data_type: 'double' }];
  await importInto(datasetId, { object_id, target_fields });
  const filters = [['info.sub', 2]];
  expect(await fetchRecords(datasetId)).toEqual([
    { sub: 'x', 'info.sub': 1 },
    { sub: 'y', 'info.sub': 2 },
  ]);
  expect(await fetchRecords(datasetId, { filters })).toEqual([{ sub: 'y', 'info.sub': 2 }]);
});
