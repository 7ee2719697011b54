import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

const { ann, newDataset, newFile } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

/** Returns the records of a dataset in their order, without `_id`, `_commit` and nulls. */
async function fetchRecords(datasetId: number): Promise<readonly Json[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1000 });
  return (json['results'] as Json[]).map(({ _id, _commit, ...rest }) =>
    Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
  );
}

async function runImport(dataset_id: number, body: object): Promise<Json> {
  const createdImport = await ann.post('/v2/dataset_imports', { dataset_id, ...body });
  expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  expect([json['error_message'], json['status']]).toEqual([null, 'completed']);
  return json;
}

test('a field whose own name has a dot is a key of files, also of those to delete', async () => {
  const datasetId = await newDataset();
  const importFile = async (commit_mode: string, text: string): Promise<Json> => {
    const object_id = await newFile('samples.csv', text);
    return runImport(datasetId, { object_id, commit_mode, id_fields: ['Sample.ID'] });
  };
  await runImport(datasetId, { object_id: await newFile('samples.csv', 'Sample.ID,age\nS1,40\nS2,50\nS3,60\n') }); // prettier-ignore
  await importFile('upsert', 'Sample.ID,age\nS2,51\nS4,70\n');
  expect(await fetchRecords(datasetId)).toEqual([{ 'Sample.ID': 'S1', age: 40 }, { 'Sample.ID': 'S2', age: 51 }, { 'Sample.ID': 'S3', age: 60 }, { 'Sample.ID': 'S4', age: 70 }]); // prettier-ignore
  const deletion = await importFile('delete', 'Sample.ID,age\nS3,1\nnobody,2\n');
  expect(deletion['metadata']).toMatchObject({ deletions: { records_deleted: 1, ids_not_found: 1 } }); // prettier-ignore
  expect((await fetchRecords(datasetId)).map((record) => record['Sample.ID'])).toEqual(['S1', 'S2', 'S4']); // prettier-ignore
});

test('a name with a dot is the field with that own name rather than the member of an object, as in queries', async () => {
  const datasetId = await newDataset();
  await runImport(datasetId, { records: [{ 'a.b': 1, a: { b: 2 }, o: { 'c.d': 5, c: { d: 6 } } }, { 'a.b': 2, a: { b: 1 }, o: { 'c.d': 6, c: { d: 5 } } }] }); // prettier-ignore
  const fetchNotes = async (): Promise<unknown[]> => (await fetchRecords(datasetId)).map(({ note }) => note); // prettier-ignore
  for (const [name, value, key, note] of [
    ['a.b', 2, { 'a.b': 2, a: { b: 2 } }, 'by a.b'],
    ['o.c.d', 5, { o: { 'c.d': 5, c: { d: 5 } } }, 'by o.c.d'],
  ] as const) {
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { filters: [[name, value]] }); // prettier-ignore
    const matchingIds = (json['results'] as Json[]).map(({ _id }) => _id);
    const recordsBefore = (await ann.post(`/v2/datasets/${datasetId}/data`, {})).json[
      'results'
    ] as Json[];
    await runImport(datasetId, { commit_mode: 'upsert', id_fields: [name], records: [{ ...key, note }] }); // prettier-ignore
    expect(await fetchNotes()).toEqual(
      recordsBefore.map((record) => (matchingIds.includes(record['_id']) ? note : record['note'] ?? undefined)),
    ); // prettier-ignore
  }
  await runImport(datasetId, { commit_mode: 'delete', id_fields: ['a.b'], records: [{ 'a.b': 1, a: { b: 77 } }] }); // prettier-ignore
  expect(await fetchNotes()).toEqual(['by a.b']);
});

test('dates, booleans and strings are keys, and letter case counts', async () => {
  const datasetId = await newDataset();
  const target_fields = [{ name: 'day', data_type: 'date' }, { name: 'done', data_type: 'boolean' }]; // prettier-ignore
  const records = [
    { day: '2026-01-02', done: true, word: 'Ä', n: 1 },
    { day: '2026-01-02', done: false, word: 'ä', n: 2 },
    { day: '2026-01-03T04:05:06Z', done: true, word: 'AB', n: 3 },
  ];
  await runImport(datasetId, { records, target_fields });
  const upsertBy = (id_fields: string[], givenRecord: object): Promise<Json> =>
    runImport(datasetId, { commit_mode: 'upsert', id_fields, records: [givenRecord] });
  const fetchNumbers = async (): Promise<unknown[]> =>
    (await fetchRecords(datasetId)).map(({ n }) => n);
  await upsertBy(['day', 'done'], { day: '2026-01-02T00:00:00Z', done: false, n: 20 });
  expect(await fetchNumbers()).toEqual([1, 20, 3]);
  await upsertBy(['day'], { day: '2026-01-03T04:05:06.000Z', n: 30 });
  expect(await fetchNumbers()).toEqual([1, 20, 30]);
  await upsertBy(['done'], { done: true, n: 9 });
  expect(await fetchNumbers()).toEqual([9, 20, 9]);
  await upsertBy(['word'], { word: 'ä', n: 200 });
  await upsertBy(['word'], { word: 'ab', n: 300 });
  expect(await fetchNumbers()).toEqual([9, 200, 9, 300]);
  // A query by equality ignores letter case.
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { filters: [['word', 'ab']] });
  expect((json['results'] as Json[]).map(({ word }) => word)).toEqual(['AB', 'ab']);
});

