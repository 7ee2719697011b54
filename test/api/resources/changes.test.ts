import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

const { ann, newDataset, newFile, server } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

/** Returns the records of a dataset in their order, without `_commit`. */
async function fetchRecords(datasetId: number): Promise<readonly Json[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1000 });
  return (json['results'] as Json[]).map(({ _commit, ...rest }) => rest);
}

async function importRecords(dataset_id: number, body: object): Promise<Json> {
  const { status, json } = await ann.post('/v2/dataset_imports', { dataset_id, ...body });
  expect([status, json]).toEqual([201, expect.anything()]);
  return json;
}

/** Creates a dataset of three records; returns its id and theirs. */
async function newDatasetOfThree(): Promise<{
  readonly datasetId: number;
  readonly ids: readonly string[];
}> {
  const datasetId = await newDataset();
  await importRecords(datasetId, {
    records: [
      { variant: 'v1', pos: 1, gene: 'A', info: { AF: 0.5, tags: ['x', 'y'] } },
      { variant: 'v2', pos: 2, gene: 'B', info: { AF: 0.25 } },
      { variant: 'v3', pos: 3, gene: 'B', note: 'old' },
    ],
  });
  return { datasetId, ids: (await fetchRecords(datasetId)).map(({ _id }) => String(_id)) };
}

test('overwrite replaces whole records in their places, and adds those it does not find', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  const completedImport = await importRecords(datasetId, {
    commit_mode: 'overwrite',
    records: [
      { _id: 'mine', gene: 'new', pos: 2.5 },
      { _id: ids[1], gene: 'C', score: 7 },
    ],
  });
  expect(completedImport).toMatchObject({
    status: 'completed',
    commit_mode: 'overwrite',
    id_fields: null,
  });
  expect(await fetchRecords(datasetId)).toEqual([
    expect.objectContaining({ _id: ids[0], variant: 'v1', info: { AF: 0.5, tags: ['x', 'y'] } }),
    expect.objectContaining({ _id: ids[1], gene: 'C', score: 7, variant: null, pos: null, info: null }), // prettier-ignore
    expect.objectContaining({ _id: ids[2], variant: 'v3', note: 'old' }),
    expect.objectContaining({ _id: 'mine', gene: 'new', pos: 2.5 }),
  ]);
  const [commit] = completedImport['dataset_commits'] as Json[];
  expect(commit).toMatchObject({ mode: 'overwrite', records_total: 4, records_modified: 2, records_added: 1, records_changed: 1, records_removed: 0 }); // prettier-ignore
  expect((completedImport['metadata'] as Json)['changes']).toEqual({
    records_added: 1,
    records_changed: 1,
  });
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { filters: [['_commit', String(commit!['id'])]] }); // prettier-ignore
  expect((json['results'] as Json[]).map(({ _id }) => _id)).toEqual([ids[1], 'mine']);
  const { json: fieldList } = await ann.get(`/v2/datasets/${datasetId}/fields`);
  expect((fieldList['data'] as Json[]).map(({ name }) => name)).not.toContain(
    '_strandlake_given_id',
  );
});

test('upsert merges objects member by member, and replaces other values', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  await importRecords(datasetId, {
    commit_mode: 'upsert',
    records: [
      { _id: ids[2], info: { AF: 1 } },
      { _id: ids[0], gene: 'Z', info: { tags: ['w'], depth: 30 } },
      { gene: 'without an id' },
    ],
  });
  expect(await fetchRecords(datasetId)).toEqual([
    expect.objectContaining({ _id: ids[0], variant: 'v1', gene: 'Z', info: { AF: 0.5, tags: ['w'], depth: 30 } }), // prettier-ignore
    expect.objectContaining({ _id: ids[1], info: { AF: 0.25 } }),
    expect.objectContaining({ _id: ids[2], note: 'old', info: { AF: 1 } }),
    expect.objectContaining({ _id: expect.stringMatching(/^[0-9a-z]{19}$/), gene: 'without an id' }), // prettier-ignore
  ]);
});

