import { expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

/* Tests that a computed field takes the result of its expression also when that is null (contract.md, section 10.4; expressions.md, section 6). */

const { server, ann, newDataset } = await startServerFixture({ scheduler: { startWorker } });

type Json = Readonly<Record<string, unknown>>;

async function runJob(kind: 'dataset_imports' | 'dataset_migrations', body: object): Promise<void> {
  const createdJob = await ann.post(`/v2/${kind}`, body);
  expect([createdJob.status, createdJob.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/${kind}/${idOf(createdJob)}`);
  expect([json['error_message'], json['status']]).toEqual([null, 'completed']);
}

/** Returns the records of a dataset in their order, without nulls, `_id` and `_commit`. */
async function fetchRecords(datasetId: number): Promise<readonly unknown[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 100 });
  return (json['results'] as Json[]).map(({ _id, _commit, ...rest }) => withoutNulls(rest));
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : [[name, withoutNulls(member)]],
    ),
  );
}

test('an upsert empties the fields of the dataset whose expressions give null or fail for what it gives', async () => {
  const dataset_id = await newDataset();
  await ann.post('/v2/dataset_fields', { dataset_id, name: 'q', expression: '10 / record.x if record.x < 5 else None', data_type: 'double' }); // prettier-ignore
  await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3, 4].map((i) => ({ i, x: 1 })) }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([1, 2, 3, 4].map((i) => ({ i, x: 1, q: 10 })));
  const data_records = [
    { i: 1, x: 7 },
    { i: 2, x: 0 },
    { i: 3, note: 'x is not given' },
  ];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1, x: 7 },
    { i: 2, x: 0, _errors: { q: expect.stringContaining('zero') } },
    { i: 3, x: 1, q: 10, note: 'x is not given' },
    { i: 4, x: 1, q: 10 },
  ]);
});

/** Values of each shape that a field can have, by the name of the field. */
const shapes = {
  n: 1,
  text: 'a',
  object: { a: 1, b: { c: 2 } },
  list: [1, 2],
  objects: [{ a: 1 }],
};

/**
 * Target fields with the names in `shapes`, computed for all records, that have no value where `i` is 1. The expressions of lists fail
 * there, since the result None would make a list of one null (expressions.md, section 5.2).
 */
const nullingFields = Object.entries(shapes).map(([name, value]) => ({
  name,
  expression: `${Array.isArray(value) ? "error('no')" : 'None'} if record.i == 1 else ${JSON.stringify(value)}`,
  ...(Array.isArray(value) && { is_list: true }),
}));

/** Records in which each of the fields that are no lists has values of other types, so that it is stored as JSON. */
const recordsOfOtherTypes = [{ other: [true, 'x', { y: 1 }] }, 'z', [[1]]].map((value, i) => ({
  i: -i,
  n: value,
  text: value,
  object: value,
}));

test.each([
  ['typed', []],
  ['stored as JSON', recordsOfOtherTypes],
])(
  'an expression of an upsert empties a field of any shape (columns %s)',
  async (_, otherRecords) => {
    const dataset_id = await newDataset();
    if (otherRecords.length > 0)
      await runJob('dataset_imports', { dataset_id, data_records: otherRecords });
    await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3].map((i) => ({ i, kept: i, ...shapes })) }); // prettier-ignore
    const recordsBefore = await fetchRecords(dataset_id);
    const upsertBody = {
      dataset_id,
      commit_mode: 'upsert',
      id_fields: ['i'],
      include_errors: false,
    };
    await runJob('dataset_imports', { ...upsertBody, data_records: [{ i: 1 }, { i: 2 }], target_fields: nullingFields }); // prettier-ignore
    const expectedRecords = recordsBefore.map((one) =>
      (one as Json)['i'] === 1 ? { i: 1, kept: 1 } : one,
    );
    expect(await fetchRecords(dataset_id)).toEqual(expectedRecords);
  },
);

test('a migration of a dataset into itself empties what its expressions compute to null', async () => {
  const id = await newDataset();
  await runJob('dataset_imports', { dataset_id: id, data_records: [1, 2].map((i) => ({ i, kept: i, failing: i, ...shapes })) }); // prettier-ignore
  const failingField = { name: 'failing', expression: '1 / (record.i - 1)' };
  await runJob('dataset_migrations', {
    source_id: id, target_id: id, commit_mode: 'upsert', target_fields: [...nullingFields, failingField],
  }); // prettier-ignore
  expect(await fetchRecords(id)).toEqual([
    {
      i: 1,
      kept: 1,
      _errors: { failing: expect.stringContaining('zero'), list: 'no', objects: 'no' },
    },
    { i: 2, kept: 2, failing: 1, ...shapes },
  ]);
});

test('a computed object replaces the object that a record had', async () => {
  const id = await newDataset();
  await runJob('dataset_imports', { dataset_id: id, data_records: [{ i: 1, object: { a: 1, b: 2 } }] }); // prettier-ignore
  await runJob('dataset_migrations', { source_id: id, target_id: id, commit_mode: 'upsert', target_fields: [{ name: 'object', expression: '{"b": record.object.b}' }] }); // prettier-ignore
  expect(await fetchRecords(id)).toEqual([{ i: 1, object: { b: 2 } }]);
  await ann.post('/v2/dataset_fields', { dataset_id: id, name: 'made', expression: '{"p": record.p, "q": record.q}' }); // prettier-ignore
  const upsertBody = { dataset_id: id, commit_mode: 'upsert', id_fields: ['i'] };
  await runJob('dataset_imports', { ...upsertBody, data_records: [{ i: 1, p: 1, q: 1 }] });
  await runJob('dataset_imports', {
    ...upsertBody,
    data_records: [
      { i: 1, p: 2 },
      { i: 2, p: 3, q: 3 },
    ],
  });
  expect(await fetchRecords(id)).toEqual([
    { i: 1, object: { b: 2 }, p: 2, q: 1, made: { p: 2 } },
    { i: 2, p: 3, q: 3, made: { p: 3, q: 3 } },
  ]);
});

test('an expression that decides which fields its records have leaves the others as they are', async () => {
  const id = await newDataset();
  await runJob('dataset_imports', { dataset_id: id, data_records: [{ i: 1, x: 1, n: 1 }] });
  await runJob('dataset_migrations', { source_id: id, target_id: id, commit_mode: 'upsert', target_fields: [{ name: 'n', expression: '2' }], annotator_params: { post_annotation_expression: '{"_id": record._id, "x": 5}' } }); // prettier-ignore
  expect(await fetchRecords(id)).toEqual([{ i: 1, x: 5, n: 1 }]);
});

/** Declares computed fields of a dataset, each with what it depends on. */
async function declareFields(
  dataset_id: number,
  fields: Readonly<Record<string, string>>,
  depends_on: Readonly<Record<string, readonly string[]>> = {},
): Promise<void> {
  for (const [name, expression] of Object.entries(fields)) {
    const body = { dataset_id, name, expression, depends_on: depends_on[name] ?? [] };
    expect((await ann.post('/v2/dataset_fields', body)).status).toBe(201);
  }
}

test('an upsert empties a field whose expression reads the value that the record gives for the field itself', async () => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, { status: "None if value == 'NA' else value" });
  await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3].map((i) => ({ i, status: 'seen' })) }); // prettier-ignore
  const data_records = [
    { i: 1, status: 'NA' },
    { i: 2, status: 'new' },
    { i: 3, other: 1 },
  ];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1 },
    { i: 2, status: 'new' },
    { i: 3, status: 'seen', other: 1 },
  ]);
});

test('an upsert empties a field whose expression reads a member of a field that is stored as JSON', async () => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, { q: 'record.info.x if record.info.x < 5 else None' });
  await runJob('dataset_imports', {
    dataset_id, data_records: [{ i: 0, info: 'a text' }, ...[1, 2, 3].map((i) => ({ i, info: { x: 1 } }))],
  }); // prettier-ignore
  const data_records = [
    { i: 1, info: { x: 7 } },
    { i: 2, info: { y: 7 } },
  ];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records }); // prettier-ignore
  expect((await fetchRecords(dataset_id)).slice(1)).toEqual([
    { i: 1, info: { x: 7 } },
    { i: 2, info: { x: 1, y: 7 }, q: 1 },
    { i: 3, info: { x: 1 }, q: 1 },
  ]);
});

test.each([
  ['a transient field', async (dataset_id: number, data_records: readonly object[]) => {
    const target_fields = [{ name: 'x', data_type: 'long', is_transient: true }];
    await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records, target_fields });
  }],
  ['a field of the source that is not migrated', async (target_id: number, data_records: readonly object[]) => {
    const source_id = await newDataset();
    await runJob('dataset_imports', { dataset_id: source_id, data_records });
    await runJob('dataset_migrations', { source_id, target_id, commit_mode: 'upsert', id_fields: ['i'], source_params: { exclude_fields: ['x'] } });
  }],
])('an upsert empties a field whose expression reads %s', async (_, upsert) => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, { q: '10 * record.x if record.x < 5 else None' });
  await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3].map((i) => ({ i, x: 1 })), target_fields: [{ name: 'x', data_type: 'long', is_transient: true }] });
  expect(await fetchRecords(dataset_id)).toEqual([1, 2, 3].map((i) => ({ i, q: 10 })));
  await upsert(dataset_id, [{ i: 1, x: 7 }, { i: 2, x: 2 }, { i: 3, n: 3 }]);
  expect(await fetchRecords(dataset_id)).toEqual([{ i: 1 }, { i: 2, q: 20 }, { i: 3, q: 10, n: 3 }]);
}); // prettier-ignore

const chain = {
  fields: { a: 'record.x if record.x < 5 else None', b: '2 * record.a', c: 'str(record.b)' },
  depends: { b: ['a'], c: ['b'] },
};

test.each([
  ['fields', {}],
  ['records that an expression produces', { annotator_params: { pre_annotation_expression: 'record' } }],
])('a field that reads a computed one is computed for the same records (%s)', async (_, more) => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, chain.fields, chain.depends);
  await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3].map((i) => ({ i, x: 1 })) });
  expect(await fetchRecords(dataset_id)).toEqual([1, 2, 3].map((i) => ({ i, x: 1, a: 1, b: 2, c: '2' })));
  const data_records = [{ i: 1, x: 7 }, { i: 2, x: 2 }, { i: 3, n: 3 }];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records, ...more });
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1, x: 7, c: 'None', _errors: { b: expect.stringContaining('NoneType') } },
    { i: 2, x: 2, a: 2, b: 4, c: '4' },
    { i: 3, x: 1, a: 1, b: 2, c: '2', n: 3 },
  ]);
  const { json } = await ann.get(`/v2/datasets/${dataset_id}/fields`);
  expect((json['data'] as Json[]).map(({ name }) => name)).not.toContain('_strandlake_computed');
}); // prettier-ignore

test.each([['i'], ['x'], ['n']])('a dataset function is called for each record by its own need (order by %s)', async (orderField) => {
  const labelDatasetId = await newDataset();
  await runJob('dataset_imports', { dataset_id: labelDatasetId, data_records: [{ n: 1, label: 'one' }] });
  const dataset_id = await newDataset();
  const b = `'none' if record.a is None else dataset_field_values(${labelDatasetId}, 'label', limit=1, filters=[('n', record.a)])[0]`;
  await declareFields(dataset_id, { a: 'record.x if record.x < 5 else None', b }, { b: ['a'] });
  await runJob('dataset_imports', { dataset_id, data_records: [1, 2, 3].map((i) => ({ i, x: 1 })) });
  expect(await fetchRecords(dataset_id)).toEqual([1, 2, 3].map((i) => ({ i, x: 1, a: 1, b: 'one' })));
  const givenRecords: Json[] = [{ i: 1, x: 7 }, { i: 2, n: 2 }, { i: 3, n: 3 }];
  const data_records = givenRecords.toSorted((one, other) => Number(one[orderField] ?? 0) - Number(other[orderField] ?? 0));
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records });
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1, x: 7, b: 'none' },
    { i: 2, x: 1, a: 1, b: 'one', n: 2 },
    { i: 3, x: 1, a: 1, b: 'one', n: 3 },
  ]);
}); // prettier-ignore

test('numbers of a field stay where a record gives only its key', async () => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, { q: 'record.i * 10 if record.i > 5 else record.x' });
  await runJob('dataset_imports', { dataset_id, data_records: [{ i: 1, x: 1 }, { i: 7, x: 1 }], target_fields: [{ name: 'q', expression: '5' }] }); // prettier-ignore
  const data_records = [
    { i: 1, x: 2 },
    { i: 7, n: 1 },
  ];
  await runJob('dataset_imports', { dataset_id, commit_mode: 'upsert', id_fields: ['i'], data_records }); // prettier-ignore
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1, x: 2, q: 2 },
    { i: 7, x: 1, q: 5, n: 1 },
  ]);
});

test('records that an upsert adds store no marks of what was computed, and are found in exports and by SQL', async () => {
  const dataset_id = await newDataset();
  await declareFields(dataset_id, { q: '10 * record.x' });
  const upsertBody = { dataset_id, commit_mode: 'upsert' };
  await runJob('dataset_imports', { ...upsertBody, id_fields: ['i'], data_records: [{ i: 1, x: 1 }, { i: 2 }] }); // prettier-ignore
  await runJob('dataset_imports', { ...upsertBody, data_records: [{ _id: 'own', i: 3, x: 3 }, { i: 4, n: 1 }] }); // prettier-ignore
  await runJob('dataset_imports', {
    ...upsertBody,
    data_records: [{ _id: 'own', i: 3, x: 4, n: 2 }],
  });
  expect(await fetchRecords(dataset_id)).toEqual([
    { i: 1, x: 1, q: 10 },
    { i: 2 },
    { i: 3, x: 4, n: 2, q: 40 },
    { i: 4, n: 1 },
  ]);
  expect(await server.store.verify(dataset_id)).toEqual([]);
  const { segments } = await server.store.snapshot(dataset_id);
  const columnNames = segments.flatMap(({ columns }) => columns.map(({ physical }) => physical));
  expect(columnNames).not.toContain('_strandlake_computed');
});
