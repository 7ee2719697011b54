import { beforeAll, describe, expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf } from '../server.js';

/* Tests dataset functions in the expressions of imports: the threads of the worker call the API process (contract 19; threats E4, E8). */

const { server, ann, vaultId, runImport } = await startServerFixture({
  scheduler: { startWorker },
});
const genes = ['BRCA1', 'TP53', 'EGFR', 'KRAS', 'MYC'];
const knownRecords = Array.from({ length: 200 }, (_, i) => ({
  gene: genes[(i * i) % 4],
  score: i / 8,
  tags: i % 3 === 0 ? ['a', 'b'] : ['c'],
}));
let knownDatasetId: number;

beforeAll(async () => {
  knownDatasetId = await newDataset('known');
  await importRecords(knownDatasetId, knownRecords, [{ name: 'score', data_type: 'double' }]);
});

async function newDataset(name: string): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
}

async function importRecords(
  datasetId: number,
  records: readonly object[],
  target_fields: readonly object[],
  more: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  return runImport({ dataset_id: datasetId, data_records: records, target_fields, ...more });
}

async function fetchStoredRecords(datasetId: number, limit = 10_000): Promise<readonly Record<string, unknown>[]> {
  const body = { limit, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
} // prettier-ignore

test('give each record what a query gives', async () => {
  const records = Array.from({ length: 1000 }, (_, i) => ({ i, gene: genes[i % 5] }));
  const datasetId = await newDataset('joined');
  await importRecords(
    datasetId,
    records,
    [
      { name: 'count', expression: "dataset_count(D, filters=[['gene', record.gene]])", data_type: 'integer' },
      { name: 'top', expression: "dataset_query(D, fields=['score'], filters=[['gene', record.gene]], ordering=['-score'])", is_transient: true },
      { name: 'best', expression: 'record.top[0].score if record.top else None', data_type: 'double', depends_on: ['top'] },
    ],
    { annotator_params: { data: { D: knownDatasetId } } },
  ); // prettier-ignore
  const rows = await fetchStoredRecords(datasetId);
  expect(rows).toHaveLength(records.length);
  for (const [i, row] of rows.entries()) {
    const sameGeneRecords = knownRecords.filter(({ gene }) => gene === records[i]!.gene);
    const best = Math.max(...sameGeneRecords.map(({ score }) => score));
    expect(row).toMatchObject({
      i,
      count: sameGeneRecords.length,
      best: sameGeneRecords.length > 0 ? best : null,
    });
  }
});

describe('are answered together', () => {
  const links = Array.from({ length: 300 }, (_, i) => ({ key: i % 2 === 0 ? `K${i}` : `k${i}`, link: `K${(i * 7) % 320}` }));
  const records = Array.from({ length: 1200 }, (_, i) => ({ i, key: i % 50 === 0 ? null : `K${(i * 11) % 330}` }));
  const fields = [
    { name: 'link', expression: "dataset_field_values(D, 'link', filters=[['key', record.key]])", data_type: 'string', is_list: false },
    { name: 'far', expression: "dataset_count(D, filters=[['key', record.link]]) if record.link else -1", data_type: 'integer', depends_on: ['link'] },
    { name: 'counts', expression: "[dataset_count(D, filters=[('key', k)]) for k in [record.key, record.link] if k]", data_type: 'integer', is_list: true, depends_on: ['link'] },
    { name: 'both', expression: "dataset_query(D, fields=['link'], filters=[['key', dataset_field_values(D, 'link', filters=[['key', record.key]])[0]]])[0].link", data_type: 'string' },
  ];
  const linkOf = (key: string | null): string | null => links.find((one) => one.key.toLowerCase() === key?.toLowerCase())?.link ?? null;
  const countOfKey = (key: string | null): number => (linkOf(key) === null ? 0 : 1);
  const expectedRows = records.map(({ i, key }) => {
    const link = linkOf(key);
    const keys = [key, link].filter((one) => one !== null);
    return { i, link, far: link === null ? -1 : countOfKey(link), counts: keys.map(countOfKey), both: linkOf(link) };
  });
  let linksDatasetId: number;

  beforeAll(async () => {
    linksDatasetId = await newDataset('links');
    await importRecords(linksDatasetId, links, []);
  });

  /** Returns a record in a form in which an empty list and a missing one are equal. */
  const toShownRow = ({ i, link, far, counts, both }: Record<string, unknown>) => ({ i, link: link ?? null, far, counts: counts ?? [], both: both ?? null });

  test.each([{}, { post_annotation_expression: 'record' }])('in an import with %j', async (more) => {
    const datasetId = await newDataset(`together ${JSON.stringify(more)}`);
    await importRecords(datasetId, records, fields, { annotator_params: { data: { D: linksDatasetId }, ...more } });
    const rows = await fetchStoredRecords(datasetId);
    expect(rows.map(toShownRow)).toEqual(expectedRows);
    const failedRows = rows.filter((row) => row['_errors'] !== undefined && row['_errors'] !== null);
    expect(failedRows).toHaveLength(expectedRows.filter(({ both }) => both === null).length);
  });

  test('in the annotation of a request, and in a query', async () => {
    const data = { D: linksDatasetId };
    const { json } = await ann.post('/v1/annotate', { records: records.slice(0, 400), fields, data });
    expect((json['results'] as Record<string, unknown>[]).map(toShownRow)).toEqual(expectedRows.slice(0, 400));
    const datasetId = await newDataset('queried');
    await importRecords(datasetId, records, []);
    const body = { limit: 1200, target_fields: fields, annotator_params: { data } };
    const answer = await ann.post(`/v2/datasets/${datasetId}/data`, body);
    expect((answer.json['results'] as Record<string, unknown>[]).map(toShownRow)).toEqual(expectedRows);
  });
}); // prettier-ignore

test('have the time of the request and the user of the import', async () => {
  const datasetId = await newDataset('origin');
  const fields = [
    { name: 'mail', expression: "user()['email']" },
    { name: 'at', expression: "now('UTC')" },
  ];
  const startMs = Date.now();
  await importRecords(datasetId, [{ i: 1 }, { i: 2 }], fields);
  const endMs = Date.now();
  const rows = await fetchStoredRecords(datasetId);
  expect(new Set(rows.map(({ mail }) => mail))).toEqual(new Set(['ann@acme.org']));
  expect(new Set(rows.map(({ at }) => at)).size).toBe(1);
  // The text of the time ends with the second.
  const atMs = Date.parse(`${String(rows[0]!['at'])}Z`);
  expect(atMs).toBeGreaterThan(startMs - 1000);
  expect(atMs).toBeLessThanOrEqual(endMs);
});

test('reach what their user may read, and nothing else', async () => {
  const bob = await server.user('bob');
  const secretVaultId = idOf(await bob.post('/v2/vaults', { name: 'secret' }));
  const secretDatasetId = idOf(
    await bob.post('/v2/datasets', { vault_id: secretVaultId, name: 'secret' }),
  );
  const datasetId = await newDataset('rights');
  const countField = (id: number) => ({ name: `n${id}`, expression: `dataset_count(${id})` });
  const failingField = {
    name: 'bad',
    expression: `dataset_count(${knownDatasetId}, filters=[['nope', 1]])`,
  };
  await importRecords(
    datasetId,
    [{ i: 1 }],
    [countField(secretDatasetId), countField(1), failingField],
  );
  const [row] = await fetchStoredRecords(datasetId);
  const errors = row!['_errors'] as Record<string, string>;
  expect(errors[`n${secretDatasetId}`]).toBe(errors['n1']!.replace('1', String(secretDatasetId)));
  expect(errors['n1']).toMatch(/^Dataset query failed: /);
  expect(errors['bad']).toContain('nope');
});