test('upsert merges objects that are stored as JSON, too', async () => {
  const datasetId = await newDataset();
  // The field `o` is stored as JSON, because it is an object without members in one record and not an object in another.
  await importRecords(datasetId, { records: [{ n: 1, o: {} }, { n: 2, o: { a: 1, b: { c: [1], d: 2 } } }, { n: 3, o: 'text' }, { n: 4, o: { a: 5 } }] }); // prettier-ignore
  const records = [{ n: 1, o: { a: 7 } }, { n: 2, o: { b: { c: [9] }, a: null } }, { n: 3, o: { a: 1 } }, { n: 4, o: { b: 1 } }]; // prettier-ignore
  await importRecords(datasetId, { commit_mode: 'upsert', id_fields: ['n'], records });
  const objectsAfter = (await fetchRecords(datasetId)).map(({ o }) => o);
  expect(objectsAfter).toEqual([{ a: 7 }, { a: 1, b: { c: [9], d: 2 } }, { a: 1 }, { a: 5, b: 1 }]);
});

test('id_fields find records by their values, several for one as well', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  await importRecords(datasetId, {
    commit_mode: 'upsert',
    id_fields: ['gene'],
    records: [{ gene: 'B', note: 'both' }, { gene: 'Q', pos: 9 }, { pos: 10 }],
  });
  const recordsAfter = await fetchRecords(datasetId);
  expect(recordsAfter.map(({ _id }) => _id).slice(0, 3)).toEqual(ids);
  expect(recordsAfter.map(({ gene, note, pos }) => [gene, note, pos])).toEqual([['A', null, 1], ['B', 'both', 2], ['B', 'both', 3], ['Q', null, 9], [null, null, 10]]); // prettier-ignore
  // The integer 2 in the JSON is found in a field of doubles, and a key may consist of several fields.
  await importRecords(datasetId, { commit_mode: 'overwrite', id_fields: ['pos', 'gene'], records: [{ pos: 2.0, gene: 'B', n: 1 }] }); // prettier-ignore
  expect((await fetchRecords(datasetId))[1]).toMatchObject({ _id: ids[1], n: 1, note: null });
  const deletionImport = await importRecords(datasetId, { commit_mode: 'delete', id_fields: ['info.AF'], records: [{ info: { AF: 0.5 } }] }); // prettier-ignore
  expect(deletionImport['status']).toBe('completed');
  expect((await fetchRecords(datasetId)).map(({ _id }) => _id).slice(0, 2)).toEqual([
    ids[1],
    ids[2],
  ]);
});

test.each(['pre_annotation_expression', 'post_annotation_expression'])('a deletion by _id, which reads no records, refuses a %s', async (key) => {
  const { datasetId } = await newDatasetOfThree();
  const body = { commit_mode: 'delete', annotator_params: { [key]: 'record if record.pos > 1 else None' } };
  const expectedAnswer = [400, { annotator_params: [expect.stringMatching(`^${key}: Not with commit_mode delete by _id`)] }];
  const importAnswer = await ann.post('/v2/dataset_imports', { ...body, dataset_id: datasetId, records: [{ _id: 'x' }] });
  expect([importAnswer.status, importAnswer.json]).toEqual(expectedAnswer);
  const migrationAnswer = await ann.post('/v2/dataset_migrations', { ...body, source_id: datasetId, target_id: datasetId });
  expect([migrationAnswer.status, migrationAnswer.json]).toEqual(expectedAnswer);
  expect(await fetchRecords(datasetId)).toHaveLength(3);
}); // prettier-ignore

