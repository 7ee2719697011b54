import { beforeAll, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/* Tests fields that a migration computes (contract 12; specification of expressions, sections 4 and 5). */

const { ann, vaultId } = await startServerFixture();
const sourceRecordCount = 3000;
const records = Array.from({ length: sourceRecordCount }, (_, i) => ({
  i,
  gene: ['BRCA1', 'TP53', 'EGFR'][i % 3],
  ad: [i % 50, (i * 7) % 90],
  info: { af: i / 4, ...(i % 5 === 0 && { csq: ['stop', 'gain'] }) },
}));
let sourceId: number;

beforeAll(async () => {
  sourceId = await newDataset('source');
  // The records are imported in parts, so that there are several segments.
  for (let from = 0; from < sourceRecordCount; from += 1000) {
    const body = { dataset_id: sourceId, data_records: records.slice(from, from + 1000) };
    const createdImport = await ann.post('/v2/dataset_imports', body);
    expect((await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json['status']).toBe('completed'); // prettier-ignore
  }
});

async function newDataset(name: string): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `${name}${Math.random()}` }));
} // prettier-ignore

async function migrateRecords(body: object): Promise<Record<string, unknown>> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id: sourceId,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return json;
}

async function fetchStoredRecords(datasetId: number, more: object = {}): Promise<readonly Record<string, unknown>[]> {
  const body = { limit: 10_000, exclude_fields: ['_id', '_commit'], ...more };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
} // prettier-ignore

