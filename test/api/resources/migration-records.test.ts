import { beforeAll, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/* Tests records that the expressions of a migration produce (contract 12; specification of expressions, section 5.5). */

const { ann, newDataset, runImport } = await startServerFixture();
const sourceRecordCount = 2000;
const records = Array.from({ length: sourceRecordCount }, (_, i) => ({
  i,
  gene: ['BRCA1', 'TP53', 'EGFR'][i % 3],
  tags: Array.from({ length: i % 4 }, (_x, k) => `${i}-${k}`),
  info: { af: i / 4, depth: i },
  note: 'x',
}));
let sourceId: number;

beforeAll(async () => {
  sourceId = await newDataset();
  for (let from = 0; from < sourceRecordCount; from += 700)
    await runImport({ dataset_id: sourceId, data_records: records.slice(from, from + 700) });
});

async function migrateRecords(body: object): Promise<Record<string, unknown>> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id: sourceId,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return json['metadata'] as Record<string, unknown>;
}

async function fetchStoredRecords(datasetId: number): Promise<readonly Record<string, unknown>[]> {
  const body = { limit: 10_000, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
}

/** Returns the records of a dataset without null values. */
async function fetchStoredWithoutNulls(datasetId: number): Promise<readonly object[]> {
  return (await fetchStoredRecords(datasetId)).map(withoutNulls);
}

function withoutNulls(record: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

/** Returns the records in a page of a query, with the fields that the expressions in `body` compute. */
async function fetchResults(body: object): Promise<readonly unknown[]> {
  const { json } = await ann.post(`/v2/datasets/${sourceId}/data`, { limit: 10_000, ...body });
  return (json['results'] as readonly Record<string, unknown>[]).map((record) => {
    const { _id, _commit, ...rest } = record;
    return withoutNulls(rest);
  });
}

const explodeTags = { post_annotation_expression: "explode(record, fields=['tags'])" };
const filters = [['i__lt', 1500]];
const target_fields = [
  { name: 'label', expression: "record.gene + ':' + str(record.info.depth)", data_type: 'string' },
  { name: 'gene', expression: 'value.lower()', is_transient: false },
];

test('are those of a page of the source with the same expressions', async () => {
  const target_id = await newDataset();
  const source_params = { filters, fields: ['i', 'gene', 'tags', 'info.af'] };
  const metadata = await migrateRecords({ target_id, source_params, target_fields, annotator_params: explodeTags }); // prettier-ignore
  const storedRecords = await fetchStoredWithoutNulls(target_id);
  const expectedCount = records.slice(0, 1500).reduce((sum, { tags }) => sum + Math.max(1, tags.length), 0);
  expect(storedRecords).toHaveLength(expectedCount);
  expect(storedRecords).toEqual(await fetchResults({ ...source_params, target_fields, annotator_params: explodeTags }));
  expect(metadata['receipt']).toMatchObject({ records_read: 1500, records_made: expectedCount - 1500, records_stored: expectedCount, records_rejected: 0 }); // prettier-ignore
  const [commit] = listOf(await ann.get(`/v2/datasets/${target_id}/commits`));
  expect(commit).toMatchObject({ records_added: expectedCount });
  expect((await ann.get(`/v2/datasets/${target_id}`)).json['documents_count']).toBe(expectedCount);
}); // prettier-ignore

test('see the records before their fields, and may be none', async () => {
  const target_id = await newDataset();
  const annotator_params = { pre_annotation_expression: 'record if record.i % 5 == 0 else None' };
  await migrateRecords({ target_id, source_params: { exclude_fields: ['tags', 'note'] }, annotator_params }); // prettier-ignore
  const expectedRecords = records.filter(({ i }) => i % 5 === 0).map(({ i, gene, info }) => ({ i, gene, info })); // prettier-ignore
  expect(await fetchStoredRecords(target_id)).toEqual(expectedRecords);
});

test('keep the types of the target, with errors where a value does not fit', async () => {
  const target_id = await newDataset();
  await ann.post('/v2/dataset_fields', { dataset_id: target_id, name: 'n', data_type: 'long' });
  const expression = "{'n': record.i if record.i < 2 else record.note, 'text': 'a'}";
  const annotator_params = { post_annotation_expression: expression };
  await migrateRecords({ target_id, source_params: { limit: 3 }, annotator_params });
  expect(await fetchStoredWithoutNulls(target_id)).toEqual([
    { n: 0, text: 'a' },
    { n: 1, text: 'a' },
    { text: 'a', _errors: { n: expect.any(String) } },
  ]);
});

test('replace the records of the target that have their ids', async () => {
  const target_id = await newDataset();
  await runImport({ dataset_id: target_id, data_records: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  await migrateRecords({
    source_id: target_id,
    target_id,
    commit_mode: 'upsert',
    annotator_params: { post_annotation_expression: '{**record, "n": record.n * 10} if record.n > 1 else None' },
  }); // prettier-ignore
  expect(await fetchStoredRecords(target_id)).toEqual([{ n: 1 }, { n: 20 }, { n: 30 }]);
});

test('are in the report of a dry run', async () => {
  const target_id = await newDataset();
  const source_params = { filters: [['i', 3]], fields: ['i', 'tags'] };
  const metadata = await migrateRecords({ target_id, source_params, dry_run: true, annotator_params: explodeTags }); // prettier-ignore
  const { sample } = metadata['dry_run'] as { sample: readonly unknown[] };
  expect(sample).toEqual([0, 1, 2].map((k) => ({ i: 3, tags: `3-${k}` })));
  expect(await fetchStoredRecords(target_id)).toEqual([]);
});