test('widens the type of a field that a replacing record needs wider', async () => {
  const datasetId = await newDataset();
  await importRecords(datasetId, { records: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  const ids = (await fetchRecords(datasetId)).map(({ _id }) => _id);
  await importRecords(datasetId, { commit_mode: 'upsert', records: [{ _id: ids[1], n: 2.5 }] });
  expect((await fetchRecords(datasetId)).map(({ n }) => n)).toEqual([1, 2.5, 3]);
  await importRecords(datasetId, {
    commit_mode: 'upsert',
    records: [{ _id: ids[0], n: 12345678901 }],
  });
  expect((await fetchRecords(datasetId)).map(({ n }) => n)).toEqual([12345678901, 2.5, 3]);
});

test.each<[string, (ids: readonly string[]) => object, RegExp]>([
  ['a record without an _id', (ids) => ({ commit_mode: 'overwrite', records: [{ _id: ids[0] }, { gene: 'x' }] }), /^record 2 of \S+ has no _id: with commit_mode overwrite/], // prettier-ignore
  ['an _id given twice', (ids) => ({ commit_mode: 'upsert', records: [{ _id: ids[0], gene: 'x' }, { gene: 'y' }, { _id: ids[0], gene: 'z' }] }), /^record 1 of \S+ and record 3 of \S+ have the same _id: give each record once$/], // prettier-ignore
  ['a key given twice', () => ({ commit_mode: 'overwrite', id_fields: ['variant'], records: [{ variant: 'v' }, { variant: 'v' }] }), /^record 1 of \S+ and record 2 of \S+ have the same variant/], // prettier-ignore
  ['a record to delete given twice', (ids) => ({ commit_mode: 'delete', records: [{ _id: ids[1] }, { _id: 'none' }, { _id: ids[1] }] }), /^record 1 of \S+ and record 3 of \S+ have the same _id: give each record once$/], // prettier-ignore
  ['a key to delete given twice, which no record has', () => ({ commit_mode: 'delete', id_fields: ['variant'], records: [{ variant: 'none' }, { variant: 'none' }] }), /^record 1 of \S+ and record 2 of \S+ have the same variant/], // prettier-ignore
  ['a record without a key', () => ({ commit_mode: 'delete', id_fields: ['variant'], records: [{ variant: 'v1' }, { gene: 'x' }] }), /^record 2 of \S+ has no variant: with commit_mode delete/], // prettier-ignore
  ['a list as a key', () => ({ commit_mode: 'upsert', id_fields: ['info.tags'], records: [{ info: { tags: ['x'] } }] }), /^id_fields: "info.tags" is a list/], // prettier-ignore
  ['an object as a key', () => ({ commit_mode: 'upsert', id_fields: ['info'], records: [{ info: { AF: 1 } }] }), /^id_fields: "info" is a list or an object/], // prettier-ignore
  ['a field that there is not', () => ({ commit_mode: 'upsert', id_fields: ['varaint'], records: [{ variant: 'v1' }] }), /^id_fields: no record has a field "varaint"/], // prettier-ignore
])('%s fails the import, and changes nothing', async (_, bodyOf, message) => {
  const { datasetId, ids } = await newDatasetOfThree();
  const recordsBefore = await fetchRecords(datasetId);
  const failedImport = await importRecords(datasetId, bodyOf(ids));
  expect(failedImport).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching(message),
  });
  expect(failedImport['dataset_commits']).toEqual([]);
  expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
});