async function fetchFieldTypes(datasetId: number): Promise<Record<string, unknown>> {
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`));
  return Object.fromEntries(fields.map((field) => [String(field['name']), field['data_type']]));
}

test('are stored with the fields that the query selects, and see all of the source', async () => {
  const target_id = await newDataset('computed');
  const { metadata } = await migrateRecords({
    target_id,
    source_params: { fields: ['i', 'gene'], filters: [['i__lt', 2500]] },
    target_fields: [
      { name: 'depth', expression: 'sum(record.ad)', data_type: 'integer' },
      { name: 'vaf', expression: 'record.ad[1] / record.depth', depends_on: ['depth'], data_type: 'double' },
      { name: 'gene', expression: 'value.lower()' },
      { name: 'csq', expression: "'/'.join(record.info.csq or [])", is_transient: true },
      { name: 'consequence', expression: "record.csq or None", depends_on: ['csq'] },
      { name: 'late', expression: "record.i if record.i < 2400 else 'end'" },
      { name: 'from', expression: 'source_dataset + target_dataset' },
    ],
  }); // prettier-ignore
  const storedRecords = await fetchStoredRecords(target_id);
  expect(storedRecords).toHaveLength(2500);
  for (const [n, row] of storedRecords.entries()) {
    const { i, gene, ad, info } = records[n]!;
    const depth = ad[0]! + ad[1]!;
    expect(row).toEqual({
      i,
      gene: gene!.toLowerCase(),
      depth,
      vaf: depth === 0 ? null : ad[1]! / depth,
      consequence: info.csq ? 'stop/gain' : null,
      // `late` is a string in all chunks, although most of its values are numbers.
      late: i < 2400 ? String(i) : 'end',
      from: `${sourceId}${target_id}`,
      ...(row['_errors'] !== undefined && { _errors: row['_errors'] }),
    });
    expect(row['_errors'] ?? null).toEqual(depth === 0 ? { vaf: 'division by zero (line 1, column 14)' } : null);
  }
  const zeroDepthCount = records.slice(0, 2500).filter(({ ad }) => ad[0] === 0 && ad[1] === 0).length;
  const { warnings } = (metadata as { validation: { warnings: Record<string, unknown>[] } }).validation;
  expect(warnings.filter(({ code }) => code === 500)).toMatchObject([
    { field: 'vaf', count: zeroDepthCount, line: 1, message: 'division by zero (line 1, column 14)' },
  ]);
  expect(await fetchFieldTypes(target_id)).toMatchObject({ depth: 'integer', vaf: 'double', late: 'string', gene: 'string' });
}); // prettier-ignore

test('that fail are noted beside the errors that records of the source have', async () => {
  const sourceField = { name: 'q', expression: '1 / record.i', data_type: 'double' };
  const source_id = await newDataset('failed');
  const data_records = [0, 1, 2].map((i) => ({ i, n: i === 1 ? 0 : i }));
  const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: source_id, data_records, target_fields: [sourceField] });
  await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const targetField = { name: 'r', expression: '1 / (record.i - 2)', data_type: 'double' };
  const target_id = await newDataset('failed again');
  await migrateRecords({ source_id, target_id, target_fields: [targetField] });
  const expectedRecords = [
    { i: 0, n: 0, q: null, r: -0.5, _errors: { q: 'division by zero (line 1, column 3)' } },
    { i: 1, n: 0, q: 1, r: -1, _errors: null },
    { i: 2, n: 2, q: 0.5, r: null, _errors: { r: 'division by zero (line 1, column 3)' } },
  ];
  expect(await fetchStoredRecords(target_id)).toEqual(expectedRecords);
  const selectedTargetId = await newDataset('failed selected');
  await migrateRecords({ source_id, target_id: selectedTargetId, source_params: { fields: ['i'] }, target_fields: [targetField] });
  expect((await fetchStoredRecords(selectedTargetId))[0]).toEqual({ i: 0, r: -0.5, _errors: null });
  expect((await fetchStoredRecords(selectedTargetId))[2]).toEqual({ i: 2, r: null, _errors: expectedRecords[2]!['_errors'] });
  // With `include_errors: false`, the target has no field of errors, whatever the source has.
  const unnotedTargetId = await newDataset('failed, not noted');
  const selectionParams = { source_params: { fields: ['i'] }, target_fields: [targetField] };
  await migrateRecords({ source_id, target_id: unnotedTargetId, ...selectionParams, include_errors: false });
  expect(await fetchStoredRecords(unnotedTargetId)).toEqual([{ i: 0, r: -0.5 }, { i: 1, r: -1 }, { i: 2, r: null }]);
}); // prettier-ignore

test('are those that a query computes', async () => {
  const target_fields = [
    { name: 'a', expression: 'str(record.info.af)', data_type: 'string' },
    { name: 'b', expression: "get(record, 'info.csq.1', record._id[:2])", data_type: 'string' },
    { name: 'whole', expression: "','.join(sorted(k for k in record if record[k] is not None))", data_type: 'string' },
  ];
  const target_id = await newDataset('same');
  await migrateRecords({ target_id, source_params: { fields: ['i'] }, target_fields: target_fields.slice(0, 2) });
  const expectedRecords = await fetchStoredRecords(sourceId, { fields: ['i'], exclude_fields: [], target_fields: target_fields.slice(0, 2) });
  expect(await fetchStoredRecords(target_id)).toEqual(expectedRecords);
  const wholeTargetId = await newDataset('whole');
  await migrateRecords({ target_id: wholeTargetId, source_params: { fields: ['i'], limit: 2 }, target_fields: target_fields.slice(2) });
  expect((await fetchStoredRecords(wholeTargetId))[0]).toEqual({ i: 0, whole: '_commit,_id,ad,gene,i,info' });
}); // prettier-ignore

test('that only rename fields give every value of the old name to the new one', async () => {
  const target_id = await newDataset('renamed');
  await migrateRecords({
    target_id,
    source_params: { limit: 1500 },
    target_fields: [
      ...['gene', 'ad', 'info.csq'].map((name) => ({ name, is_transient: true })),
      { name: 'symbol', expression: 'record.gene', data_type: 'string' },
      { name: 'depths', expression: 'record.ad', data_type: 'long', is_list: true },
      { name: 'consequences', expression: 'record.info.csq', data_type: 'string', is_list: true },
    ],
  });
  const expectedRecords = records.slice(0, 1500).map(({ i, gene, ad, info: { af, csq } }) => ({
    i,
    info: { af },
    symbol: gene,
    depths: ad,
    consequences: csq ?? [null], // the list of null (expressions, section 5.2)
  }));
  expect(await fetchStoredRecords(target_id)).toEqual(expectedRecords);
  const types = await fetchFieldTypes(target_id);
  expect(types).toMatchObject({ symbol: 'string', depths: 'long', consequences: 'string' });
  for (const name of ['gene', 'ad', 'info.csq']) expect(Object.keys(types)).not.toContain(name);
  const matchingRecords = await fetchStoredRecords(target_id, { filters: [['symbol', 'TP53']], fields: ['i'] }); // prettier-ignore
  expect(matchingRecords.map(({ i }) => i)).toEqual(
    Array.from({ length: 500 }, (_, n) => 3 * n + 1),
  );
});

test('replace fields of the dataset itself, by _id', async () => {
  const ownDatasetId = await newDataset('own');
  await migrateRecords({ target_id: ownDatasetId, source_params: { limit: 1500 } });
  const recordsBefore = await fetchStoredRecords(ownDatasetId);
  await migrateRecords({
    source_id: ownDatasetId,
    target_id: ownDatasetId,
    commit_mode: 'upsert',
    source_params: { filters: [['i__gte', 100]], fields: ['i'] },
    target_fields: [{ name: 'twice', expression: 'record.i * 2', data_type: 'long' }],
  });
  const expectedRecords =
    recordsBefore.map((record) => ({ ...record, twice: Number(record['i']) >= 100 ? 2 * Number(record['i']) : null })); // prettier-ignore
  expect(await fetchStoredRecords(ownDatasetId)).toEqual(expectedRecords);
});

test('a dry run reports them and changes nothing', async () => {
  const target_id = await newDataset('dry');
  const { metadata } = await migrateRecords({
    target_id,
    dry_run: true,
    source_params: { fields: ['i'] },
    target_fields: [{ name: 'n', expression: 'record.i + 1', data_type: 'long' }],
  });
  expect(JSON.stringify((metadata as { dry_run: unknown }).dry_run)).toContain('"n":1');
  expect(await fetchStoredRecords(target_id)).toEqual([]);
});

test.each<[object, string]>([
  [{ name: 'x', expression: '1 +' }, 'Syntax error'],
  [{ name: 'x', expression: 'record.x', data_type: 'number' }, 'data_type'],
])('400: %j', async (field, message) => {
  const body = { source_id: sourceId, target_id: sourceId, target_fields: [field] };
  const { status, json } = await ann.post('/v2/dataset_migrations', body);
  expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining(message)]);
  expect(Object.keys(json)).toEqual(['target_fields']);
});
