import { describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

let datasetId: number;
const { server, ann, vaultId } = await startServerFixture();

interface ImportOutcome {
  readonly id: number;
  readonly status: unknown;
  readonly error: unknown;
  readonly receipt: {
    readonly records_stored: number;
    readonly records_rejected: number;
    readonly is_committed: boolean;
  };
  readonly errors: readonly { readonly line: number; readonly field: string | null }[];
}

async function newFileObject(filename: string, text: string): Promise<number> {
  const createdObject = await ann.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    filename,
  });
  await fetch(String(createdObject.json['upload_url']), { method: 'PUT', body: text });
  return idOf(createdObject);
}

function isFileSource(source: object): source is [name: string, text: string] {
  return Array.isArray(source) && typeof source[0] === 'string';
}

/** Imports inline records, a file given by name and text, or a manifest into a new dataset, the one of `datasetId` from then on. */
async function importRecords(
  source: object,
  validation_params: object,
  more: object = {},
): Promise<ImportOutcome> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
  let sourceParams: object = Array.isArray(source)
    ? { data_records: source }
    : { manifest: source };
  if (isFileSource(source)) sourceParams = { object_id: await newFileObject(source[0], source[1]) };
  const body = { dataset_id: datasetId, ...sourceParams, validation_params, ...more };
  const createdImport = await ann.post('/v2/dataset_imports', body);
  expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const { receipt, validation } = json['metadata'] as never;
  const { errors } = validation as { errors: ImportOutcome['errors'] };
  return {
    id: idOf(createdImport),
    status: json['status'],
    error: json['error_message'],
    receipt,
    errors,
  };
}

async function fetchTotalRecords(): Promise<unknown> {
  return (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 })).json['total'];
}