test('a record given in two files is named with file, record and line of both', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  const firstFileId = await newFile('first.csv', `_id,gene\n${ids[1]},X\n${ids[0]},Y\n`);
  const secondFileId = await newFile(
    'second.jsonl',
    `{"gene":"P"}\n{"_id":"${ids[2]}"}\n{"_id":"${ids[0]}"}\n`,
  );
  const importAndFetchError = async (
    files: readonly object[],
    more: object = {},
  ): Promise<unknown> => {
    const body = { dataset_id: datasetId, commit_mode: 'upsert', manifest: { files }, ...more };
    const job = await ann.post('/v2/dataset_imports', body);
    const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(job)}`);
    expect(json['status']).toBe('failed');
    return json['error_message'];
  };
  const messageEnd = 'have the same _id: give each record once';
  expect(await importAndFetchError([{ object_id: firstFileId }, { object_id: secondFileId }])).toBe(`record 2 of first.csv (line 3) and record 3 of second.jsonl ${messageEnd}`); // prettier-ignore
  expect(await importAndFetchError([{ object_id: secondFileId }, { object_id: firstFileId }])).toBe(`record 3 of second.jsonl and record 2 of first.csv (line 3) ${messageEnd}`); // prettier-ignore
  // Where records are rejected, those that are stored are counted.
  const thirdFileId = await newFile('third.csv', `_id,pos\n${ids[1]},ten\n${ids[0]},5\n`);
  const rejectingParams = {
    target_fields: [{ name: 'pos', data_type: 'long' }],
    validation_params: { on_error: 'reject', max_rejected: 1 },
  };
  expect(await importAndFetchError([{ object_id: thirdFileId }, { object_id: firstFileId }], rejectingParams)).toBe(`record 1 of those stored from third.csv and record 2 of first.csv (line 3) ${messageEnd}`); // prettier-ignore
});

test.each(['overwrite', 'upsert'])(
  '%s that gives a declared number a text fails with its place, and changes nothing',
  async (commit_mode) => {
    const datasetId = await newDataset();
    await importRecords(datasetId, { target_fields: [{ name: 'pos', data_type: 'long' }], records: [{ pos: 1 }, { pos: 2 }] }); // prettier-ignore
    const recordsBefore = await fetchRecords(datasetId);
    const records = [
      { _id: recordsBefore[0]!['_id'], pos: 5 },
      { _id: recordsBefore[1]!['_id'], pos: 'five' },
    ];
    const failedImport = await importRecords(datasetId, { commit_mode, records, validation_params: { raise_on_errors: true } }); // prettier-ignore
    expect(failedImport).toMatchObject({ status: 'failed', dataset_commits: [], metadata: { validation: { errors_count: 1, error_codes: [301] } } }); // prettier-ignore
    expect(failedImport['error_message']).toMatch(/pos/);
    expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
  },
);

test.each([
  ['overwrite', { records_added: 1, records_changed: 2 }],
  ['upsert', { records_added: 1, records_changed: 2 }],
  ['delete', { records_deleted: 2, ids_not_found: 1 }],
])(
  'the receipt and a dry run of commit_mode %s count what it does',
  async (commit_mode, counts) => {
    const { datasetId, ids } = await newDatasetOfThree();
    const recordsBefore = await fetchRecords(datasetId);
    const records = [{ _id: ids[2], gene: 'X' }, { _id: 'other', gene: 'Y' }, { _id: ids[0], gene: 'Z' }]; // prettier-ignore
    const dryRun = await importRecords(datasetId, { commit_mode, records, dry_run: true });
    expect(dryRun).toMatchObject({ status: 'completed', dataset_commits: [], metadata: { dry_run: counts } }); // prettier-ignore
    expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
    const completedImport = await importRecords(datasetId, { commit_mode, records });
    const key = commit_mode === 'delete' ? 'deletions' : 'changes';
    expect(completedImport).toMatchObject({ status: 'completed', metadata: { [key]: counts } });
    const receiptOf = (json: Json): Json => (json['metadata'] as { receipt: Json }).receipt;
    const totals = { records_read: 3, records_stored: 3, records_rejected: 0 };
    expect(receiptOf(completedImport)).toMatchObject({ ...totals, is_committed: true });
    expect(receiptOf(dryRun)).toMatchObject({ ...totals, is_committed: false });
  },
);

test('a dry run tells what would change, and changes nothing', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  const recordsBefore = await fetchRecords(datasetId);
  const records = [
    { _id: ids[1], gene: 'C' },
    { _id: 'mine', more: 1 },
  ];
  const dryRun = await importRecords(datasetId, { commit_mode: 'upsert', records, dry_run: true });
  expect((dryRun['metadata'] as Json)['dry_run']).toMatchObject({ records_added: 1, records_changed: 1 }); // prettier-ignore
  expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
});

test.each<[string, (ids: readonly string[]) => object]>([
  ['append', () => ({ records: [{ gene: 'X' }, { gene: 'Y', score: 1 }] })],
  ['overwrite', (ids) => ({ commit_mode: 'overwrite', records: [{ _id: 'mine', gene: 'X' }, { _id: ids[2], gene: 'Y' }, { _id: ids[0], gene: 'Z' }] })],
  ['overwrite of known records alone', (ids) => ({ commit_mode: 'overwrite', records: [{ _id: ids[1], gene: 'Y' }, { _id: ids[0], gene: 'Z' }] })],
  ['upsert by _id', (ids) => ({ commit_mode: 'upsert', records: [{ gene: 'X', score: 1 }, { _id: ids[2], pos: 30 }, { _id: ids[0], info: { AF: 1 } }] })],
  ['upsert by id_fields', () => ({ commit_mode: 'upsert', id_fields: ['gene'], records: [{ gene: 'Q' }, { gene: 'B', note: 'both' }] })],
  ['upsert with a computed field', () => ({ commit_mode: 'upsert', id_fields: ['variant'], records: [{ variant: 'v2', gene: 'E' }], target_fields: [{ name: 'label', expression: 'record.gene + "!"', data_type: 'string' }] })],
])('the sample of a dry run of %s has the records that the import then writes, in the order of the dataset', async (_, bodyOf) => {
  const { datasetId, ids } = await newDatasetOfThree();
  const body = bodyOf(ids);
  const dryRun = await importRecords(datasetId, { ...body, dry_run: true });
  const { sample } = (dryRun['metadata'] as { dry_run: Json }).dry_run;
  const [commit] = (await importRecords(datasetId, body))['dataset_commits'] as Json[];
  const query = { filters: [['_commit', String(commit!['id'])]], exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, query);
  expect(json['results']).toHaveLength(Number(commit!['records_modified']));
  expect(sample).toEqual(json['results']);
}); // prettier-ignore

test('files replace records as well, with rejected ones, and a rollback puts the earlier ones back', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  const recordsBefore = await fetchRecords(datasetId);
  const csvFileId = await newFile(
    'changes.csv',
    `_id,gene,pos\n${ids[2]},X,30\n${ids[0]},Y,ten\nmine,Z,40\n`,
  );
  const job = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: csvFileId,
    commit_mode: 'upsert',
    target_fields: [{ name: 'pos', data_type: 'long' }],
    validation_params: { on_error: 'reject', max_rejected: 1 },
  });
  await server.scheduler.wait(Number(job.json['task_id']));
  const { json } = await ann.get(`/v2/dataset_imports/${idOf(job)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  expect((await fetchRecords(datasetId)).map(({ _id, gene, pos }) => [_id, gene, pos])).toEqual([[ids[0], 'A', 1], [ids[1], 'B', 2], [ids[2], 'X', 30], ['mine', 'Z', 40]]); // prettier-ignore
  const [commit] = json['dataset_commits'] as Json[];
  const rollbackAnswer = await ann.post(
    `/v2/dataset_commits/${String(commit!['id'])}/rollback`,
    {},
  );
  expect([rollbackAnswer.status, rollbackAnswer.json['records_total']]).toEqual([201, 3]);
  expect(await fetchRecords(datasetId)).toEqual(recordsBefore);
  expect(listOf(await ann.get(`/v2/dataset_commits?dataset_id=${datasetId}`)).length).toBe(3);
});

