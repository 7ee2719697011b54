import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, sendRequest, waitForJob, type Answer } from '../server.js';

let datasetId: number;

const { server, ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  for (const from of [0, 100]) {
    const data_records = Array.from({ length: 10 }, (_, i) => ({ n: from + i, gene: i < 3 ? 'TTN' : 'CFTR' })); // prettier-ignore
    const { json } = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, data_records });
    expect(json['status']).toBe('completed');
  }
});

const queryData = (body: object): Promise<Answer> =>
  ann.post(`/v2/datasets/${datasetId}/data`, body);
const filters = [['n__gte', 100], ['gene', 'TTN']]; // prettier-ignore
const expectedNodes = [
  { path: 'filters[0]', condition: '["n__gte",100]', matches: 10, left: 10 },
  { path: 'filters[1]', condition: '["gene","TTN"]', matches: 6, left: 3 },
];

test('a query, by either address, says what each condition leaves and which segments it touches', async () => {
  const plainAnswer = await queryData({ filters, limit: 1 });
  expect(plainAnswer.json).not.toHaveProperty('explain');
  for (const path of [`/v2/datasets/${datasetId}/data`, `/v2/datasets/${datasetId}/query`]) {
    const { status, json } = await ann.post(path, { filters, limit: 1, explain: true });
    expect([path, status]).toEqual([path, 200]);
    expect({ ...json, took: plainAnswer.json['took'], explain: undefined }).toEqual(
      plainAnswer.json,
    );
    expect(json['explain']).toEqual({
      records: 20,
      nodes: expectedNodes,
      segments: {
        total: 2,
        touched: 1,
        skipped: 1,
        rows: 10,
        paths: [expect.any(String)],
        more: 0,
      },
      access: { bounds: 0, filters: 0, pages: 0, searches: 0, hashes: 0, columns: 1 },
      plan: [
        expect.objectContaining({ step: 'select', columns: ['gene', 'n'] }),
        expect.objectContaining({ step: 'read' }),
      ],
      steps: expect.objectContaining({ parse: expect.any(Number), counts: expect.any(Number) }),
    });
  }
});

test('an empty answer has its likely causes, among them the gene table’s', async () => {
  const fetchCauses = async (body: object): Promise<unknown> => {
    const { status, json } = await queryData({ ...body, explain: true });
    expect([status, json['total']]).toEqual([200, 0]);
    return (json['explain'] as Record<string, unknown>)['causes'];
  };
  expect(await fetchCauses({ filters: [['gene', 'ABCC7']] })).toEqual([
    {
      path: 'filters[0]',
      condition: '["gene","ABCC7"]',
      cause: 'gene_name',
      hint: 'The records use another name of the gene: ["gene","CFTR"] has 14 records.',
      instead: '["gene","CFTR"]',
      matches: 14,
      left: 14,
    },
  ]);
  expect(await fetchCauses({ filters: [['n', 50]] })).toMatchObject([
    { cause: 'nearest_values', values: [9, 100] },
  ]);
  expect(await fetchCauses({ query: 'gene:TTM' })).toMatchObject([
    { cause: 'similar_values', values: ['TTN'] },
  ]);
});

test('every query of a batch is explained if it asks', async () => {
  const queries = [
    { dataset: datasetId, filters, explain: true },
    { dataset: datasetId, filters },
    { dataset: datasetId, explain: 5 },
  ];
  const { json } = await ann.post('/v2/batch_query', { queries });
  expect(json).toMatchObject([
    { status_code: 200, total: 3, explain: { nodes: expectedNodes } },
    { status_code: 200, total: 3 },
    { status_code: 400, explain: ['Expected true or false, not 5'] },
  ]);
  expect((json as unknown as object[])[1]).not.toHaveProperty('explain');
});

test('every page of a cursor may be explained, or none', async () => {
  const firstPage = await queryData({ filters, limit: 2, cursor: true, explain: true });
  expect(firstPage.json).toMatchObject({ total: 3, explain: { nodes: expectedNodes } });
  const nextPage = await queryData({ filters, limit: 2, cursor: firstPage.json['cursor'] });
  expect(nextPage.json).toMatchObject({ total: 3, cursor: null });
  expect(nextPage.json).not.toHaveProperty('explain');
});

test('a saved query may ask for it', async () => {
  const params = { filters, explain: true };
  const createdSavedQuery = await ann.post('/v2/saved_queries', {
    name: 'why',
    params,
    dataset: datasetId,
  });
  expect(createdSavedQuery.status).toBe(201);
  expect((await queryData(createdSavedQuery.json['params'] as object)).json).toMatchObject({
    explain: { nodes: expectedNodes },
  });
  const badAnswer = await ann.post('/v2/saved_queries', { name: 'x', params: { explain: 'y' }, dataset: datasetId }); // prettier-ignore
  expect(badAnswer.json).toEqual({ params: [{ explain: ['Expected true or false, not "y"'] }] });
});