async function downloadRejectedRecords({
  id,
}: ImportOutcome): Promise<readonly Record<string, unknown>[]> {
  const answer = await fetch(`${server.url}/v2/dataset_imports/${id}/rejected`, {
    headers: { authorization: `Bearer ${ann.token}` },
  });
  const lines = gunzipSync(Buffer.from(await answer.arrayBuffer()))
    .toString()
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const rejectParams = { on_error: 'reject' };
const vcfHeader =
  '##fileformat=VCFv4.2\n##reference=GRCh38\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
const gtfLine = (start: number | string): string =>
  `1\tx\tgene\t${start}\t9\t.\t+\t.\tgene_id "a";\n`;
const gffFeatureLine = '1\tx\tgene\t5\t9\t.\t+\t.\tID=a\n';

describe('records with errors are rejected, and the others stored', () => {
  const longTarget = { target_fields: [{ name: 'n', data_type: 'long' }] };
  const positions = ['"position":5', '"position":"x"', '"position":7'];
  const files: readonly [name: string, text: string, more: object, line: number, field: string | null, reason: string][] = [
    ['a.json', '{"n":1}\n{"n":NaN}\n{"n":"x"}\n{"n":[2]}\n', {}, 2, 'n', 'the value is NaN'],
    ['a.csv', 'n,s\n1,a\nx,b\n3,c\n', longTarget, 3, 'n', '"x" is not a valid long'],
    ['a.tsv', 'n\ts\n1\ta\nx\tb\n3\tc\n', longTarget, 3, 'n', '"x" is not a valid long'],
    ['a.vcf', `${vcfHeader}1\t5\t.\tA\tC\t.\t.\t.\n1\tx\t.\tA\tC\t.\t.\t.\n1\t7\t.\tA\tC\t.\t.\t.\n`, {}, 5, 'POS', '"x" is not a position'],
    ['a.gff3', `##gff-version 3\n${gffFeatureLine}1\tx\n${gffFeatureLine}`, {}, 3, null, 'columns'],
    ['a.gtf', `${gtfLine(5)}${gtfLine('x')}${gtfLine(7)}`, {}, 2, 'start', '"x"'],
    ['a.bed', '1\t5\t9\n1\tx\t9\n1\t6\t9\n', {}, 2, 'chromStart', '"x"'],
    ['a.xml', '<r>\n<i><n>1</n></i>\n<i><n>x</n></i>\n<i><n>3</n></i></r>', longTarget, 3, 'n', '"x" is not a valid long'],
    ['nirvana.json', `{"header":{"annotator":"Nirvana 3.12.0","genomeAssembly":"GRCh38"},"positions":[\n${positions.map((one) => `{"chromosome":"1",${one},"refAllele":"A"}`).join(',\n')}\n]}\n`, {}, 3, 'position', 'a whole number as "position"'],
  ]; // prettier-ignore

  test.each(files)('%s', async (name, text, more, line, field, reason) => {
    const outcome = await importRecords([name, text], { ...rejectParams, max_rejected: 1 }, more);
    expect([outcome.status, outcome.error]).toEqual(['completed', null]);
    const storedCount = name === 'a.json' ? 3 : 2;
    expect(outcome.receipt).toMatchObject({ records_stored: storedCount, records_rejected: 1, is_committed: true });
    const message: unknown = expect.stringContaining(reason);
    expect(outcome.errors).toMatchObject([{ line, field, count: 1, message }]);
    expect(await fetchTotalRecords()).toBe(storedCount);
    const [rejectedRecord, ...others] = await downloadRejectedRecords(outcome);
    expect(rejectedRecord).toMatchObject({ file: name, line, field, errors: 1, message });
    expect([others, rejectedRecord!['text']]).toEqual([[], text.split('\n')[line - 1]]);
    const failedOutcome = await importRecords([name, text], {}, more);
    expect([failedOutcome.status, await fetchTotalRecords()]).toEqual(['failed', 0]);
    expect(failedOutcome.error).toContain(field === null ? `line ${line}: ` : `line ${line}: field ${field}: `);
    const zeroLimitOutcome = await importRecords([name, text], { ...rejectParams, max_rejected: 0 }, more);
    expect([zeroLimitOutcome.status, await fetchTotalRecords(), (await downloadRejectedRecords(zeroLimitOutcome)).length]).toEqual(['failed', 0, 1]);
  }); // prettier-ignore

  test.each(files.filter(([name]) => name !== 'a.vcf'))('%s with carriage returns as line ends', async (name, text, more, line) => {
    const reader_params = name === 'nirvana.json' ? { reader: 'nirvana' } : {};
    const outcome =
      await importRecords([name, text.replaceAll('\n', '\r')], { ...rejectParams, max_rejected: 1 }, { ...more, reader_params });
    expect([outcome.status, outcome.error, outcome.receipt.records_rejected]).toEqual(['completed', null, 1]);
    expect(await downloadRejectedRecords(outcome)).toEqual([expect.objectContaining({ line, text: text.split('\n')[line - 1] })]);
  }); // prettier-ignore

  test('of inline records, and in dry runs', async () => {
    const records = [{ n: 1 }, { n: 'x' }, { n: 3 }];
    const longTarget = { target_fields: [{ name: 'n', data_type: 'long' }] };
    const outcome = await importRecords(records, { ...rejectParams, max_rejected: 1 }, longTarget);
    expect([outcome.status, await fetchTotalRecords()]).toEqual(['completed', 2]);
    const dryRun = await importRecords(records, rejectParams, { ...longTarget, dry_run: true });
    expect([dryRun.status, dryRun.receipt.records_rejected, await fetchTotalRecords()]).toEqual([
      'completed',
      1,
      0,
    ]);
    expect((await downloadRejectedRecords(dryRun)).length).toBe(1);
  });
});

test('more than max_rejected fail the import, and nothing is stored', async () => {
  const text = Array.from({ length: 10 }, (_, i) => `{"n":${i % 2 ? 'NaN' : i}}\n`).join('');
  const failedOutcome = await importRecords(['a.json', text], { ...rejectParams, max_rejected: 4 });
  expect([failedOutcome.status, await fetchTotalRecords()]).toEqual(['failed', 0]);
  expect(failedOutcome.error).toContain(
    '5 records are rejected, validation_params.max_rejected is 4',
  );
  expect((await downloadRejectedRecords(failedOutcome)).length).toBe(5);
  const outcome = await importRecords(['a.json', text], { ...rejectParams, max_rejected: 5 });
  expect([outcome.status, await fetchTotalRecords()]).toEqual(['completed', 5]);
});

test('what cannot be told apart fails the import', async () => {
  for (const source of [
    ['a.csv', 'n,s\n1,a\n2,"b\n3,c\n'],
    ['a.xml', '<r><i><n>1</n></i><i><n>2</i></r>'],
  ] as const) {
    const failedOutcome = await importRecords(source, rejectParams);
    expect([source[0], failedOutcome.status, await fetchTotalRecords()]).toEqual([
      source[0],
      'failed',
      0,
    ]);
  }
});

test('the sources of a manifest may reject max_rejected records together', async () => {
  const manifest = {
    files: [
      { object_id: await newFileObject('one.csv', 'n\n1\nx\n3\n') },
      { object_id: await newFileObject('two.json', '{"n":4}\n{"n":"y"}\n') },
    ],
  };
  const longTarget = { target_fields: [{ name: 'n', data_type: 'long' }] };
  const failedOutcome = await importRecords(
    manifest,
    { ...rejectParams, max_rejected: 1 },
    longTarget,
  );
  expect([failedOutcome.status, await fetchTotalRecords()]).toEqual(['failed', 0]);
  const outcome = await importRecords(manifest, { ...rejectParams, max_rejected: 2 }, longTarget);
  expect([outcome.status, await fetchTotalRecords()]).toEqual(['completed', 3]);
  expect(await downloadRejectedRecords(outcome)).toMatchObject([
    { file: 'one.csv', line: 3, field: 'n' },
    { file: 'two.json', line: 2, field: 'n' },
  ]);
});

test.each<[object, ...string[]]>([
  [{ on_error: 'ignore' }, 'on_error'],
  [{ on_error: 'reject', strict_validation: true }, '"on_error": "reject"', '"strict_validation": true'],
  [{ on_error: 'reject', raise_on_errors: true }, '"on_error": "reject"', '"raise_on_errors": true'],
  [{ max_rejected: 5 }, 'max_rejected', 'on_error'],
  [{ on_error: 'reject', max_rejected: -1 }, 'max_rejected'],
])('%j is a 400, in a manifest too', async (params, ...expectedNames) => {
  const postImport = (more: object) => ann.post('/v2/dataset_imports', { dataset_id: datasetId, ...more });
  const object_id = await newFileObject('a.csv', 'n\n1\n');
  const files = [{ object_id }, { object_id, validation_params: params }];
  for (const [key, answer] of [
    ['validation_params', await postImport({ data_records: [], validation_params: params })],
    ['manifest', await postImport({ manifest: { files } })],
  ] as const) {
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
    for (const name of expectedNames) expect((answer.json[key] as string[]).join()).toContain(name);
  }
}); // prettier-ignore

test('what a file of a manifest overrides is judged with what the import says', async () => {
  const object_id = await newFileObject('own.csv', 'n\n1\n');
  const postImport = (validation_params: object, fileParams: object) =>
    ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      validation_params,
      manifest: { files: [{ object_id, validation_params: fileParams }] },
    });
  expect((await postImport(rejectParams, { strict_validation: true })).json).toEqual({
    manifest: [expect.stringMatching(/^File 1 "own.csv", validation_params: "on_error": "reject" .*"strict_validation": true/)],
  });
  for (const [importParams, fileParams] of [
    [rejectParams, { strict_validation: true, on_error: 'fail' }],
    [{ strict_validation: true }, { strict_validation: false, ...rejectParams }],
    [rejectParams, { max_rejected: 3 }],
  ] as const)
    expect((await postImport(importParams, fileParams)).status).toBe(201);
}); // prettier-ignore