test('changes at the same time are applied one after the other, each as a whole', async () => {
  const { datasetId, ids } = await newDatasetOfThree();
  const upserts = Array.from(
    { length: 6 },
    (_, i) =>
    importRecords(datasetId, { commit_mode: 'upsert', records: ids.map((_id) => ({ _id, [`f${i}`]: i, last: i })) }), // prettier-ignore
  );
  const appends = Array.from({ length: 3 }, (_, i) => importRecords(datasetId, { records: [{ pos: 100 + i }] })); // prettier-ignore
  for (const completedImport of await Promise.all([...upserts, ...appends]))
    expect([completedImport['status'], completedImport['error_message']]).toEqual([
      'completed',
      null,
    ]);
  const recordsAfter = await fetchRecords(datasetId);
  expect(recordsAfter).toHaveLength(6);
  const last = recordsAfter[0]!['last'];
  for (const record of recordsAfter.slice(0, 3)) {
    expect(record).toMatchObject({ f0: 0, f1: 1, f2: 2, f3: 3, f4: 4, f5: 5, last });
  }
  expect(recordsAfter.slice(0, 3).map(({ _id }) => _id)).toEqual(ids);
});

test('a commit that writes no records adds no genome build to the dataset', async () => {
  const datasetId = await newDataset();
  await importRecords(datasetId, { records: [{ n: 1 }, { n: 2 }], genome_build: 'GRCh37' });
  const [firstRecord] = await fetchRecords(datasetId);
  const genome_build = 'GRCh38';
  await importRecords(datasetId, { records: [{ _id: firstRecord!['_id'] }], commit_mode: 'delete', genome_build }); // prettier-ignore
  await importRecords(datasetId, { records: [{ n: 2 }], commit_mode: 'delete', id_fields: ['n'], genome_build }); // prettier-ignore
  const object_id = await newFile('none.vcf', '##fileformat=VCFv4.2\n##reference=GRCh38\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'); // prettier-ignore
  const { status } = (await waitForJob(ann, `/v2/dataset_imports/${idOf(await ann.post('/v2/dataset_imports', { dataset_id: datasetId, object_id, genome_build }))}`)).json; // prettier-ignore
  expect([status, await fetchRecords(datasetId)]).toEqual(['completed', []]);
  expect((await ann.get(`/v2/datasets/${datasetId}`)).json).toMatchObject({ genome_builds: ['GRCh37'] }); // prettier-ignore
});

