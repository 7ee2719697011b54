import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { budgets } from '../../../engine/core/budgets.js';
import { vcfTextOf } from '../../scheduler/lake.js';
import { importKeys, sortedKeysOf } from '../keys.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

const { server, ann, newDataset, newFile } = await startServerFixture();

async function runImport(body: object): Promise<Answer> {
  const createdImport = await ann.post('/v2/dataset_imports', body);
  expect(createdImport.status).toBe(201);
  return waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
}
interface DryRunReport {
  readonly fields: readonly Record<string, unknown>[];
  readonly records: number;
  readonly genome_build: string | null;
  readonly sample: readonly unknown[];
  readonly sample_left_out: number;
  readonly sample_budget: string | null;
}
const metadataOf = ({ json }: Answer) => json['metadata'] as Record<string, unknown>;
const dryRunReportOf = (answer: Answer) => metadataOf(answer)['dry_run'] as DryRunReport;

/** Returns everything about a dataset that a dry run might change. */
async function fetchDatasetState(datasetId: number): Promise<unknown> {
  const { json } = await ann.get(`/v2/datasets/${datasetId}`);
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`));
  const commits = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  const folder = server.data.path('datasets', String(datasetId));
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  return [json, fields, commits, files.toSorted().map((name) => join(folder, name))];
}

/** Runs an import first as a dry run and then normally; expects that both report the same, and that the dry run changes nothing. */
async function expectDryRunMatchesImport(datasetId: number, body: object): Promise<Answer> {
  const stateBefore = await fetchDatasetState(datasetId);
  const dryRun = await runImport({ ...body, dataset_id: datasetId, dry_run: true });
  expect(dryRun.json['error_message']).toBeNull();
  expect(dryRun.json).toMatchObject({ status: 'completed', dry_run: true, dataset_commits: [] });
  expect(await fetchDatasetState(datasetId)).toEqual(stateBefore);

  const countAnswer = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 });
  const realImport = await runImport({ ...body, dataset_id: datasetId });
  expect(realImport.json).toMatchObject({ status: 'completed', dry_run: false });
  const offset = Number(countAnswer.json['total']);
  const pageBody = { limit: 20, offset, exclude_fields: ['_id', '_commit'] };
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, pageBody);
  expect(dryRunReportOf(dryRun).sample).toEqual(answer.json['results']);
  const [dryMetadata, realMetadata] = [dryRun, realImport].map((answer) => metadataOf(answer));
  expect(dryMetadata!['validation']).toEqual(realMetadata!['validation']);
  expect(dryMetadata!['receipt']).toEqual({
    ...(realMetadata!['receipt'] as object),
    is_committed: false,
  });
  expect(dryRunReportOf(dryRun).records).toBe(Number(answer.json['total']) - offset);

  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`));
  const reportedFields = new Map(
    dryRunReportOf(dryRun).fields.map((field) => [field['name'], field]),
  );
  const storedFields = fields.filter(({ name }) => name !== '_commit');
  expect([...reportedFields.keys()].toSorted()).toEqual(
    storedFields.map(({ name }) => name).toSorted(),
  );
  for (const { name, data_type, is_list, entity_type, title } of storedFields) {
    const expectedField = { name, data_type, is_list: is_list ?? false, entity_type, title };
    expect(reportedFields.get(name)).toMatchObject(expectedField);
  }
  return dryRun;
}