describe('a record without the key of a change is rejected, and the others are stored', () => {
  const gffLine = (id: string): string => `1\tx\tgene\t5\t9\t.\t+\t.\t${id}\n`;
  const repeatLine = (line: (i: number) => string): string => Array.from({ length: 300 }, (_, i) => line(i)).join(''); // prettier-ignore
  const nameKey = { id_fields: ['name'] };
  const idKey = { id_fields: ['attributes.ID'] };
  /** Files, options by which a key identifies their records, the key field that errors name, and the lines of the records without a key. */
  const files: readonly [name: string, text: string, more: object, field: string, lines: readonly number[]][] = [
    ['a.json', '{"_id":"a"}\n{"x":1}\n{"_id":"b"}\n{"_id":null}\n', {}, '_id', [2, 4]],
    ['none.json', '{"x":1}\n{"x":2}\n', {}, '_id', [1, 2]],
    ['object.json', '{"o":{"k":1}}\n{"o":{"l":1}}\n{"o":null}\n{"p":1}\n{"o":{"k":2}}\n', { id_fields: ['o.k'] }, 'o.k', [2, 3, 4]],
    ['two.json', '{"a":1,"b":2}\n{"a":1}\n{"b":1}\n', { id_fields: ['b', 'a'] }, 'b', [2, 3]],
    ['a.csv', `name,s\n${repeatLine((i) => `n${i},1\n`)}\n,2\n${repeatLine((i) => `m${i},"x\ny"\n`)},3\n`, nameKey, 'name', [303, 904]],
    ['a.vcf', `${vcfHeader}1\t5\trs1\tA\tC\t.\t.\t.\n1\t6\t.\tA\tC,G\t.\t.\t.\n1\t7\trs3\tA\tC\t.\t.\t.\n`, { id_fields: ['row_id'] }, 'row_id', [5, 5]],
    ['a.gff3', `##gff-version 3\n${repeatLine((i) => gffLine(`ID=a${i}`))}#\n${gffLine('Name=b')}${gffLine('ID=c')}#\n${gffLine('Name=d')}`, idKey, 'attributes.ID', [303, 306]],
    ['a.xml', '<r>\n<i><name>1</name></i>\n<i><x>x</x>\n</i><i><x>3</x></i>\n<i><name>x</name></i></r>', nameKey, 'name', [3, 4]],
  ]; // prettier-ignore

  test.each([...files.map((one) => ['overwrite', ...one] as const), ...files.slice(0, 3).map((one) => ['delete', ...one] as const)])('%s: %s', async (commit_mode, name, text, more, field, lines) => {
    const options = { commit_mode, ...more };
    const outcome = await importRecords([name, text], rejectParams, options);
    expect([outcome.status, outcome.error]).toEqual(['completed', null]);
    expect(outcome.receipt).toMatchObject({ records_rejected: lines.length, is_committed: true });
    const total = commit_mode === 'delete' ? 0 : outcome.receipt.records_stored;
    expect(await fetchTotalRecords()).toBe(total);
    const message: unknown = expect.stringContaining(`no value: with commit_mode ${commit_mode}`);
    expect(outcome.errors[0]).toMatchObject({ line: lines[0], field, message });
    const rejectedRecords = await downloadRejectedRecords(outcome);
    expect(rejectedRecords.map(({ line }) => line)).toEqual(lines);
    const textLines = text.split('\n');
    expect(rejectedRecords.map((one) => one['text'])).toEqual(lines.map((line) => textLines[line - 1]));
    const failedOutcome = await importRecords([name, text], {}, options);
    expect([failedOutcome.status, failedOutcome.error]).toEqual(['failed', expect.stringMatching(/ has no .+: with commit_mode|: no record has a field/)]);
    const overLimitOutcome = await importRecords([name, text], { ...rejectParams, max_rejected: lines.length - 1 }, options);
    expect([overLimitOutcome.status, await fetchTotalRecords()]).toEqual(['failed', 0]);
  }); // prettier-ignore

  test('in the order of the lines, among records with invalid values', async () => {
    const text = '{"_id":"a","n":1}\n{"n":2}\n{"_id":"b","n":NaN}\n{"n":3}\n{"n":NaN}\n';
    const outcome = await importRecords(['a.json', text], rejectParams, {
      commit_mode: 'overwrite',
    });
    const rejectedRecords = await downloadRejectedRecords(outcome);
    expect(rejectedRecords.map(({ line, field }) => [line, field])).toEqual(
      [[2, '_id'], [3, 'n'], [4, '_id'], [5, 'n']],
    ); // prettier-ignore
    expect([outcome.receipt.records_stored, await fetchTotalRecords()]).toEqual([1, 1]);
  });

  test('also if an expression computes the key, and if records come in the request', async () => {
    const target_fields = [{ name: 'k', expression: 'record.s.upper() if record.s else None' }];
    const options = { commit_mode: 'overwrite', id_fields: ['k'], target_fields };
    const records = [{ s: 'a' }, { n: 1 }, { s: 'b' }];
    const outcome = await importRecords(records, rejectParams, options);
    expect([outcome.status, outcome.receipt.records_stored]).toEqual(['completed', 2]);
    expect(outcome.errors).toMatchObject([{ line: 2, field: 'k', count: 1 }]);
  });

  test('unless an expression computes its key from the types of the whole file', async () => {
    const padding = 'x'.repeat(1000);
    const lineOf = (s: unknown): string => `${JSON.stringify({ s, padding })}\n`;
    const text = Array.from({ length: 5000 }, (_, i) => lineOf(i)).join('') + lineOf('a') + lineOf(null);
    const target_fields = [{ name: 'k', expression: 'record.s.upper()' }]; // fails for the numbers of the first chunk
    const options = { commit_mode: 'overwrite', id_fields: ['k'], target_fields };
    const outcome = await importRecords(['mixed.json', text], rejectParams, options);
    expect([outcome.status, outcome.error, outcome.receipt.records_stored]).toEqual(['completed', null, 5001]);
    expect(await downloadRejectedRecords(outcome)).toMatchObject([{ line: 5002, field: 'k' }]);
  }); // prettier-ignore

  test('unless its key has another type than in other records, or is in another file', async () => {
    const options = { commit_mode: 'overwrite', id_fields: ['chrom', 'pos'] };
    const records = [{ chrom: 1, pos: 5 }, { chrom: 'X', pos: 7 }, { chrom: null, pos: 9 }, { chrom: 2, pos: 2.5 }, { pos: 3 }];
    const outcome = await importRecords(records, rejectParams, options);
    expect([outcome.status, outcome.error, outcome.receipt.records_stored]).toEqual(['completed', null, 3]);
    expect((await downloadRejectedRecords(outcome)).map(({ line, field }) => [line, field])).toEqual([[3, 'chrom'], [5, 'chrom']]);
    const fileTexts = [JSON.stringify({ k: 'NA' }), JSON.stringify({ x: 1 }), JSON.stringify({ o: 1 })];
    for (const order of [[0, 1, 2], [2, 1, 0]]) {
      const files = await Promise.all(order.map(async (i) => ({ object_id: await newFileObject(`${i}.json`, fileTexts[i]!), format: 'json' })));
      const manifestOutcome = await importRecords({ files }, rejectParams, { commit_mode: 'overwrite', id_fields: ['k'] });
      const { status, error, receipt } = manifestOutcome;
      expect([status, error, receipt.records_stored, receipt.records_rejected]).toEqual(['completed', null, 1, 2]);
    }
  }); // prettier-ignore

  test('but a field that no record has fails the import', async () => {
    const options = { commit_mode: 'overwrite', id_fields: ['Name'] };
    const failedOutcome = await importRecords([{ name: 'a' }], rejectParams, options);
    expect(failedOutcome.error).toContain('no record has a field "Name"');
    const target_fields = [{ name: 'Name', data_type: 'string' }];
    const declaredOutcome = await importRecords([{ name: 'a' }], rejectParams, { ...options, target_fields });
    expect(declaredOutcome.error).toContain('no record has a field "Name"');
  }); // prettier-ignore

  test('and an upsert adds it', async () => {
    const outcome = await importRecords([{ _id: 'a' }, { x: 1 }], rejectParams, { commit_mode: 'upsert' }); // prettier-ignore
    expect([outcome.receipt.records_rejected, await fetchTotalRecords()]).toEqual([0, 2]);
  });
});