test.each([
  ['overwrite', [{ n: 1, word: 'new' }, { n: 9 }], ['a 0', 'new 1', 'undefined 9']],
  ['upsert', [{ n: 1, word: 'new' }, { n: 9 }], ['a 0', 'new 1', 'undefined 9']],
  ['delete', [{ n: 1 }], ['a 0']],
])('%s with an Idempotency-Key that is sent twice changes the records once', async (commit_mode, records, expectedTexts) => {
  const datasetId = await newDataset();
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ n: 0, word: 'a' }, { n: 1, word: 'b' }] });
  const body = { dataset_id: datasetId, commit_mode, id_fields: ['n'], records };
  const keyHeader = { 'idempotency-key': `${commit_mode} of ${datasetId}` };
  const firstAnswer = await ann.call('POST', '/v2/dataset_imports', body, keyHeader);
  const repeatedAnswer = await ann.call('POST', '/v2/dataset_imports', body, keyHeader);
  expect([firstAnswer.status, repeatedAnswer.status, repeatedAnswer.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
  expect(repeatedAnswer.json['id']).toBe(firstAnswer.json['id']);
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, {});
  const texts = (json['results'] as { n: number; word?: string | null }[]).map(({ n, word }) => `${String(word ?? undefined)} ${n}`);
  expect(texts).toEqual(expectedTexts);
  expect((await ann.get(`/v2/datasets/${datasetId}/commits`)).json['total']).toBe(2);
}); // prettier-ignore

test.each([
  ['append', false, 'Add'],
  ['upsert', false, 'Upsert'],
  ['overwrite', false, 'Overwrite'],
  ['delete', false, 'Delete'],
  ['delete', true, 'Validate'],
])(
  'the task of an import with commit_mode %s (dry run: %s) is described by "%s"',
  async (commit_mode, dry_run, verb) => {
    const { datasetId, ids } = await newDatasetOfThree();
    const records = ids.map((_id) => ({ _id }));
    const completedImport = await importRecords(datasetId, { commit_mode, records, dry_run });
    const { json: task } = await ann.get(`/v2/tasks/${String(completedImport['task_id'])}`);
    expect([completedImport['status'], task['description']]).toEqual([
      'completed',
      `${verb} 3 records`,
    ]);
  },
);

test('a commit has the fields of its records, not those of the dataset', async () => {
  const datasetId = await newDataset();
  const importCommit = async (body: object): Promise<Json> => {
    const completedImport = await importRecords(datasetId, body);
    return (completedImport['dataset_commits'] as Json[])[0]!;
  };
  const append = await importCommit({ records: [{ a: 1, b: 2, c: 3 }] });
  expect(append['fields']).toEqual(['a', 'b', 'c'].map((name) => ({ name, is_new: true })));
  const [{ _id } = {}] = await fetchRecords(datasetId);
  const secondAppend = await importCommit({ records: [{ a: 4 }] });
  expect(secondAppend['fields']).toEqual([{ name: 'a', is_new: false }]);
  const overwrite = await importCommit({
    commit_mode: 'overwrite',
    records: [{ _id, b: 5, d: 6 }],
  });
  expect(overwrite['fields']).toEqual([
    { name: 'b', is_new: false },
    { name: 'd', is_new: true },
  ]);
  const deletion = await importCommit({ commit_mode: 'delete', records: [{ _id }] });
  expect(deletion['fields']).toEqual([]);
  const rollback = await ann.post(`/v2/dataset_commits/${String(deletion['id'])}/rollback`, {});
  expect([rollback.status, rollback.json['fields']]).toEqual([201, []]);
});
