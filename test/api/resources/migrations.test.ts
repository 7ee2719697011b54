import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

const { ann, newDataset, newFile, countRecords } = await startServerFixture();

const fixtureFolder = join(import.meta.dirname, '../../../../test/fixtures');

async function importRecords(body: object): Promise<number> {
  const dataset_id = await newDataset();
  const createdImport = await ann.post('/v2/dataset_imports', { dataset_id, ...body });
  const endedImport = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  expect([endedImport.json['error_message'], endedImport.json['status']]).toEqual([
    null,
    'completed',
  ]);
  return dataset_id;
}

async function importFile(path: string): Promise<number> {
  const object_id = await newFile(
    path.split('/').at(-1)!,
    await readFile(join(fixtureFolder, path)),
  );
  return importRecords({ object_id });
}

async function migrate(source_id: number, target_id: number, body: object = {}): Promise<Answer> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id,
    target_id,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  return waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
}

async function migrateInto(
  source_id: number,
  target_id: number,
  body: object = {},
): Promise<Answer> {
  const endedMigration = await migrate(source_id, target_id, body);
  expect([endedMigration.json['error_message'], endedMigration.json['status']]).toEqual([
    null,
    'completed',
  ]);
  return endedMigration;
}

/** Returns the lines of an export without `_id` and `_commit`. */
async function exportLines(dataset_id: number, params: object = {}): Promise<readonly string[]> {
  const createdExport = await ann.post('/v2/dataset_exports', {
    dataset_id,
    format: 'json',
    params,
  });
  await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
  const downloadAnswer = await ann.get(
    `/v2/dataset_exports/${idOf(createdExport)}/download?redirect=`,
  );
  const file = Buffer.from(await (await fetch(String(downloadAnswer.json['url']))).arrayBuffer());
  return gunzipSync(file)
    .toString()
    .split('\n')
    .map((line) => line.replace(/^\{"_id":"[^"]*","_commit":"[^"]*",?/, '{'));
}

async function fetchFields(datasetId: number): Promise<readonly object[]> {
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?limit=1000`));
  const properties = ['name', 'title', 'description', 'data_type', 'is_list', 'entity_type', 'is_hidden', 'ordering', 'url_template']; // prettier-ignore
  return fields.map((field) => Object.fromEntries(properties.map((key) => [key, field[key]])));
}

async function fetchRecords(
  datasetId: number,
  body: object,
): Promise<readonly Record<string, unknown>[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
}

describe('a migration of a whole dataset has the records and fields of its source', () => {
  test.each([
    'vcf/clinvar_grch38.vcf.gz',
    'vcf/freebayes_7_samples.vcf',
    'vcf/snpeff_ann_chr22.vcf',
    'vcf/trio_sv_csq.vcf.gz',
    'vcf/all_4.3_features_utf8.vcf',
    'jsonl/clinvar_ten_records.json',
    'jsonl/panelapp_panels.json',
    'jsonl/stream_json_sample.json',
    'csv/civic_variant_summaries.tsv',
    'csv/genes_dbnsfp.tsv',
    'csv/strange.csv',
    'xml/clinvar_rcv_08.xml',
    'gff3/ensembl_MYC.gff3',
  ])('%s', async (path) => {
    const sourceId = await importFile(path);
    const targetId = await newDataset();
    const { json } = await migrateInto(sourceId, targetId);
    expect(await exportLines(targetId)).toEqual(await exportLines(sourceId));
    expect(await fetchFields(targetId)).toEqual(await fetchFields(sourceId));
    const [sourceDataset, targetDataset] =
      await Promise.all([sourceId, targetId].map((id) => ann.get(`/v2/datasets/${id}`))); // prettier-ignore
    expect(targetDataset!.json['documents_count']).toBe(sourceDataset!.json['documents_count']);
    expect(targetDataset!.json['genome_builds']).toEqual(sourceDataset!.json['genome_builds']);
    expect(json['documents_count']).toBe(sourceDataset!.json['documents_count']);
  });
});

/** Records of many shapes: nested lists of objects, missing keys, empty lists, and JSON of irregular shape. */
const recordsOfManyShapes = Array.from({ length: 300 }, (_, i) => ({
  n: i % 7 === 0 ? null : (i * 37) % 101,
  name: ['b', 'a', 'c'][i % 3],
  score: i / 8,
  ...(i % 5 > 0 && { flag: i % 3 === 0 }),
  tags: i % 4 === 0 ? [] : [`t${i % 5}`, 'x'],
  ...(i % 2 === 0 && { place: { start: i, names: ['p', `q${i}`] } }),
  calls: i % 6 === 0 ? null : [{ id: i, gt: [0, i % 2] }, { depth: i / 3 }],
  odd: i % 9 === 0 ? [[i]] : { k: i },
}));

describe('the query of the source', () => {
  let sourceId: number;
  beforeAll(async () => {
    sourceId = await importRecords({ data_records: recordsOfManyShapes });
  });

  test.each<[string, object]>([
    ['no parameters', {}],
    ['null parameters', { filters: null, limit: null, query: null, debug: true }],
    ['a filter of most records', { filters: [['n__gt', 10]] }],
    ['a filter of few records', { filters: [['n', 37]] }],
    ['a filter of none', { filters: [['n', 1_000]] }],
    ['a query string', { query: 'name:a AND score:[3 TO 30]' }],
    ['an ordering', { ordering: ['-name', 'n'] }],
    ['an ordering with a limit', { ordering: ['n'], limit: 17 }],
    ['a limit', { limit: 120 }],
    ['fields', { fields: ['place.names', 'calls.gt', 'name'] }],
    ['left out fields', { exclude_fields: ['tags', 'calls.depth', 'place'] }],
    ['all of these', { filters: [['name__in', ['a', 'c']]], ordering: ['-score'], limit: 40, exclude_fields: ['odd'] }],
  ])('with %s finds the records that the target then has', async (_, source_params) => {
    const targetId = await newDataset();
    const { json } = await migrateInto(sourceId, targetId, { source_params });
    const page = { limit: 1_000, ...Object.fromEntries(Object.entries(source_params).filter(([, value]) => value !== null)), debug: undefined };
    const expectedRows = await fetchRecords(sourceId, page);
    const targetRows = await fetchRecords(targetId, { limit: 1_000 });
    const withoutIds = (records: readonly Record<string, unknown>[]) => records.map(({ _id, _commit, ...rest }) => rest);
    expect(withoutIds(targetRows).map(withSortedKeys)).toEqual(withoutIds(expectedRows).map(withSortedKeys));
    expect(json['documents_count']).toBe(expectedRows.length);
    const ids = targetRows.map((record) => record['_id'] as string);
    expect(ids).toEqual(ids.toSorted());
    const idsOfSource = expectedRows.flatMap(({ _id }) => _id ?? []);
    expect(new Set([...ids, ...idsOfSource]).size).toBe(ids.length + idsOfSource.length);
    const [commit] = json['dataset_commits'] as readonly Record<string, unknown>[];
    expect(commit).toMatchObject({ parent_job_model: 'datasets.DatasetMigration', parent_job_id: json['id'], records_modified: expectedRows.length, mode: 'append' });
    expect(targetRows.every((record) => record['_commit'] === String(commit!['id']))).toBe(true);
  }); // prettier-ignore

  test('with entities finds the records that these find', async () => {
    const target_fields = [{ name: 'gene', entity_type: 'gene' }];
    const records = ['BRCA2', 'TTN', 'FANCD1'].map((gene, n) => ({ n, gene }));
    const datasetId = await importRecords({ target_fields, data_records: records });
    const source_params = { entities: [['gene', 'FANCD1']] };
    const expectedNumbers = (await fetchRecords(datasetId, source_params)).map(({ n }) => n);
    expect(expectedNumbers.length).toBeGreaterThan(0);
    expect(expectedNumbers.length).toBeLessThan(3);
    const targetId = await newDataset();
    await migrateInto(datasetId, targetId, { source_params });
    expect((await fetchRecords(targetId, {})).map(({ n }) => n)).toEqual(expectedNumbers);
  });

  test('of an earlier version has the records of then', async () => {
    const datasetId = await importRecords({ data_records: [{ a: 1 }, { a: 2 }] });
    const [firstCommit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, data_records: [{ a: 3 }] });
    const targetId = await newDataset();
    const endedMigration = await migrateInto(datasetId, targetId, {
      source_params: { as_of: firstCommit!['id'] },
    });
    expect(endedMigration.json['as_of']).toMatchObject({ commit_id: firstCommit!['id'] });
    expect((await fetchRecords(targetId, {})).map((record) => record['a'])).toEqual([1, 2]);
    const secondTargetId = await newDataset();
    const topLevelMigration = await migrateInto(datasetId, secondTargetId, {
      as_of: firstCommit!['id'],
    });
    expect(topLevelMigration.json['as_of']).toEqual(endedMigration.json['as_of']);
    expect((await fetchRecords(secondTargetId, {})).map((record) => record['a'])).toEqual([1, 2]);
    const thirdTargetId = await newDataset();
    const timeMigration = await migrateInto(datasetId, thirdTargetId, {
      as_of: firstCommit!['created_at'],
    });
    expect(timeMigration.json['as_of']).toMatchObject({ commit_id: firstCommit!['id'] });
    expect((await fetchRecords(thirdTargetId, {})).map((record) => record['a'])).toEqual([1, 2]);
  });
});

describe('fields of other types', () => {
  const rows = [
    { whole: 1, real: 0.5, text: '12', flag: true, day: '2020-02-03', list: ['1', '2'], deep: { n: 7, s: 'x' } },
    { whole: -20, real: 1e21, text: '-3', flag: false, day: '1999-12-31T23:59:59', list: [], deep: { n: 8 } },
    { whole: 9007199254740991, real: -0.25, text: null, flag: null, day: null, list: null, deep: null },
  ]; // prettier-ignore
  let sourceId: number;
  beforeAll(async () => {
    sourceId = await importRecords({ data_records: rows });
  });
  const fetchValues = async (targetId: number, field: string): Promise<readonly unknown[]> =>
    (await fetchRecords(targetId, {})).map((record) => record[field]);

  test.each<[string, object, (row: (typeof rows)[number]) => unknown]>([
    ['whole', { data_type: 'string' }, ({ whole }) => String(whole)],
    ['whole', { data_type: 'double' }, ({ whole }) => whole],
    ['whole', { data_type: 'long', is_list: true }, ({ whole }) => [whole]],
    ['real', { data_type: 'string' }, ({ real }) => String(real)],
    ['text', { data_type: 'integer' }, ({ text }) => (text === null ? null : Number(text))],
    ['text', { data_type: 'text' }, ({ text }) => text],
    ['flag', { data_type: 'string' }, ({ flag }) => (flag === null ? null : String(flag))],
    ['day', { data_type: 'string' }, ({ day }) => day],
    ['list', { data_type: 'integer', is_list: true }, ({ list }) => list?.map(Number) ?? null],
    ['list', { data_type: 'string', is_list: false }, ({ list }) => list?.[0] ?? null],
    ['deep.n', { data_type: 'string' }, ({ deep }) => deep && { ...deep, n: String(deep.n) }],
  ])('%s as %j', async (name, declaration, cast) => {
    const targetId = await newDataset();
    const body = { target_fields: [{ name, ...declaration, title: 'Cast' }] };
    const { json } = await migrateInto(sourceId, targetId, body);
    const topName = name.split('.')[0]!;
    const expectedValues = rows.map(cast).map(withSortedKeys);
    expect((await fetchValues(targetId, topName)).map(withSortedKeys)).toEqual(expectedValues);
    const field = (await fetchFields(targetId)).find(
      (one) => (one as { name: string }).name === name,
    );
    const shownField = {
      ...field,
      is_list: (field as { is_list: boolean | null }).is_list ?? false,
    };
    expect(shownField).toMatchObject({ is_list: false, ...declaration, title: 'Cast' });
    expect(json['target_fields']).toEqual([expect.objectContaining({ name, ...declaration })]);
  });

  test('by name, not stored, and new ones without values', async () => {
    const targetId = await newDataset();
    const target_fields = {
      real: { is_transient: true },
      'deep.s': { is_transient: true },
      added: { data_type: 'integer', description: 'to be filled' },
    };
    await migrateInto(sourceId, targetId, { target_fields });
    const [record] = await fetchRecords(targetId, { limit: 1 });
    expect(record).not.toHaveProperty('real');
    expect(record).toMatchObject({ deep: { n: 7 }, added: null });
    expect((record!['deep'] as object)).not.toHaveProperty('s'); // prettier-ignore
    const names = (await fetchFields(targetId)).map((field) => (field as { name: string }).name);
    expect(names).toContain('added');
    expect(names).not.toContain('real');
  });

  test('a value that cannot be cast fails the migration, with the record and the reason', async () => {
    const targetId = await newDataset();
    const body = { target_fields: [{ name: 'day', data_type: 'long' }] };
    const { json } = await migrate(sourceId, targetId, body);
    expect(json).toMatchObject({ status: 'failed', dataset_commits: [] });
    expect(json['error_message']).toContain(`dataset ${sourceId}, line 1: field day`);
    const { validation, receipt } = json['metadata'] as Record<string, object>;
    expect(validation).toMatchObject({ errors_count: 2, error_codes: [301] });
    expect(receipt).toMatchObject({ records_read: 3, records_rejected: 2, is_committed: false });
    expect(await countRecords(targetId)).toBe(0);
  });

  test('records with errors are rejected, or their values become null, where the request says so', async () => {
    const targetId = await newDataset();
    const target_fields = [{ name: 'day', data_type: 'long' }];
    const validation_params = { on_error: 'reject', max_rejected: 2 };
    const { json } = await migrateInto(sourceId, targetId, { target_fields, validation_params });
    const { receipt } = json['metadata'] as Record<string, object>;
    expect(receipt).toMatchObject({ records_read: 3, records_stored: 1, records_rejected: 2 });
    expect((await fetchRecords(targetId, {})).map((record) => record['whole'])).toEqual([
      rows[2]!.whole,
    ]);
    const lenientTargetId = await newDataset();
    await migrateInto(sourceId, lenientTargetId, {
      target_fields,
      validation_params: { disable: true },
    });
    expect(await fetchValues(lenientTargetId, 'day')).toEqual([null, null, null]);
  });
});

describe('fields that the target has', () => {
  test('keep their types where these were declared, and widen where they were not', async () => {
    const targetId = await newDataset({ fields: [{ name: 'code', data_type: 'string' }] });
    await ann.post('/v2/dataset_imports', { dataset_id: targetId, data_records: [{ code: 'x', n: 1, o: { a: 1 } }] }); // prettier-ignore
    const sourceId = await importRecords({ data_records: [{ n: 0.5, code: 5, o: { B: 'b', a: 2 }, more: [{ z: 1 }] }] }); // prettier-ignore
    await migrateInto(sourceId, targetId);
    const records = await fetchRecords(targetId, {
      ordering: ['n'],
      exclude_fields: ['_id', '_commit'],
    });
    expect(records.map(withSortedKeys)).toEqual(
      [
        { code: '5', n: 0.5, o: { a: 2, B: 'b' }, more: [{ z: 1 }] },
        { code: 'x', n: 1, o: { a: 1 }, more: null },
      ].map(withSortedKeys),
    );
    const types = (await fetchFields(targetId)).map((field) => [(field as { name: string }).name, (field as { data_type: string }).data_type]); // prettier-ignore
    expect(Object.fromEntries(types)).toMatchObject({ code: 'string', n: 'double', o: 'object', 'o.B': 'string' }); // prettier-ignore
  });

  test('get a wider type in a second pass where a cast value needs it', async () => {
    const targetId = await importRecords({ data_records: [{ n: 1 }] });
    const sourceId = await importRecords({ data_records: [{ n: '2' }, { n: '0.5' }] });
    await migrateInto(sourceId, targetId);
    expect((await fetchRecords(targetId, {})).map((record) => record['n'])).toEqual([1, 2, 0.5]);
  });

  test('a record that strict validation rejects fails the migration, also where the types change in a second pass', async () => {
    const targetId = await newDataset({ fields: [{ name: 'l', data_type: 'string' }] });
    await ann.post('/v2/dataset_imports', {
      dataset_id: targetId,
      data_records: [{ l: 'x', n: 1 }],
    });
    const sourceId = await importRecords({ data_records: [{ n: '0.5', l: ['a', 'b'] }, { n: '2' }] }); // prettier-ignore
    const { json } = await migrate(sourceId, targetId, { validation_params: { strict_validation: true } }); // prettier-ignore
    expect(json).toMatchObject({ status: 'failed', dataset_commits: [] });
    expect((json['metadata'] as Record<string, object>)['receipt']).toMatchObject({ records_read: 2, records_stored: 1, records_rejected: 1 }); // prettier-ignore
    expect(await countRecords(targetId)).toBe(1);
  });

  test('new fields are errors under strict validation', async () => {
    const targetId = await importRecords({ data_records: [{ a: 1 }] });
    const sourceId = await importRecords({ data_records: [{ a: 2, b: 3 }] });
    const { json } = await migrate(sourceId, targetId, { validation_params: { strict_validation: true } }); // prettier-ignore
    expect([json['status'], json['error_message']]).toEqual(['failed', expect.stringContaining('203')]); // prettier-ignore
  });
});

function withSortedKeys(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

describe('the genome builds of the target', () => {
  let twoBuildsDatasetId: number;
  beforeAll(async () => {
    twoBuildsDatasetId = await importFile('vcf/clinvar_grch38.vcf.gz');
    const vcf = await readFile(join(fixtureFolder, 'vcf/clinvar_grch37_2019.vcf.gz'));
    const object_id = await newFile('clinvar_grch37_2019.vcf.gz', vcf);
    const body = { dataset_id: twoBuildsDatasetId, object_id };
    await waitForJob(
      ann,
      `/v2/dataset_imports/${idOf(await ann.post('/v2/dataset_imports', body))}`,
    );
  });

  test.each<[string, object, readonly string[]]>([
    ['everything', {}, ['GRCh37', 'GRCh38']],
    ['one build', { genome_build: 'GRCh37' }, ['GRCh37']],
    ['variants', { fields: ['variant'] }, ['GRCh37', 'GRCh38']],
    ['one coordinate', { fields: ['genomic_coordinates.start'] }, ['GRCh37', 'GRCh38']],
    ['neither variants nor coordinates', { fields: ['info.CLNSIG'] }, []],
    ['no records', { filters: [['info.CLNSIG', 'none such']] }, []],
  ])('follow a query of %s', async (_, source_params, builds) => {
    const targetId = await newDataset();
    await migrateInto(twoBuildsDatasetId, targetId, { source_params });
    const { json } = await ann.get(`/v2/datasets/${targetId}`);
    expect([json['genome_builds'], json['is_genomic']]).toEqual([builds, builds.length > 0]);
  });

  test('are none if the query leaves out the coordinates of a source with one build', async () => {
    const targetId = await newDataset();
    const source_params = { fields: ['info.CLNSIG'] };
    await migrateInto(await importFile('vcf/clinvar_grch38.vcf.gz'), targetId, { source_params });
    const { json } = await ann.get(`/v2/datasets/${targetId}`);
    expect([json['documents_count'], json['genome_builds']]).toEqual([expect.any(Number), []]);
  });
});
