import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf } from '../server.js';

/*
 * Tests imports whose expressions turn each record into any number of records (specification of expressions, section 5.5; contract 10,
 * 19).
 */

const { ann, vaultId, newFile, runImport } = await startServerFixture();

interface CompletedImport {
  readonly id: number;
  readonly datasetId: number;
  readonly metadata: Record<string, Record<string, unknown>>;
}

async function newDataset(fields: readonly object[] = []): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `d${Math.random()}`, fields })); // prettier-ignore
}

async function importRecords(source: readonly object[] | number, more: object, targetDatasetId?: number): Promise<CompletedImport> {
  const datasetId = targetDatasetId ?? (await newDataset());
  const sourceParams = typeof source === 'number' ? { object_id: source } : { data_records: source };
  const body = { dataset_id: datasetId, entity_params: { disable: true }, ...sourceParams, ...more };
  const json = await runImport(body);
  return { id: Number(json['id']), datasetId, metadata: json['metadata'] as CompletedImport['metadata'] };
} // prettier-ignore

/** Returns the records of a dataset without nulls, `_id` and `_commit`. */
async function fetchStoredRecords(datasetId: number): Promise<readonly Record<string, unknown>[]> {
  const body = { exclude_fields: ['_id', '_commit'], limit: 10_000 };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return (json['results'] as object[]).map((record) =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
  );
}

