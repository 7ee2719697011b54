import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { startServerFixture } from '../lab.js';
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

test('a packed CSV file becomes records whose fields keep their order', async () => {
  const datasetId = await newDataset('genes');
  const text = 'symbol,start,note\nBRCA2,32315474,"two\nlines, and ""more"""\nTP53,7668402,\n';
  const done = await importFile(datasetId, await newFile('genes.csv.gz', gzipSync(text)));
  expect([done['status'], done['error_message']]).toEqual(['completed', null]);
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
  const rows = Array.from({ length: 2500 }, (_, i) => `${i},"${cell.replaceAll('"', '""')}",${i}`);
  rows[2400] = '2400,x,text';
  const datasetId = await newDataset('large');
  const objectId = await newFile('large.csv', `n,cell,late\r\n${rows.join('\r\n')}\r\n`);
  expect((await importFile(datasetId, objectId))['error_message']).toBeNull();
  const found = await fetchRecords(datasetId, { limit: 3000 });
  expect(found.map(({ n }) => n)).toEqual(rows.map((_, i) => i));
  expect(found[7]).toEqual({ n: 7, cell, late: '7' });
  expect(found[2400]).toEqual({ n: 2400, cell: 'x', late: 'text' });
});

test('what is wrong is told with file and line, and wrong parameters with the request', async () => {
  const datasetId = await newDataset('odd');
  const objectId = await newFile('odd.csv', 'a,b\n1,2\n1,"2\n');
  const done = await importFile(datasetId, objectId);
  expect([done['status'], done['error_message']]).toEqual([
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