test('the query of a file is explained', async () => {
  const createdObject = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a.csv' }); // prettier-ignore
  await sendRequest(
    '',
    'PUT',
    String(createdObject.json['upload_url']),
    'gene,n\nTTN,1\nCFTR,2\nTTN,3\n',
  );
  const body = { filters: [['n__gte', 2], ['gene', 'ttn']], explain: true }; // prettier-ignore
  const { json } = await ann.post(`/v2/objects/${idOf(createdObject)}/data`, body);
  expect(json).toMatchObject({
    total: 1,
    explain: {
      records: 3,
      nodes: [
        { condition: '["n__gte",2]', matches: 2, left: 2 },
        { condition: '["gene","ttn"]', matches: 2, left: 1 },
      ],
    },
  });
  const fetchCauses = async (pair: readonly unknown[]): Promise<unknown> => {
    const answer = await ann.post(`/v2/objects/${idOf(createdObject)}/data`, { filters: [pair], explain: true }); // prettier-ignore
    return (answer.json['explain'] as Record<string, unknown>)['causes'];
  };
  expect(await fetchCauses(['n__gt', 99])).toMatchObject([
    { cause: 'out_of_range', values: [1, 3] },
  ]);
  expect(await fetchCauses(['gene__exact', 'ttn'])).toMatchObject([
    { cause: 'letter_case', instead: '["gene__iexact","ttn"]', matches: 2, values: ['TTN'] },
  ]);
  // Queries of files have no case-insensitive pattern conditions, so none is suggested.
  const [cause] = (await fetchCauses(['gene__contains', 'ftr'])) as readonly object[];
  expect(cause).toMatchObject({ cause: 'letter_case', matches: 1, values: ['CFTR'] });
  expect(cause).not.toHaveProperty('instead');
});

test('an answer in another format cannot have an explanation', async () => {
  const answer = await fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ann.token}`,
      'content-type': 'application/json',
      accept: 'text/csv',
    },
    body: JSON.stringify({ explain: true }),
  });
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { explain: ['The explanation is available in the JSON answer only, not in text/csv.'] },
  ]);
});

describe('real records, 50 of ClinVar on GRCh38', () => {
  const lines = gunzipSync(readFileSync('test/fixtures/vcf/clinvar_grch38.vcf.gz'))
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const countLines = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length;
  let clinvarId: number;
  beforeAll(async () => {
    clinvarId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'clinvar' }));
    const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'clinvar.vcf.gz' }); // prettier-ignore
    await sendRequest('', 'PUT', String(file.json['upload_url']), readFileSync('test/fixtures/vcf/clinvar_grch38.vcf.gz')); // prettier-ignore
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: clinvarId, object_id: idOf(file) }); // prettier-ignore
    const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect(json).toMatchObject({ status: 'completed', error_message: null });
  });
  const explain = async (body: object): Promise<Record<string, unknown>> => {
    const { json } = await ann.post(`/v2/datasets/${clinvarId}/data`, { ...body, explain: true });
    return json['explain'] as Record<string, unknown>;
  };

  test('what conditions leave is what a search through the lines of the file finds', async () => {
    const { nodes } = await explain({
      filters: [['info.CLNSIG', 'benign'], ['genomic_coordinates.chromosome__in', [2, 'chrX']]],
    }); // prettier-ignore
    expect(nodes).toMatchObject([
      { matches: countLines(/CLNSIG=Benign(;|$)/), left: countLines(/CLNSIG=Benign(;|$)/) },
      { matches: countLines(/^(2|X)\t/), left: countLines(/^(2|X)\t.*CLNSIG=Benign(;|$)/) },
    ]);
  });

  test.each<[string, object, object]>([
    ['the wrong build', { genome_build: 'GRCh37' }, { cause: 'wrong_build', instead: 'GRCh38', matches: 50 }],
    ['the wrong build in a variant', { entities: [['variant', 'GRCh37-1-925952-925952-A']] }, { cause: 'wrong_build', matches: 1 }],
    ['words joined by other characters', { filters: [['info.CLNSIG', 'uncertain significance']] }, { cause: 'separators', matches: 3 }],
    ['letter case', { filters: [['info.CLNSIG__contains', 'PATHOGENIC']] }, { cause: 'letter_case', matches: 7 }],
    ['a part of the value', { filters: [['info.GENEINFO', 'SAMD11']] }, { cause: 'part_of_value', matches: 2, values: ['SAMD11:148398'] }],
    ['a position that counts from 0', { filters: [['genomic_coordinates.start', 925951], ['genomic_coordinates.chromosome', '1']] }, { cause: 'off_by_one', matches: 1, left: 1 }],
    ['the nearest position', { filters: [['genomic_coordinates.start', 265000]] }, { cause: 'nearest_values', values: [264985, 265015] }],
    ['the other chromosome', { filters: [['genomic_coordinates.start', 925952], ['genomic_coordinates.chromosome', 2]] }, { cause: 'removes_last', path: 'filters[1]', left: 1 }],
  ])('%s', async (_, body, expected) => {
    const { causes } = await explain(body);
    expect(causes).toContainEqual(expect.objectContaining(expected));
  }); // prettier-ignore
});