async function fetchFieldTypes(datasetId: number): Promise<Record<string, unknown>> {
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`));
  return Object.fromEntries(fields.map((field) => [String(field['name']), [field['data_type'], field['is_list']]])); // prettier-ignore
}

const annotateWith = (params: object, target_fields: readonly object[] = []) => ({
  annotator_params: params,
  target_fields,
});

const postExpression = (expression: string) => ({ post_annotation_expression: expression });
const preExpression = (expression: string) => ({ pre_annotation_expression: expression });

test('explode makes one record of each element; the fields are no lists any more', async () => {
  const records = [
    { id: 'a', gene: ['TP53', 'KRAS'], n: [1, 2], q: 1.5 },
    { id: 'b', gene: [], n: [], q: 2 },
    { id: 'c', gene: ['MYC'], n: [3] },
  ];
  const { datasetId, metadata } = await importRecords(records, annotateWith(preExpression("explode(record, fields=['gene', 'n'])"), [
    { name: 'label', expression: "(record.gene or '-') + ':' + record.id" },
  ])); // prettier-ignore
  expect(await fetchStoredRecords(datasetId)).toEqual([
    { id: 'a', gene: 'TP53', n: 1, q: 1.5, label: 'TP53:a' },
    { id: 'a', gene: 'KRAS', n: 2, q: 1.5, label: 'KRAS:a' },
    { id: 'b', q: 2, label: '-:b' },
    { id: 'c', gene: 'MYC', n: 3, label: 'MYC:c' },
  ]);
  expect(await fetchFieldTypes(datasetId)).toMatchObject({ gene: ['string', null], n: ['long', null], q: ['double', null] }); // prettier-ignore
  expect(metadata['receipt']).toMatchObject({ records_read: 3, records_stored: 4, records_rejected: 0, records_made: 1 }); // prettier-ignore
  const [commit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  expect(commit).toMatchObject({ records_added: 4 });
  const dataset = await ann.get(`/v2/datasets/${datasetId}`);
  expect(dataset.json['documents_count']).toBe(4);
});

test('melt, records that are dropped, and transient fields', async () => {
  const meltedImport = await importRecords(
    [{ sample: 's', t0: 1, t1: 2 }],
    annotateWith(
      postExpression("melt(record, fields=['t0', 't1'], key_field='time', value_field='dose')"),
      [{ name: 'twice', expression: 'record.t1 * 2', is_transient: true }],
    ),
  );
  expect(await fetchStoredRecords(meltedImport.datasetId)).toEqual([
    { sample: 's', time: 't0', dose: 1 },
    { sample: 's', time: 't1', dose: 2 },
  ]);
  const keptImport = await importRecords(
    Array.from({ length: 10 }, (_, n) => ({ n })),
    annotateWith(preExpression('record if record.n % 3 == 0 else None')),
  );
  expect(await fetchStoredRecords(keptImport.datasetId)).toEqual([
    { n: 0 },
    { n: 3 },
    { n: 6 },
    { n: 9 },
  ]);
  expect(keptImport.metadata['receipt']).toMatchObject({ records_read: 10, records_stored: 4, records_made: -6 }); // prettier-ignore
});

test('declared types of the dataset hold for the records that expressions produce', async () => {
  const datasetId = await newDataset([{ name: 'n', data_type: 'string' }, { name: 'x', data_type: 'long' }]); // prettier-ignore
  const { metadata } = await importRecords([{ n: [7, 8], x: 'a' }], annotateWith(preExpression("explode(record, fields=['n'])")), datasetId); // prettier-ignore
  const errors = { x: expect.any(String) as unknown };
  expect(await fetchStoredRecords(datasetId)).toEqual([{ n: '7', _errors: errors }, { n: '8', _errors: errors }]); // prettier-ignore
  const { warnings } = metadata['validation'] as { warnings: Record<string, unknown>[] };
  expect(warnings.filter(({ code }) => code === 500)).toMatchObject([{ field: 'x', line: 1, count: 2 }]); // prettier-ignore
});

test('an error leaves the record as it is, with the message', async () => {
  const { datasetId } = await importRecords([{ n: 1 }, { n: 0 }], annotateWith(preExpression('explode(record, fields=[str(1 // record.n)])'))); // prettier-ignore
  expect(await fetchStoredRecords(datasetId)).toEqual([
    expect.objectContaining({ n: 1 }),
    {
      n: 0,
      _errors: {
        pre_annotation_expression: 'integer division or modulo by zero (line 1, column 31)',
      },
    },
  ]);
});

test('chunks do not matter: a file of several chunks gives what each record gives', async () => {
  const recordCount = 24_000;
  const lastIndex = recordCount - 1;
  const lines = Array.from({ length: recordCount }, (_, i) =>
    JSON.stringify({ i, tags: i % 4 === 0 ? [] : Array.from({ length: i % 4 }, (_x, k) => `${i}-${k}`), v: i === lastIndex ? 'end' : i, pad: 'x'.repeat(250) }),
  ); // prettier-ignore
  const fileId = await newFile('many.json', `${lines.join('\n')}\n`);
  const { datasetId, metadata } = await importRecords(fileId, annotateWith(preExpression("explode(record, fields=['tags'])"), [
    { name: 'pad', is_transient: true },
  ])); // prettier-ignore
  const expectedCount = Array.from({ length: recordCount }, (_, i) => Math.max(1, i % 4)).reduce((a, b) => a + b, 0);
  expect(metadata['receipt']).toMatchObject({
    records_read: recordCount, records_stored: expectedCount, records_made: expectedCount - recordCount,
  });
  const fetchCount = async (filters: unknown): Promise<unknown> =>
    (await ann.post(`/v2/datasets/${datasetId}/data`, { filters, limit: 0 })).json['total'];
  expect(await fetchCount([])).toBe(expectedCount);
  expect(await fetchCount([['tags', '23999-2']])).toBe(1);
  expect(await fetchCount([['v', '1234']])).toBe(2);
  const idFacet = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0, facets: { _id: { facet_type: 'count' } } });
  expect((idFacet.json['facets'] as Record<string, unknown>)['_id']).toBe(expectedCount);
  const page = await ann.post(`/v2/datasets/${datasetId}/data`, { fields: ['i', 'tags', 'v'], limit: 5, offset: expectedCount - 5 });
  expect(page.json['results']).toEqual([
    { i: 23997, tags: '23997-0', v: '23997' },
    ...[0, 1].map((k) => ({ i: 23998, tags: `23998-${k}`, v: '23998' })),
    ...[0, 1, 2].map((k) => ({ i: 23999, tags: `23999-${k}`, v: 'end' })),
  ].slice(-5));
}); // prettier-ignore

test('records that replace others keep their ids', async () => {
  const { datasetId } = await importRecords([{ n: 1 }, { n: 2 }], {});
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, {});
  const ids = (json['results'] as Record<string, unknown>[]).map((record) => record['_id']);
  const changedRecords = ids.map((_id, i) => ({ _id, n: (i + 1) * 10 }));
  await importRecords(changedRecords, { commit_mode: 'upsert', ...annotateWith(postExpression('{**record, "n": record.n + 1}')) }, datasetId); // prettier-ignore
  const pageAfter = await ann.post(`/v2/datasets/${datasetId}/data`, { fields: ['_id', 'n'] });
  expect(pageAfter.json['results']).toEqual(ids.map((_id, i) => ({ _id, n: (i + 1) * 10 + 1 })));
});

test('a dry run tells what would be stored', async () => {
  const datasetId = await newDataset();
  const { metadata } = await importRecords([{ n: [1, 2] }], { dry_run: true, ...annotateWith(preExpression("explode(record, fields=['n'])")) }, datasetId); // prettier-ignore
  expect(metadata['dry_run']!['sample']).toEqual([{ n: 1 }, { n: 2 }]);
  expect(await fetchStoredRecords(datasetId)).toEqual([]);
});

test('a mistake is a 400 that names the expression', async () => {
  const body = { dataset_id: await newDataset(), data_records: [{}], annotator_params: preExpression('explode(') }; // prettier-ignore
  const { status, json } = await ann.post('/v2/dataset_imports', body);
  expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('pre_annotation_expression')]); // prettier-ignore
  expect(Object.keys(json)).toEqual(['annotator_params']);
});