test('a whole number beyond 2^53 in a field that has become one of doubles is found by the value that queries show', async () => {
  const datasetId = await newDataset();
  await runImport(datasetId, { object_id: await newFile('n.jsonl', '{"n":9007199254740993,"x":1}\n{"n":5,"x":2}\n') }); // prettier-ignore
  await runImport(datasetId, { records: [{ n: 0.5, x: 3 }] });
  const [shownRecord] = await fetchRecords(datasetId);
  expect([Number(shownRecord!['n']), shownRecord!['x']]).toEqual([2 ** 53, 1]);
  await runImport(datasetId, { commit_mode: 'upsert', id_fields: ['n'], records: [{ n: Number(shownRecord!['n']), x: 10 }, { n: 5, x: 20 }, { n: 0.5, x: 30 }] }); // prettier-ignore
  expect((await fetchRecords(datasetId)).map(({ x }) => x)).toEqual([10, 20, 30]);
});

test('a deletion ignores the values of other fields, whatever their types', async () => {
  const datasetId = await newDataset();
  await runImport(datasetId, { records: [1, 2, 3, 4].map((n) => ({ variant: `v${n}`, af: n / 10, info: { n } })) }); // prettier-ignore
  const deletionParams = { commit_mode: 'delete', id_fields: ['variant'] };
  const deletion = await runImport(datasetId, { ...deletionParams, records: [{ variant: 'v1', af: 'n/a', info: 7 }, { variant: 'v2', af: { odd: [] }, fresh: 1 }] }); // prettier-ignore
  expect(deletion['metadata']).toMatchObject({ deletions: { records_deleted: 2, ids_not_found: 0 }, validation: { errors: [] } }); // prettier-ignore
  await runImport(datasetId, { ...deletionParams, object_id: await newFile('gone.csv', 'variant,af\nv3,none\n7,x\n') }); // prettier-ignore
  expect(await fetchRecords(datasetId)).toEqual([{ variant: 'v4', af: 0.4, info: { n: 4 } }]);
  const { json } = await ann.get(`/v2/datasets/${datasetId}/fields`);
  expect((json['data'] as Json[]).map(({ name }) => name)).not.toContain('fresh');
  const unknownKeyDeletion =
    await runImport(datasetId, { ...deletionParams, id_fields: ['fresh'], records: [{ fresh: 0.4 }] }); // prettier-ignore
  expect(unknownKeyDeletion['metadata']).toMatchObject({ deletions: { records_deleted: 0, ids_not_found: 1 } }); // prettier-ignore
});

test('a deletion by a member ignores the values of the other members', async () => {
  const datasetId = await newDataset();
  await runImport(datasetId, { records: [1, 2, 3].map((id) => ({ info: { id, af: id / 10, more: { 'a.b': id, n: 1 } } })) }); // prettier-ignore
  const deleteBy = (id_fields: string[], info: object): Promise<Json> =>
    runImport(datasetId, { commit_mode: 'delete', id_fields, records: [{ info }] });
  const deletion = await deleteBy(['info.id'], { id: 1, af: 'n/a', more: 'none', fresh: [] });
  expect(deletion['metadata']).toMatchObject({ deletions: { records_deleted: 1, ids_not_found: 0 }, validation: { errors: [] } }); // prettier-ignore
  await deleteBy(['info.more.a.b'], { id: 'x', more: { 'a.b': 2, n: 'x' } });
  const unknownKeyDeletion = await deleteBy(['info.fresh'], { fresh: 1 });
  expect(unknownKeyDeletion['metadata']).toMatchObject({
    deletions: { records_deleted: 0, ids_not_found: 1 },
  });
  expect(await fetchRecords(datasetId)).toEqual([{ info: { id: 3, af: 0.3, more: { 'a.b': 3, n: 1 } } }]); // prettier-ignore
  const object_id = await newFile('gone.csv', 'info.id,info.af\n3,x\n');
  await runImport(datasetId, { commit_mode: 'delete', id_fields: ['info.id'], object_id });
  expect(await fetchRecords(datasetId)).toEqual([]);
});

test('an upsert whose records all lack a field of the key fails, and a record without a value of it is added', async () => {
  const datasetId = await newDataset();
  await runImport(datasetId, { records: [{ variant: 'v1', info: { id: 1 }, n: 1 }, { variant: 'v2', info: { id: 2 }, n: 2 }] }); // prettier-ignore
  const recordsBefore = await fetchRecords(datasetId);
  for (const [id_fields, text, message] of [
    [['variant'], 'Variant,n\nv1,10\n', 'no record has a field "variant". Did you mean "Variant"?'],
    [['variant', 'info.id'], 'variant,n\nv1,10\n', 'no record has a field "info.id"'],
  ] as const) {
    const object_id = await newFile('wrong.csv', text);
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, commit_mode: 'upsert', id_fields, object_id }); // prettier-ignore
    const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
    expect([json['status'], json['error_message']]).toEqual(['failed', expect.stringContaining(message)]); // prettier-ignore
  }
  const body = { source_id: datasetId, target_id: datasetId, commit_mode: 'upsert', id_fields: ['variant'], source_params: { fields: ['n'] } }; // prettier-ignore
  const migration = await ann.post('/v2/dataset_migrations', body);
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(migration)}`);
  expect([json['status'], json['error_message']]).toEqual(['failed', expect.stringContaining('no record has a field "variant"')]); // prettier-ignore
  expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
  const upsertParams = { commit_mode: 'upsert', id_fields: ['variant'] };
  await runImport(datasetId, {
    ...upsertParams,
    object_id: await newFile('empty.csv', 'variant,n\n,3\n'),
  });
  await runImport(datasetId, { ...upsertParams, records: [{ n: 4 }, { variant: 'v2', n: 20 }] });
  expect((await fetchRecords(datasetId)).map(({ n }) => n)).toEqual([1, 20, 3, 4]);
});