describe('a dry run', () => {
  test('of inline records is done when it answers, and shows every key', async () => {
    const datasetId = await newDataset();
    const records = [{ gene: 'TP53', n: 1, tags: ['a'], inner: { x: 1.5 }, on: '2020-01-02' }];
    const body = { dataset_id: datasetId, data_records: records, dry_run: true };
    const createdImport = await ann.post('/v2/dataset_imports', body);
    expect(sortedKeysOf(createdImport.json)).toEqual(importKeys);
    expect(createdImport.json).toMatchObject({
      status: 'completed',
      dry_run: true,
      dataset_commits: [],
    });
    await expectDryRunMatchesImport(datasetId, { data_records: records });
  });

  test('of a file in many chunks with types that meet in the end shows what would be stored', async () => {
    const lineOf = (i: number): string =>
      JSON.stringify({
        i,
        mixed: i === 49_999 ? 'x' : i,
        big: 9_007_199_254_740_993n.toString(),
        pad: 'y'.repeat(80),
      });
    const text = Array.from({ length: 50_000 }, (_, i) => `${lineOf(i)}\n`).join('');
    const objectId = await newFile('many.json', text.replaceAll(/"big":"(\d+)"/g, '"big":$1'));
    const dryRun = await expectDryRunMatchesImport(await newDataset(), { object_id: objectId });
    const { sample, fields, records } = dryRunReportOf(dryRun);
    expect([records, sample.length]).toEqual([50_000, 20]);
    expect(sample[3]).toMatchObject({ i: 3, mixed: '3' });
    expect(dryRun.text).toContain('"big":9007199254740993');
    expect(fields.find(({ name }) => name === 'mixed')).toMatchObject({ data_type: 'string' });
  });

  test('of a manifest with several files takes the first records of all', async () => {
    const datasetId = await newDataset();
    await runImport({ dataset_id: datasetId, records: [{ a: 1, old: 'x' }] });
    const files = [
      await newFile('one.json', '{"a":2,"b":[1]}\n'),
      await newFile('two.csv', 'a,b,c\n3,,z\n'),
      await newFile('three.vcf.gz', gzipSync(vcfTextOf(30))),
    ];
    const entries = files.map((id) => ({ object_id: id }));
    const dryRun = await expectDryRunMatchesImport(datasetId, { manifest: { files: entries } });
    const { sample, fields, genome_build } = dryRunReportOf(dryRun);
    expect([sample.length, genome_build]).toEqual([20, 'GRCh38']);
    const reportedFields = fields.filter(({ name }) => ['a', 'old', 'c'].includes(String(name)));
    expect(
      reportedFields.map(({ name, is_new, has_values }) => [name, is_new, has_values]),
    ).toEqual([
      ['a', false, true],
      ['old', false, false],
      ['c', true, true],
    ]);
  });

  test('fails like the import would, with codes, positions and the rejected records', async () => {
    const datasetId = await newDataset();
    await runImport({ dataset_id: datasetId, records: [{ n: 1 }] });
    const stateBefore = await fetchDatasetState(datasetId);
    const body = { dataset_id: datasetId, records: [{ n: 2 }, { n: 'x' }] };
    const [dryRun, realImport] = [
      await runImport({ ...body, dry_run: true }),
      await runImport(body),
    ];
    expect(dryRun.json).toMatchObject({ status: 'failed', dry_run: true });
    expect(dryRun.json['error_message']).toBe(realImport.json['error_message']);
    expect(metadataOf(dryRun)['validation']).toEqual(metadataOf(realImport)['validation']);
    expect((await ann.get(`/v2/dataset_imports/${idOf(dryRun)}/rejected`)).status).toBe(302);
    expect(await fetchDatasetState(datasetId)).toEqual(stateBefore);
  });

  test('shows as many of the first records as the budget has room for (T0)', async () => {
    const recordBytes = budgets.dryRunSampleBytes / 4;
    const records = Array.from({ length: 6 }, (_, i) => ({
      i,
      words: Array(Math.floor(recordBytes / 1_000)).fill('w'.repeat(997)),
    }));
    const dryRun = await runImport({ dataset_id: await newDataset(), records, dry_run: true });
    const { sample, sample_left_out: leftOut, sample_budget } = dryRunReportOf(dryRun);
    expect(sample).toEqual(records.slice(0, sample.length));
    expect([sample.length, leftOut]).toEqual([4, 2]);
    expect(sample_budget).toMatch('The sample holds the first 256 KiB of JSON.');
  });

  test('of nothing shows nothing', async () => {
    const objectId = await newFile('empty.json', '');
    const dryRun = await expectDryRunMatchesImport(await newDataset(), { object_id: objectId });
    expect(dryRunReportOf(dryRun)).toMatchObject({ fields: [], records: 0, sample: [] });
  });

  test('must be asked for with a boolean', async () => {
    const body = { dataset_id: await newDataset(), records: [{ a: 1 }], dry_run: 'perhaps' };
    const { status, json } = await ann.post('/v2/dataset_imports', body);
    expect([status, Object.keys(json)]).toEqual([400, ['dry_run']]);
  });
});
