import { beforeAll, describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { findRecordDifferences } from '../read-table.js';
import { startServerFixture } from '../server-fixture.js';
import { sampleComputedFields, makeSampleRecords } from '../sample-records.js';
import { idOf, waitForJob, type Answer } from '../server.js';

/*
 * Tests exports with fields that they compute (contract 11.2, 19.5), and pages of queries in formats other than JSON. Every file is read by
 * an independent library and compared with the JSON page of the query that computes the same fields.
 */

const { server, ann, newDataset, runImport } = await startServerFixture();
const generatedRecordCount = 400;
const records = makeSampleRecords(generatedRecordCount, ['BRCA1', 'TP53', 'EGFR', null]);

const computedTargetFields = [
  ...sampleComputedFields,
  { name: 'label', expression: "(record.gene or 'none').lower() + ', \"' + str(record.i % 7)", data_type: 'string' },
  { name: 'isBig', expression: 'record.i > 100', data_type: 'boolean' },
  { name: 'gene', expression: 'value and value + str(len(value))' },
  { name: 'hidden', expression: 'record.i', is_transient: true },
  { name: 'double', expression: 'record.hidden * 2' },
  { name: 'mixed', expression: "record.i if record.i % 50 else 'fifty'" },
  { name: 'none', expression: 'None' },
  { name: 'count', expression: "dataset_count(D, filters=[['i', record.i // 2]])", data_type: 'long' },
  { name: 'constant', expression: 7.5 },
  { name: 'seen', data_type: 'string' },
] as const; // prettier-ignore

let datasetId: number;

beforeAll(async () => {
  datasetId = await newDataset();
  // The records are imported in parts, so that there are several segments.
  for (let from = 0; from < generatedRecordCount; from += 150)
    await runImport({ dataset_id: datasetId, data_records: records.slice(from, from + 150) });
  // Replaced records keep their position in the order of the dataset, although they are in later segments.
  const replacedRecords = records.filter(({ i }) => i % 90 === 3);
  await runImport({ dataset_id: datasetId, data_records: replacedRecords, commit_mode: 'upsert', id_fields: ['i'] }); // prettier-ignore
});

async function exportRecords(body: object): Promise<Answer> {
  const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, ...body });
  expect([createdExport.status, createdExport.text]).toEqual([201, expect.any(String)]);
  const endedExport = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
  expect([endedExport.json['status'], endedExport.json['error_message']]).toEqual([
    'completed',
    null,
  ]);
  return endedExport;
}

async function downloadExport(endedExport: Answer): Promise<Buffer> {
  const { json } = await ann.get(`/v2/dataset_exports/${idOf(endedExport)}/download?redirect=`);
  return Buffer.from(await (await fetch(String(json['url']))).arrayBuffer());
}

/** Returns the records in the JSON page of a query. */
async function fetchResults(body: object): Promise<readonly Row[]> {
  const { json, text, status } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 10_000, ...body }); // prettier-ignore
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return json['results'] as readonly Row[];
}

type Row = Readonly<Record<string, unknown>>;

const exportFormats = ['csv', 'csv-expand', 'csv-gz', 'tsv', 'excel', 'excel-expand', 'parquet', 'arrow'] as const; // prettier-ignore

