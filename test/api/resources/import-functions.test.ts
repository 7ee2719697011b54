import { beforeAll, expect, test } from '@jest/globals';
import { startLab } from '../lab.js';
import { idOf, waitFor } from '../server.js';

/* Dataset functions in the expressions of imports: the worker's threads call the API process (contract 19; threats E4, E8). */

const { server, ann, vaultId } = await startLab();
const genes = ['BRCA1', 'TP53', 'EGFR', 'KRAS', 'MYC'];
const known = Array.from({ length: 200 }, (_, i) => ({
  gene: genes[(i * i) % 4],
  score: i / 8,
  tags: i % 3 === 0 ? ['a', 'b'] : ['c'],
}));
let knownId: number;

beforeAll(async () => {
  knownId = await newDataset('known');
  await imported(knownId, known, [{ name: 'score', data_type: 'double' }]);
});

async function newDataset(name: string): Promise<number> {
  return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
}

async function imported(
  datasetId: number,
  records: readonly object[],
  target_fields: readonly object[],
  more: object = {},
): Promise<Record<string, unknown>> {
  const body = { dataset_id: datasetId, data_records: records, target_fields, ...more };
  const made = await ann.post('/v2/dataset_imports', body);
  const { json } = await waitFor(ann, `/v2/dataset_imports/${idOf(made)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return json;
}

async function stored(datasetId: number, limit = 10_000): Promise<readonly Record<string, unknown>[]> {
  const body = { limit, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
} // prettier-ignore

test('give each record what a query gives', async () => {
  const records = Array.from({ length: 1000 }, (_, i) => ({ i, gene: genes[i % 5] }));
  const datasetId = await newDataset('joined');
  await imported(
    datasetId,
    records,
    [
      { name: 'count', expression: "dataset_count(D, filters=[['gene', record.gene]])", data_type: 'integer' },
      { name: 'top', expression: "dataset_query(D, fields=['score'], filters=[['gene', record.gene]], ordering=['-score'])", is_transient: true },
      { name: 'best', expression: 'record.top[0].score if record.top else None', data_type: 'double', depends_on: ['top'] },
    ],
    { annotator_params: { data: { D: knownId } } },
  ); // prettier-ignore
  const rows = await stored(datasetId);
  expect(rows).toHaveLength(records.length);
  for (const [i, row] of rows.entries()) {
    const own = known.filter(({ gene }) => gene === records[i]!.gene);
    const best = Math.max(...own.map(({ score }) => score));
    expect(row).toMatchObject({ i, count: own.length, best: own.length > 0 ? best : null });
  }
});

test('have the time of the request and the user of the import', async () => {
  const datasetId = await newDataset('origin');
  const fields = [
    { name: 'mail', expression: "user()['email']" },
    { name: 'at', expression: "now('UTC')" },
  ];
  const { created_at: created } = await imported(datasetId, [{ i: 1 }, { i: 2 }], fields);
  const rows = await stored(datasetId);
  expect(new Set(rows.map(({ mail }) => mail))).toEqual(new Set(['ann@acme.org']));
  expect(new Set(rows.map(({ at }) => at)).size).toBe(1);
  const apart = Date.parse(`${String(rows[0]!['at'])}Z`) - Date.parse(String(created));
  expect(Math.abs(apart)).toBeLessThan(2000);
});

test('reach what their user may read, and nothing else', async () => {
  const bob = await server.user('bob');
  const vault = idOf(await bob.post('/v2/vaults', { name: 'secret' }));
  const secret = idOf(await bob.post('/v2/datasets', { vault_id: vault, name: 'secret' }));
  const datasetId = await newDataset('rights');
  const count = (id: number) => ({ name: `n${id}`, expression: `dataset_count(${id})` });
  const mistake = { name: 'bad', expression: `dataset_count(${knownId}, filters=[['nope', 1]])` };
  await imported(datasetId, [{ i: 1 }], [count(secret), count(1), mistake]);
  const [row] = await stored(datasetId);
  const errors = row!['_errors'] as Record<string, string>;
  expect(errors[`n${secret}`]).toBe(errors['n1']!.replace('1', String(secret)));
  expect(errors['n1']).toMatch(/^Dataset query failed: /);
  expect(errors['bad']).toContain('nope');
});
