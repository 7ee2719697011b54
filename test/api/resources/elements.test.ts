import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { idOf, startServer, waitForJob, type Client, type TestServer } from '../server.js';

/* Tests conditions on one element of a list in every operation that takes a query. */

const vcfPath = 'test/fixtures/vcf/hail_100_samples.vcf.gz';
const vcfLines = gunzipSync(readFileSync(vcfPath)).toString().split('\n').filter((line) => line !== ''); // prettier-ignore
const sampleName = vcfLines.find((line) => line.startsWith('#CHROM'))!.split('\t')[9 + 49]!;
/** The positions at which the sample `sampleName` has the genotype 1/1 and a depth of at least 40, as bcftools found them. */
const expectedStarts = readFileSync('test/fixtures/vcf/genotypes.bcftools.tsv', 'utf8')
  .split('\n')
  .find((line) => line.startsWith('GT[49]="1/1" & FMT/DP[49]>=40\t'))!
  .split('\t')[1]!
  .split(',')
  .map(Number);

const filters = [{ any: { path: 'sample', filters: [['name', sampleName], ['GT', '1/1'], ['DP__gte', 40]] } }]; // prettier-ignore
const queryString = `sample:{name:"${sampleName}" AND GT:"1/1" AND DP:>=40}`;

let server: TestServer;
let ann: Client;
let datasetId: number;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  const file = { vault_id: vaultId, object_type: 'file', filename: 'calls.vcf.gz' };
  const object = await ann.post('/v2/objects', file);
  const putRequest = { method: 'PUT', body: new Uint8Array(readFileSync(vcfPath)) };
  expect((await fetch(String(object.json['upload_url']), putRequest)).status).toBe(200);
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'calls' }));
  const importBody = { dataset_id: datasetId, object_id: idOf(object) };
  const endedImport =
    await waitForJob(ann, `/v2/dataset_imports/${idOf(await ann.post('/v2/dataset_imports', importBody))}`); // prettier-ignore
  expect(endedImport.json).toMatchObject({ status: 'completed' });
});
afterAll(() => server.close());

const queryRecords = async (body: object): Promise<Record<string, unknown>> => {
  const { status, json, text } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return json;
};
const startsOf = (json: Record<string, unknown>): number[] =>
  (json['results'] as { genomic_coordinates: { start: number } }[]).map((one) => one.genomic_coordinates.start); // prettier-ignore

test.each([{ filters }, { query: queryString }])(
  'pages, cursors and batches of %j',
  async (body) => {
    expect(startsOf(await queryRecords({ ...body, limit: 1000 }))).toEqual(expectedStarts);
    const pagedStarts: number[] = [];
    for (let cursor: unknown = true; cursor !== null;) {
      const page = await queryRecords({ ...body, limit: 4, cursor });
      expect(page['total']).toBe(expectedStarts.length);
      pagedStarts.push(...startsOf(page));
      cursor = page['cursor'];
    }
    expect(pagedStarts).toEqual(expectedStarts);
    const queries = [
      { dataset: datasetId, ...body, limit: 0 },
      { dataset: datasetId, filters: { not: filters }, limit: 0 },
    ];
    const { json } = await ann.post('/v2/batch_query', { queries });
    const recordCount = vcfLines.filter((line) => !line.startsWith('#')).length;
    expect(json).toMatchObject([
      { total: expectedStarts.length },
      { total: recordCount - expectedStarts.length },
    ]);
  },
);

test.each([{ filters }, { query: queryString }])('facets and exports of %j', async (body) => {
  const startSet = new Set(expectedStarts);
  const matchingLines = vcfLines
    .map((line) => line.split('\t'))
    .filter(([, start]) => startSet.has(Number(start)));
  const referenceCounts = new Map<string, number>();
  for (const [, , , reference = ''] of matchingLines)
    referenceCounts.set(reference, (referenceCounts.get(reference) ?? 0) + 1);
  const { facets } = await queryRecords({
    ...body,
    facets: { reference_allele: { limit: 0 } },
    limit: 0,
  });
  expect(new Map((facets as Record<string, [string, number][]>)['reference_allele'])).toEqual(referenceCounts); // prettier-ignore
  const params = { ...body, fields: ['genomic_coordinates.start'] };
  const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, format: 'csv', params }); // prettier-ignore
  await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
  const { json } = await ann.get(`/v2/dataset_exports/${idOf(createdExport)}/download?redirect=`);
  const bytes = Buffer.from(await (await fetch(String(json['url']))).arrayBuffer());
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
  expect(text.trim().split(/\r?\n/).slice(1).map(Number)).toEqual(expectedStarts);
});

test('saved queries keep it and are checked, beacons are restricted by it', async () => {
  for (const params of [{ filters }, { query: queryString }]) {
    const createdSavedQuery = await ann.post('/v2/saved_queries', {
      name: 'q',
      dataset: datasetId,
      params,
    });
    const { json } = await ann.get(`/v2/saved_queries/${idOf(createdSavedQuery)}`);
    expect(json['params']).toEqual(params);
    expect(startsOf(await queryRecords({ ...(json['params'] as object), limit: 1000 }))).toEqual(
      expectedStarts,
    );
  }
  const badParams = { filters: [{ any: { path: 'sample', filters: [['gt', '1/1']] } }] };
  const refusedAnswer = await ann.post('/v2/saved_queries', { name: 'q', dataset: datasetId, params: badParams }); // prettier-ignore
  expect([refusedAnswer.status, refusedAnswer.text]).toEqual([
    400,
    expect.stringContaining('Did you mean'),
  ]);
  const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'Carriers' }));
  const [firstStart] = expectedStarts as [number];
  const otherStart = vcfLines.map((line) => Number(line.split('\t')[1])).find((start) => start > 0 && !expectedStarts.includes(start))!; // prettier-ignore
  for (const params of [filters, { filters }, { query: queryString }]) {
    const beacon = { beacon_set_id: setId, title: 'one', vault_object_id: datasetId, params };
    const id = idOf(await ann.post('/v2/beacons', beacon));
    const fetchTotal = async (place: string): Promise<unknown> =>
      (await ann.post(`/v2/beacons/${id}/query`, { query: place })).json['total'];
    expect(await fetchTotal(`20:${firstStart}`)).toBe(1);
    expect(await fetchTotal(`20:${otherStart}`)).toBe(0);
    expect(await fetchTotal(`20:1-${Math.max(...expectedStarts)}`)).toBe(expectedStarts.length);
  }
});