/** Returns the page of a query in the format `accept`. */
async function fetchPageInFormat(body: object, accept: string): Promise<Buffer> {
  const answer = await fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ann.token}`, 'content-type': 'application/json', accept },
    body: JSON.stringify({ limit: 10_000, ...body }),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect([answer.status, answer.status === 200 ? '' : bytes.toString()]).toEqual([200, '']);
  expect(answer.headers.get('content-type')).toContain(accept);
  return bytes;
}

const pageMediaTypes = [['text/csv', 'csv'], ['application/vnd.apache.arrow.stream', 'arrow']] as const; // prettier-ignore

/** Exports a query as JSON and in `formats`, requests its page as CSV and as Arrow, and compares each with the JSON page. */
async function expectSameAsPage(
  params: object,
  body: object,
  formats: readonly string[] = exportFormats,
): Promise<readonly Row[]> {
  const [expectedRecords, jsonExport, ...otherExports] = await Promise.all([
    fetchResults({ ...params, ...body }),
    ...['json', ...formats].map((format) => exportRecords({ format, params, ...body })),
  ]);
  const lines = gunzipSync(await downloadExport(jsonExport!)).toString().split('\n').filter((line) => line !== ''); // prettier-ignore
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(expectedRecords);
  expect(jsonExport!.json['documents_count']).toBe(expectedRecords.length);
  for (const [i, format] of formats.entries()) {
    const endedExport = otherExports[i]!;
    const differences = await findRecordDifferences(
      format,
      await downloadExport(endedExport),
      expectedRecords,
    );
    expect([format, endedExport.json['documents_count'], differences.slice(0, 5)]).toEqual(
      [format, expectedRecords.length, []],
    ); // prettier-ignore
  }
  for (const [type, format] of pageMediaTypes) {
    const bytes = await fetchPageInFormat({ ...params, ...body }, type);
    expect([
      type,
      (await findRecordDifferences(format, bytes, expectedRecords)).slice(0, 5),
    ]).toEqual([type, []]);
  }
  return expectedRecords;
}

const makeAnnotatorParams = (): object => ({ data: { D: datasetId } });

describe('every format has what the page has', () => {
  test('of fields of all types', async () => {
    const csv = await downloadExport(await exportRecords({ format: 'csv', params: { limit: 3, fields: ['i', 'gene', 'info.af'] }, target_fields: computedTargetFields, annotator_params: makeAnnotatorParams() })); // prettier-ignore
    expect(csv.toString().split('\r\n')).toEqual([
      'i,gene,info.af,seen,depth,ratio,tags,day,parts.rest,parts.csq,label,isBig,double,mixed,none,count,constant,_errors.ratio',
      '0,BRCA15,0,2010-01-11,0,,"[""BRCA1"",""x0""]",2010-01-11,0,"[""stop"",""gain""]","brca1, ""0",false,0,fifty,,1,7.5,"list index out of range (line 1, column 10)"',
      '1,,0.25,2011-02-11,6,0.16666666666666666,"[null,""x1""]",2011-02-11,1,,"none, ""1",false,2,1,,1,7.5,',
      '2,EGFR4,0.5,2012-03-11,3,0.6666666666666666,"[""EGFR"",""x2""]",2012-03-11,2,,"egfr, ""2",false,4,2,,1,7.5,',
      '',
    ]);
    await expectSameAsPage(
      { limit: 200 },
      { target_fields: computedTargetFields, annotator_params: makeAnnotatorParams() },
    );
  });

  test('in the order and with the limit of the query, and the fields that it asks for', async () => {
    const x = [{ name: 'x', expression: 'record.i % 10 + len(record.ad)', data_type: 'integer' }];
    const params = { filters: [['i__range', [100, 300]]], ordering: ['-vaf', 'i'], limit: 50, fields: ['info', 'i'] }; // prettier-ignore
    const exportedRecords = await expectSameAsPage(params, { target_fields: x });
    expect(exportedRecords).toHaveLength(50);
    expect(exportedRecords[0]).toEqual({ info: { af: 74.75 }, i: 299, x: 11 });
    await expectSameAsPage({ limit: 5, exclude_fields: ['_id', 'ad', 'info.af'] }, { target_fields: x }, ['csv', 'arrow']); // prettier-ignore
    await expectSameAsPage({ limit: 5, fields: ['_commit', 'gene', '_id'] }, { target_fields: x }, ['csv-expand', 'parquet']); // prettier-ignore
  });

  test('where expressions make other records', async () => {
    const csq = { name: 'csq', expression: "get(record, 'info.csq')", is_list: true };
    const explodedRecords = await expectSameAsPage({ fields: ['_id', 'i', 'vaf', 'seen'], limit: 11 }, { target_fields: [csq], annotator_params: { post_annotation_expression: "explode(record, fields=['csq'])" } }); // prettier-ignore
    expect(explodedRecords.map(({ i, csq: one }) => `${i} ${one}`).slice(0, 4)).toEqual(['0 stop', '0 gain', '1 null', '2 null']); // prettier-ignore
    expect(explodedRecords).toHaveLength(14);
    const meltExpression = "melt(record, fields=['i', 'vaf'], key_field='what', value_field='of')";
    const meltedRecords = await expectSameAsPage({ fields: ['gene', 'i', 'vaf'], limit: 30 }, { target_fields: [{ name: 'n', expression: '1 / (record.i - 3)' }], annotator_params: { pre_annotation_expression: meltExpression } }, ['excel', 'parquet']); // prettier-ignore
    expect(meltedRecords).toHaveLength(60);
    const lateMemberExpression = "{'a': record.i, **({'late': 1} if record.i > 2 else {})}";
    const failingBody = { target_fields: [{ name: 'x', expression: '1 // record.a' }], annotator_params: { pre_annotation_expression: lateMemberExpression } }; // prettier-ignore
    expect((await expectSameAsPage({ limit: 5 }, failingBody, ['tsv', 'arrow']))[0]).toEqual({ a: 0, x: null, _errors: { x: expect.stringContaining('zero') } }); // prettier-ignore
    const oddRecords = await expectSameAsPage({}, { annotator_params: { pre_annotation_expression: "{'a': record.i, **({'b': [record.gene]} if record.i % 3 else {})} if record.i % 2 else None" } }, ['csv-expand', 'arrow']); // prettier-ignore
    expect(oddRecords.slice(0, 2)).toEqual([{ a: 1, b: [null] }, { a: 3 }]);
  });

  test('under names that only case tells apart, with dots, and of reserved fields', async () => {
    const ownDatasetId = await newDataset();
    await runImport({ dataset_id: ownDatasetId, data_records: [{ Name: 'A', n: 1, _errors: { old: 'bad' } }, { Name: 'B', n: 0 }] }); // prettier-ignore
    const { json } = await ann.get(`/v2/datasets/${ownDatasetId}/fields`);
    const [field] = (json['data'] as readonly { id: number; name: string }[]).filter(({ name }) => name === 'n'); // prettier-ignore
    await ann.patch(`/v2/dataset_fields/${field!.id}`, { title: 'Number' });
    const target_fields = [
      { name: 'name', expression: 'record.Name.lower()' },
      { name: 'NAME', expression: '1 / record.n', data_type: 'double' },
      { name: 'n.x', expression: '[record.n]', data_type: 'integer', is_list: true },
      { name: '_id', expression: "'id ' + record.Name", data_type: 'string' },
    ];
    const body = {
      dataset_id: ownDatasetId,
      params: { exclude_fields: ['_commit'] },
      target_fields,
    };
    const csv = (await downloadExport(await exportRecords({ ...body, format: 'csv' }))).toString();
    expect(csv.split('\r\n')).toEqual([
      '_id,Name,Number,_errors.old,_errors.NAME,name,NAME,n.x',
      'id A,A,1,bad,,a,1,[1]',
      'id B,B,0,,"division by zero (line 1, column 3)",b,,[0]',
      '',
    ]);
    const page = await ann.call('POST', `/v2/datasets/${ownDatasetId}/data`, JSON.stringify({ ...body.params, target_fields }), { accept: 'text/csv' }); // prettier-ignore
    expect(page.text).toBe(csv);
  });

  test('where there is no record', async () => {
    const target_fields = [{ name: 'n', expression: '1', data_type: 'long' }, { name: 's', expression: '"x"' }]; // prettier-ignore
    const exportCsv = async (body: object): Promise<string> =>
      (await downloadExport(await exportRecords({ format: 'csv', ...body }))).toString(); // prettier-ignore
    expect(await exportCsv({ params: { filters: [['i', -1]], fields: ['info.af', 'i'] }, target_fields })).toBe('info.af,i,n,s\r\n'); // prettier-ignore
    const droppingParams = { post_annotation_expression: 'None' };
    expect(await exportCsv({ params: { fields: ['i'] }, annotator_params: droppingParams })).toBe(
      '\r\n',
    );
  });

  test('where parts of the records have other types', async () => {
    const ownDatasetId = await newDataset();
    const manyRecords = Array.from({ length: 20_000 }, (_, n) => ({ n }));
    for (let from = 0; from < manyRecords.length; from += 5_000)
      await runImport({
        dataset_id: ownDatasetId,
        data_records: manyRecords.slice(from, from + 5_000),
      });
    const fields = [
      { name: 'text', expression: "record.n if record.n < 17000 else 'x' + str(record.n)" },
      { name: 'real', expression: 'record.n if record.n != 18000 else 0.5' },
      { name: 'object', expression: "{'a': record.n} if record.n < 19000 else {'b': str(record.n)}" },
      { name: 'whole', expression: 'record.n * 2 ** 31' },
      { name: 'late', expression: 'None if record.n < 19999 else [1]' },
    ]; // prettier-ignore
    const body = { dataset_id: ownDatasetId, params: { fields: ['n'] }, target_fields: fields };
    const expectedRecords = manyRecords.map(({ n }) => ({
      n,
      text: n < 17_000 ? n : `x${n}`,
      real: n === 18_000 ? 0.5 : n,
      object: n < 19_000 ? { a: n } : { b: String(n) },
      whole: n * 2 ** 31,
      late: n < 19_999 ? null : [1],
    }));
    const bytes = await downloadExport(await exportRecords({ ...body, format: 'parquet' }));
    expect((await findRecordDifferences('parquet', bytes, expectedRecords)).slice(0, 5)).toEqual(
      [],
    );
  });

  test('of values that a type cannot have, with a warning', async () => {
    const farFields = [{ name: 'far', expression: "float('inf') if record.i == 1 else 1.0" }];
    const params = { fields: ['i'], limit: 3 };
    const endedExport = await exportRecords({ format: 'csv', params, target_fields: farFields });
    expect((await downloadExport(endedExport)).toString()).toBe('i,far\r\n0,1\r\n1,\r\n2,1\r\n');
    expect(endedExport.json['metadata']).toMatchObject({ warnings: [{ field: 'far', count: 1, message: expect.stringContaining('null is stored') }] }); // prettier-ignore
  });
});

describe('find, sort and select by computed fields', () => {
  const x = { name: 'x', expression: 'record.i % 10', data_type: 'integer' };
  const lateField = { name: 'late', expression: "{'n': record.i * 2, 's': record.gene}" };

  test.each<[object, readonly object[], number]>([
    [{ filters: [['x', 3]], fields: ['i', 'x'] }, [x], 40],
    [{ ordering: ['-x', 'i'], limit: 45, fields: ['x', 'i'] }, [x], 45],
    [{ filters: [['i__lt', 90], { or: [['x__gt', 7], ['gene', 'TP53']] }], ordering: ['i'] }, [x], 36],
    [{ query: 'x:3 OR x:4', fields: ['i'] }, [x], 80],
    [{ filters: [['late.n__gte', 700]], ordering: ['-late.n'], fields: ['i'] }, [lateField], 50],
    [{ filters: [['late.s', 'EGFR']], query: 'i:[0 TO 99]', limit: 7 }, [lateField], 7],
    [{ filters: [['x', 11]], fields: ['i'] }, [x], 0],
    [{ fields: ['x'], limit: 3 }, [x, lateField], 3],
  ])('%j', async (params, fields, recordCount) => {
    const exportedRecords = await expectSameAsPage(params, { target_fields: fields }, ['csv', 'parquet']);
    expect(exportedRecords).toHaveLength(recordCount);
  }); // prettier-ignore

  test('of which other records are made', async () => {
    const body = { target_fields: [x], annotator_params: { post_annotation_expression: '[record] * record.x' } }; // prettier-ignore
    const exportedRecords = await expectSameAsPage({ filters: [['x__in', [0, 2, 3]]], ordering: ['-i'], limit: 3, fields: ['i'] }, body, ['tsv', 'excel']); // prettier-ignore
    expect(exportedRecords).toEqual(
      [{ i: 393, x: 3 }, { i: 393, x: 3 }, { i: 393, x: 3 }, { i: 392, x: 2 }, { i: 392, x: 2 }],
    ); // prettier-ignore
  });

  test('of an earlier version', async () => {
    const { json } = await ann.get(`/v2/datasets/${datasetId}/commits`);
    const as_of = (json['data'] as readonly { id: number }[]).at(-1)!.id;
    const csv = await downloadExport(await exportRecords({ format: 'csv', as_of, params: { filters: [['x', 9]], ordering: '-i', fields: ['i'], limit: 2 }, target_fields: [x] })); // prettier-ignore
    expect(csv.toString()).toBe('i,x\r\n149,9\r\n139,9\r\n');
  });

  test.each<[object, string, object]>([
    [{ filters: [['x__gt', 'many']] }, 'filters', {}],
    [{ filters: [['x', 1], ['genee', 'TP53']] }, 'Did you mean', {}],
    [{ ordering: ['x', 'noted'] }, 'noted', {}],
    [{ facets: { x: {} } }, 'Not supported in an export', {}],
    [{ filters: [['x', 1]], explain: true }, 'explain', {}],
    [{ filters: [['x', 1]], limit: 0 }, 'limit', {}],
    [{ filters: [['x', 1]], fields: ['y'] }, 'y', {}],
    [{ filters: [['x', 1]] }, 'pre_annotation_expression', { annotator_params: { pre_annotation_expression: 'record' } }],
  ])('400: %j names %s', async (params, expectedText, more) => {
    const body = { dataset_id: datasetId, format: 'csv', params, target_fields: [x], ...more };
    const { status, json } = await ann.post('/v2/dataset_exports', body);
    expect([status, Object.keys(json)]).toEqual([400, ['params']]);
    expect(JSON.stringify(json)).toContain(expectedText);
  }); // prettier-ignore

  test('by a field of which the type is known only from its values', async () => {
    const autoField = { name: 'auto', expression: 'record.gene' };
    const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, format: 'csv', params: { filters: [['auto__gt', 'x']] }, target_fields: [autoField] }); // prettier-ignore
    const { json } = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    expect([json['status'], json['error_message']]).toEqual(['failed', expect.stringContaining('does not apply to auto, which is of type string')]); // prettier-ignore
  });
});

test('have the rights of their user: a dataset that nobody may read is an error of the record', async () => {
  const bob = await server.user('bob');
  const secretVaultId = idOf(await bob.post('/v2/vaults', { name: 'secret' }));
  const secretDatasetId = idOf(
    await bob.post('/v2/datasets', { vault_id: secretVaultId, name: 'secret' }),
  );
  const x = [{ name: 'x', expression: `dataset_count('${secretDatasetId}')` }];
  const csv = await downloadExport(await exportRecords({ format: 'csv', params: { fields: ['i'], limit: 1 }, target_fields: x })); // prettier-ignore
  expect(csv.toString()).toMatch(/^i,x,_errors\.x\r\n0,,.*Dataset query failed/);
});
