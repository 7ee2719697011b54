import { describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

let datasetId: number;
const { ann, vaultId, newFile } = await startServerFixture();

async function newDataset(more: object = {}): Promise<void> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, ...more }));
}

interface ImportOutcome {
  readonly status: unknown;
  readonly error_message: unknown;
  readonly target_fields: readonly Record<string, unknown>[];
  readonly metadata: Record<string, unknown> & {
    readonly validation: {
      readonly warnings: readonly Record<string, unknown>[];
    };
  };
}

/** Imports records, or the records of a file if `source` is an id. */
async function importRecords(
  source: readonly object[] | number,
  target_fields: unknown,
  more: object = {},
): Promise<ImportOutcome> {
  const sourceParams =
    typeof source === 'number' ? { object_id: source } : { data_records: source };
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    ...sourceParams,
    target_fields,
    entity_params: { disable: true },
    ...more,
  });
  expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  return json as unknown as ImportOutcome;
}

/** Returns all records of the dataset that was created last, without `_id`, `_commit` and nulls. */
async function fetchAllRecords(): Promise<readonly Record<string, unknown>[]> {
  const body = { exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return (json['results'] as object[]).map((record) =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
  );
}

/** Imports `source` into a new dataset; returns its records. */
async function importAndFetchRecords(
  source: readonly object[] | number,
  targetFields: unknown,
  more: object = {},
): Promise<readonly Record<string, unknown>[]> {
  await newDataset();
  const endedImport = await importRecords(source, targetFields, more);
  expect([endedImport.status, endedImport.error_message]).toEqual(['completed', null]);
  return fetchAllRecords();
}

async function fetchFieldType(name: string): Promise<unknown> {
  const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`));
  return [field?.['data_type'], field?.['is_list']];
}

describe('expressions of target fields', () => {
  test('run in order and see the results of those before', async () => {
    const fields = [
      { name: 'split_message', expression: 'record.message.split()', is_list: true, ordering: 1 },
      { name: 'message', expression: "value + ' world'", data_type: 'string', ordering: 0 },
    ];
    expect(await importAndFetchRecords([{ message: 'hello' }], fields)).toEqual([
      { message: 'hello world', split_message: ['hello', 'world'] },
    ]);
    expect(await fetchFieldType('split_message')).toEqual(['string', true]);

    const dependentFields = [
      { name: 'a', ordering: 0, depends_on: ['b'], expression: 'record.b + 1' },
      { name: 'b', ordering: 5, expression: '1' },
    ];
    expect(await importAndFetchRecords([{ i: 1 }], dependentFields)).toEqual([
      { i: 1, a: 2, b: 1 },
    ]);
    expect(await fetchFieldType('a')).toEqual(['long', null]);
  });

  test('read transient fields, which are not stored', async () => {
    const fields = [
      {
        name: 'header',
        is_transient: true,
        is_list: true,
        ordering: 1,
        expression: ['CHROM', 'POS', 'ID', 'REF', 'ALT'],
      },
      {
        name: 'row',
        is_transient: true,
        data_type: 'object',
        ordering: 1,
        expression: 'dict(zip(record.header, value.split()))',
      },
      { name: 'build', is_transient: true, ordering: 1, expression: "'GRCh37'" },
      {
        name: 'variant',
        ordering: 2,
        expression:
          "'-'.join([record.build, record.row['CHROM'], record.row['POS'],\nrecord.row['POS'], record.row['ALT']])",
      },
      {
        name: 'rsid',
        ordering: 2,
        expression: "get(record, 'row.ID') if get(record, 'row.ID') != '.' else None",
      },
    ];
    const storedRows = await importAndFetchRecords([{ row: '20 14370 rs6054257 G A' }], fields);
    expect(storedRows).toEqual([{ variant: 'GRCh37-20-14370-14370-A', rsid: 'rs6054257' }]);
  });

  test('that fail give null, a warning and _errors', async () => {
    await newDataset();
    const fields = [
      { name: 'q', expression: 'record.n / record.d', data_type: 'double' },
      { name: 'p', expression: 'record.n * 2', data_type: 'integer' },
      { name: 'x', expression: "'abc'", data_type: 'integer' },
      { name: 'u', expression: 'nobody()', data_type: 'object' },
    ];
    const endedImport = await importRecords(
      [
        { n: 4, d: 0 },
        { n: 4, d: 2 },
      ],
      fields,
    );
    expect(endedImport.status).toBe('completed');
    expect(await fetchAllRecords()).toEqual([
      {
        n: 4,
        d: 0,
        p: 8,
        _errors: {
          q: 'division by zero (line 1, column 10)',
          x: "Invalid value for data type integer: 'abc'",
          u: expect.any(String),
        },
      },
      { n: 4, d: 2, q: 2, p: 8, _errors: { x: expect.any(String), u: expect.any(String) } },
    ]);
    const { warnings } = endedImport.metadata.validation;
    const counts = warnings.map(({ code, field, count }) => [code, field, count]);
    expect(counts.filter(([code]) => code === 500)).toEqual([
      [500, 'q', 1],
      [500, 'x', 2],
      [500, 'u', 2],
    ]);
    expect(warnings).toContainEqual({
      code: 500,
      name: 'Expression Error',
      field: 'q',
      file: expect.anything(),
      line: 1,
      message: 'division by zero (line 1, column 10)',
      count: 1,
    });
  });

  test('leave no _errors without errors, and none with include_errors false', async () => {
    const fields = [{ name: 'q', expression: '1 / record.d' }];
    const divisorRecords = [{ d: 0 }, { d: 1 }];
    expect(await importAndFetchRecords([{ d: 1 }], fields)).toEqual([{ d: 1, q: 1 }]);
    expect(await importAndFetchRecords(divisorRecords, fields, { include_errors: false })).toEqual([
      { d: 0 },
      { d: 1, q: 1 },
    ]);
    const params = { annotator_params: { include_errors: false } };
    expect(await importAndFetchRecords(divisorRecords, fields, params)).toEqual([
      { d: 0 },
      { d: 1, q: 1 },
    ]);
    expect(
      await importAndFetchRecords(divisorRecords, fields, {
        validation_params: { strict_validation: true },
      }),
    ).toEqual([
      { d: 0, _errors: { q: 'division by zero (line 1, column 3)' } },
      { d: 1, q: 1 },
    ]);
  });

  test('see declared fields that a record lacks, the whole record and the variables', async () => {
    const fields = [
      { name: 'x', data_type: 'string' },
      { name: 'y', expression: "record.x or 'none'" },
      { name: 'keys', expression: 'sorted(k for k in record if k != "keys")', is_list: true },
      { name: 'about', expression: '[source_filename, source_dataset, target_dataset, build]' },
      { name: 'typo', expression: 'record.nope' },
    ];
    const params = { annotator_params: { data: { build: 'GRCh38' } } };
    const [storedRecord] = await importAndFetchRecords([{ i: 1 }], fields, params);
    expect(storedRecord).toEqual({
      i: 1,
      y: 'none',
      keys: ['about', 'i', 'typo', 'x', 'y'],
      about: [null, null, String(datasetId), 'GRCh38'],
      _errors: { typo: expect.stringContaining('nope') },
    });
  });

  test('have values of every type', async () => {
    const fields = [
      { name: 'b', expression: 'record.n > 1' },
      { name: 'f', expression: 'record.n * 1.5' },
      { name: 'big', expression: '2 ** 60 + record.n' },
      { name: 'o', expression: "{'k': record.n, 'l': [{'m': None}, {'m': str(record.o)}]}" },
      { name: 'day', expression: "'2024-02-0' + str(record.n)" },
      { name: 'mixed', expression: "record.n if record.n == 1 else [record.n, 'x']" },
      { name: 'inf', expression: "float('inf')", data_type: 'double' },
      { name: 'none', expression: 'None' },
      { name: 'list', expression: '[]', data_type: 'long', is_list: true },
      { name: 'constant', expression: 2.5 },
    ];
    const storedRows = await importAndFetchRecords([{ n: 1 }, { n: 2 }], fields);
    const expectedRow = (n: number) => ({
      n,
      b: n > 1,
      f: n * 1.5,
      o: { k: n, l: [{}, { m: 'None' }] },
      day: `2024-02-0${n}`,
      list: [],
      constant: 2.5,
    });
    expect(storedRows).toMatchObject([expectedRow(1), expectedRow(2)]);
    expect(await fetchFieldType('big')).toEqual(['long', null]);
    expect(await fetchFieldType('day')).toEqual(['date', null]);
    expect(storedRows.map(({ mixed }) => mixed)).toEqual([['1'], ['2', 'x']]);
  });

  test('compute from a table: values are replaced, columns of numbers hold doubles', async () => {
    const fileId = await newFile('a.csv', 'place,n\nchr1:100,1\nchr2:200,2\nbad,3\n');
    const fields = [
      { name: 'chrom', expression: "record.place.split(':')[0]" },
      { name: 'place', data_type: 'integer', expression: "int(value.split(':')[1])", ordering: 1 },
      { name: 'text', expression: 'str(record.n) + source_filename' },
    ];
    expect(await importAndFetchRecords(fileId, fields)).toEqual([
      { n: 1, chrom: 'chr1', place: 100, text: '1.0a.csv' },
      { n: 2, chrom: 'chr2', place: 200, text: '2.0a.csv' },
      {
        n: 3,
        chrom: 'bad',
        text: '3.0a.csv',
        _errors: { place: 'list index out of range (line 1, column 21)' },
      },
    ]);
    expect(await fetchFieldType('place')).toEqual(['integer', null]);
  });

  test('compute from the members of a VCF file', async () => {
    const header =
      '##fileformat=VCFv4.2\n##INFO=<ID=DP,Number=1,Type=Integer,Description="d">\n##INFO=<ID=AF,Number=A,Type=Float,Description="d">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
    const lines =
      '1\t100\trs1\tA\tC,G\t50\tPASS\tDP=14;AF=0.5,0.25\n1\t200\t.\tT\tC\t.\tq10\tAF=0.1\n';
    const fileId = await newFile('a.vcf', header + lines);
    const fields = [
      { name: 'info', is_transient: true },
      { name: 'depth', expression: 'record.info.DP or 0', data_type: 'long' },
      { name: 'start', expression: 'record.genomic_coordinates.start - 1' },
      { name: 'af', expression: 'max(record.info.AF)', data_type: 'float' },
      { name: 'passed', expression: 'not record.filter' },
    ];
    const storedRows = await importAndFetchRecords(fileId, fields, { genome_build: 'GRCh38' });
    expect(storedRows.map(({ depth, start, af, passed }) => [depth, start, af, passed])).toEqual([
      [14, 99, 0.5, true],
      [14, 99, 0.5, true],
      [0, 199, 0.1, false],
    ]);
    expect(storedRows[0]).not.toHaveProperty('info');
  });

  test('are limited for each record, and the import ends', async () => {
    const endlessExpression = 'sum(i for j in range(1000000) for i in range(1000000))';
    const storedRows = await importAndFetchRecords(
      [{ i: 1 }, { i: 2 }],
      [{ name: 'x', expression: endlessExpression }],
    );
    const limitError = { x: expect.stringContaining('Expression limit exceeded') };
    expect(storedRows).toEqual([
      { i: 1, _errors: limitError },
      { i: 2, _errors: limitError },
    ]);
    const largeFields = [{ name: 'x', expression: "['a' * 9000000 for i in range(100)]" }];
    expect(await importAndFetchRecords([{ i: 1 }], largeFields)).toEqual([
      { i: 1, _errors: limitError },
    ]);
  });

  test('are evaluated in dry runs and for records that are not rejected', async () => {
    await newDataset();
    const fields = [
      { name: 'n', data_type: 'long' },
      { name: 'twice', expression: 'record.n * 2' },
    ];
    const source = [{ n: 1 }, { n: 'x' }, { n: 3 }, { n: null }];
    const rejectParams = { validation_params: { on_error: 'reject' } };
    const dryRun = await importRecords(source, fields, { ...rejectParams, dry_run: true });
    expect(dryRun.metadata['dry_run']).toMatchObject({});
    expect(JSON.stringify(dryRun.metadata['dry_run'])).toContain('twice');
    expect(await fetchAllRecords()).toEqual([]);
    const endedImport = await importRecords(source, fields, rejectParams);
    expect(await fetchAllRecords()).toMatchObject([{ n: 1, twice: 2 }, { n: 3, twice: 6 }, {}]);
    const [expressionWarning] = endedImport.metadata.validation.warnings.filter(
      ({ code }) => code === 500,
    );
    expect(expressionWarning).toMatchObject({ field: 'twice', line: 4 });
  });

  test('compute from records that replace others', async () => {
    await newDataset();
    await importRecords([{ k: 'a', n: 1 }], [{ name: 'm', expression: 'record.n + 1' }]);
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, {});
    const [{ _id: id }] = json['results'] as [{ _id: string }];
    const fields = [{ name: 'm', expression: 'record.n + 10 if record._id else 0' }];
    for (const commit_mode of ['upsert', 'overwrite'])
      await importRecords([{ _id: id, k: 'b', n: 5 }], fields, { commit_mode });
    expect(await fetchAllRecords()).toEqual([{ k: 'b', n: 5, m: 15 }]);
    const keyParams = { commit_mode: 'upsert', id_fields: ['k'] };
    await importRecords(
      [{ name: 'B' }],
      [{ name: 'k', expression: 'record.name.lower()' }],
      keyParams,
    );
    expect(await fetchAllRecords()).toEqual([{ k: 'b', n: 5, m: 15, name: 'B' }]);
  });

  test('fit the types of the dataset', async () => {
    const fields = [
      { name: 'n', data_type: 'integer' },
      { name: 's', data_type: 'string' },
    ];
    await newDataset({ fields });
    const computedFields = [
      { name: 'n', expression: 'value' },
      { name: 's', expression: 'record.i' },
    ];
    await importRecords(
      [
        { n: '7', i: 1 },
        { n: 'x', i: 2.5 },
      ],
      computedFields,
    );
    expect(await fetchAllRecords()).toEqual([
      { n: 7, i: 1, s: '1.0' },
      { i: 2.5, s: '2.5', _errors: { n: "Invalid value for data type integer: 'x'" } },
    ]);
  });

  test('are shown, and refused with their place when they are wrong', async () => {
    await newDataset();
    const endedImport = await importRecords(
      [{ a: 1 }],
      [{ name: 'x', expression: 'record.a' }, { name: 'y' }],
    );
    expect(endedImport.target_fields.map(({ expression }) => expression)).toEqual([
      'record.a',
      null,
    ]);
    const refusalOf = async (target_fields: unknown) => {
      const body = { dataset_id: datasetId, data_records: [{}], target_fields };
      const { status, json } = await ann.post('/v2/dataset_imports', body);
      expect(status).toBe(400);
      return json['target_fields'];
    };
    expect(await refusalOf([{ name: 'ok' }, { name: 'x', expression: '1 +\n* 2' }])).toEqual([
      expect.stringMatching(/^Field 2 "x", expression: Syntax error: .* \(line 2, column \d+\)$/),
    ]);
    const circularFields = [
      { name: 'a', expression: 'record.b', depends_on: ['b'] },
      { name: 'b', expression: 'record.a', depends_on: ['a'] },
    ];
    expect(await refusalOf(circularFields)).toEqual([expect.stringContaining('circle: a → b → a')]);
  });
});
