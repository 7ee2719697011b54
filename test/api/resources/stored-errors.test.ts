import { describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

/* Tests `_errors` of records whose fields are computed again, or that have fields computed by several jobs. */

const { ann, newDataset } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

async function runJob(kind: 'dataset_imports' | 'dataset_migrations', body: object): Promise<void> {
  const createdJob = await ann.post(`/v2/${kind}`, body);
  expect([createdJob.status, createdJob.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/${kind}/${idOf(createdJob)}`);
  expect([json['error_message'], json['status']]).toEqual([null, 'completed']);
}

/**
 * Returns the records of a dataset without nulls, `_id` and `_commit`, and with `failed` instead of `_errors`: a string as it is, or
 * else the names of the fields that have an error, sorted.
 */
async function fetchRecords(datasetId: number): Promise<readonly Json[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 100 });
  return (json['results'] as Json[]).map(({ _id, _commit, _errors, ...rest }) => ({
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
    ...(_errors !== null &&
      _errors !== undefined && {
        failed: typeof _errors === 'string' ? _errors : namesWithValue(_errors as Json),
      }),
  }));
}

function namesWithValue(object: Json): readonly string[] {
  return Object.keys(object)
    .filter((name) => object[name] !== null)
    .toSorted();
}

/** Returns a target field whose expression fails for the records whose `i` is one of the numbers. */
const fieldFailingFor = (name: string, ...numbers: readonly number[]): Json => ({
  name,
  expression: `error('no') if record.i in [${numbers.join(', ')}] else record.i * 10`,
  data_type: 'long',
});

/** Creates a dataset of three records, whose fields `q` and `symbol` failed for some. */
async function newFailedDataset(): Promise<number> {
  const dataset_id = await newDataset();
  await runJob('dataset_imports', { dataset_id, data_records: [{ i: 0 }, { i: 1 }, { i: 2 }], target_fields: [fieldFailingFor('q', 0), fieldFailingFor('symbol', 0, 1)] }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([{ i: 0, failed: ['q', 'symbol'] }, { i: 1, q: 10, failed: ['symbol'] }, { i: 2, q: 20, symbol: 20 }]); // prettier-ignore
  return dataset_id;
}

const expectedAfterCorrection = [
  { i: 0, symbol: 0, failed: ['q'] },
  { i: 1, q: 10, symbol: 10 },
  { i: 2, q: 20, failed: ['symbol'] },
];

test.each([[{}], [{ fields: ['i'] }]])(
  'a migration of a dataset into itself replaces the errors of the fields that it computes (source_params %j)',
  async (source_params) => {
    const id = await newFailedDataset();
    const body = { source_id: id, target_id: id, commit_mode: 'upsert', source_params };
    await runJob('dataset_migrations', { ...body, target_fields: [fieldFailingFor('symbol', 2)] });
    expect(await fetchRecords(id)).toEqual(expectedAfterCorrection); // prettier-ignore
    // A migration in which no expression fails removes the errors of the fields that it computes.
    await runJob('dataset_migrations', {
      ...body,
      target_fields: [fieldFailingFor('symbol'), fieldFailingFor('q')],
    });
    expect(await fetchRecords(id)).toEqual(
      [0, 1, 2].map((i) => ({ i, q: 10 * i, symbol: 10 * i })),
    );
  },
);

test('an upsert with computed fields replaces their errors, and keeps those of other fields', async () => {
  const dataset_id = await newFailedDataset();
  const body = { dataset_id, commit_mode: 'upsert', id_fields: ['i'] };
  await runJob('dataset_imports', {
    ...body, data_records: [{ i: 0 }, { i: 1 }], target_fields: [fieldFailingFor('symbol')],
  }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([{ i: 0, symbol: 0, failed: ['q'] }, { i: 1, q: 10, symbol: 10 }, { i: 2, q: 20, symbol: 20 }]); // prettier-ignore
  // Values that are given, and not computed, leave `_errors` as it is.
  await runJob('dataset_imports', { ...body, data_records: [{ i: 0, symbol: 7 }] });
  expect((await fetchRecords(dataset_id))[0]).toEqual({ i: 0, symbol: 7, failed: ['q'] });
  await runJob('dataset_imports', { ...body, data_records: [{ i: 0 }], target_fields: [fieldFailingFor('q')], include_errors: false }); // prettier-ignore
  expect((await fetchRecords(dataset_id))[0]).toEqual({ i: 0, q: 0, symbol: 7 });
});

describe('where the errors are stored as JSON, because another record has a string there', () => {
  const otherRecords = [{ i: 3, _errors: 'unknown' }, { i: 4, _errors: { old: 'no' } }]; // prettier-ignore

  /** Creates a dataset of `otherRecords`, followed by the records of `newFailedDataset`. */
  async function newDatasetOfJson(): Promise<number> {
    const dataset_id = await newDataset();
    await runJob('dataset_imports', { dataset_id, data_records: otherRecords });
    await runJob('dataset_imports', { dataset_id, data_records: [{ i: 0 }, { i: 1 }, { i: 2 }], target_fields: [fieldFailingFor('q', 0), fieldFailingFor('symbol', 0, 1)] }); // prettier-ignore
    const { text } = await ann.get(`/v2/datasets/${dataset_id}/fields`);
    expect(text).not.toContain('"_errors.q"');
    return dataset_id;
  }

  /** The records after the computation of `symbol`, which fails where `i` is 2. */
  const expectedRecords = [
    { i: 3, symbol: 30, failed: 'unknown' },
    { i: 4, symbol: 40, failed: ['old'] },
    { i: 0, symbol: 0, failed: ['q'] },
    { i: 1, q: 10, symbol: 10 },
    { i: 2, q: 20, failed: ['symbol'] },
  ];

  test('an upsert with computed fields replaces their errors', async () => {
    const dataset_id = await newDatasetOfJson();
    const body = { dataset_id, commit_mode: 'upsert', id_fields: ['i'] };
    await runJob('dataset_imports', {
      ...body, data_records: [0, 1, 2, 3, 4].map((i) => ({ i })), target_fields: [fieldFailingFor('symbol', 2)],
    }); // prettier-ignore
    expect(await fetchRecords(dataset_id)).toEqual(expectedRecords);
  });

  test.each([[{}], [{ fields: ['i'] }]])(
    'a migration of the dataset into itself replaces the errors of the fields that it computes (source_params %j)',
    async (source_params) => {
      const id = await newDatasetOfJson();
      const body = { source_id: id, target_id: id, commit_mode: 'upsert', source_params };
      await runJob('dataset_migrations', {
        ...body,
        target_fields: [fieldFailingFor('symbol', 2)],
      });
      expect(await fetchRecords(id)).toEqual(expectedRecords);
      await runJob('dataset_migrations', { ...body, target_fields: [fieldFailingFor('symbol'), fieldFailingFor('q')] }); // prettier-ignore
      expect(await fetchRecords(id)).toEqual([
        { i: 3, q: 30, symbol: 30, failed: 'unknown' },
        { i: 4, q: 40, symbol: 40, failed: ['old'] },
        ...[0, 1, 2].map((i) => ({ i, q: 10 * i, symbol: 10 * i })),
      ]);
    },
  );
});

test.each([
  ['computed fields', {}],
  ['records that expressions produce', { pre_annotation_expression: 'record' }],
])('a migration with %s appends records with the errors of earlier and of new fields', async (_, annotator_params) => {
  const source_id = await newFailedDataset();
  const target_id = await newDataset();
  await runJob('dataset_migrations', {
    source_id, target_id, annotator_params, target_fields: [fieldFailingFor('symbol', 2), fieldFailingFor('r', 0, 1)],
  }); // prettier-ignore
  expect(await fetchRecords(target_id)).toEqual([{ i: 0, symbol: 0, failed: ['q', 'r'] }, { i: 1, q: 10, symbol: 10, failed: ['r'] }, { i: 2, q: 20, r: 20, failed: ['symbol'] }]); // prettier-ignore
  const correctedTargetId = await newDataset();
  await runJob('dataset_migrations', {
    source_id, target_id: correctedTargetId, annotator_params, target_fields: [fieldFailingFor('symbol')],
  });
  expect(await fetchRecords(correctedTargetId)).toEqual([{ i: 0, symbol: 0, failed: ['q'] }, { i: 1, q: 10, symbol: 10 }, { i: 2, q: 20, symbol: 20 }]);
}); // prettier-ignore

test.each([
  ['typed', []],
  ['stored as JSON', [{ i: 8, _errors: 'unknown' }, { i: 9, _errors: { old: 'no' } }]],
])('an upsert that computes a field of the dataset to None removes its error (errors %s)', async (_, otherRecords) => {
  const dataset_id = await newDataset();
  if (otherRecords.length > 0) await runJob('dataset_imports', { dataset_id, data_records: otherRecords });
  const fields = [['q', 'record.x'], ['deep', 'record.info.x']] as const;
  for (const [name, input] of fields)
    await ann.post('/v2/dataset_fields', { dataset_id, name, expression: `10 / ${input} if ${input} < 5 else None`, data_type: 'double' });
  const failingValues = { x: 0, info: { x: 0 } };
  await runJob('dataset_imports', { dataset_id, data_records: [0, 1, 2, 3].map((i) => ({ i, ...failingValues })) });
  const failedNames = ['deep', 'q'];
  const storedRecords = await fetchRecords(dataset_id);
  expect(storedRecords.slice(otherRecords.length)).toEqual([0, 1, 2, 3].map((i) => ({ i, ...failingValues, failed: failedNames })));
  const data_records = [{ i: 0, x: 7, info: { x: 7 } }, { i: 1, x: 7 }, { i: 2, info: { x: 7 } }, { i: 3, info: { y: 1 } }];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records });
  expect((await fetchRecords(dataset_id)).slice(otherRecords.length)).toMatchObject([
    { i: 0, x: 7, info: { x: 7 } },
    { i: 1, x: 7, failed: ['deep'] },
    { i: 2, info: { x: 7 }, failed: ['q'] },
    { i: 3, info: { x: 0, y: 1 }, failed: failedNames },
  ]);
  expect((await fetchRecords(dataset_id))[otherRecords.length]).not.toHaveProperty('failed');
}); // prettier-ignore
