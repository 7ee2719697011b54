import { expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

let datasetId: number;
const { server, ann, vaultId, newFile } = await startServerFixture();

async function newDataset(fields: readonly object[] = []): Promise<void> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, fields }));
}

/** Imports records, or the records of a file if `source` is an id; returns the error and the codes of the warnings. */
async function importRecords(source: readonly object[] | number, more: object = {}) {
  const sourceParams =
    typeof source === 'number' ? { object_id: source } : { data_records: source };
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    ...sourceParams,
    entity_params: { disable: true },
    ...more,
  });
  expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const { validation } = json['metadata'] as { validation: { warnings: { code: number }[] } };
  return [json['error_message'], validation.warnings.map(({ code }) => code)] as const;
}

async function fetchFieldValues(
  name: string,
  filters: readonly unknown[] = [],
): Promise<unknown[]> {
  const body = { filters, fields: [name] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return (json['results'] as Record<string, unknown>[]).map((row) => row[name]);
}

async function fetchFieldType(name: string): Promise<unknown> {
  return listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`))[0]?.['data_type'];
}

test('a later import widens long to double, for queries, facets, exports and further imports', async () => {
  await newDataset();
  expect(await importRecords([{ af: 0, l: [1], o: { n: 3 } }])).toEqual([null, []]);
  expect(await fetchFieldType('af')).toBe('long');
  const [error, codes] = await importRecords([{ af: 0.5, l: [2.5, 1], o: { n: 1e300 } }]);
  expect([error, new Set(codes)]).toEqual([null, new Set([301])]);
  for (const name of ['af', 'l', 'o.n'])
    expect([name, await fetchFieldType(name)]).toEqual([name, 'double']);
  expect(await fetchFieldValues('af')).toEqual([0, 0.5]);
  expect(await fetchFieldValues('l')).toEqual([[1], [2.5, 1]]);
  expect(await fetchFieldValues('o')).toEqual([{ n: 3 }, { n: 1e300 }]);
  expect(await fetchFieldValues('af', [['af__lt', 0.4]])).toEqual([0]);
  const facets = { af: { facet_type: 'stats' }, 'o.n': { facet_type: 'terms' } };
  const body = { limit: 0, facets };
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  expect(answer.json['facets']).toMatchObject({ af: { count: 2, sum: 0.5, min: 0, max: 0.5 } });
  expect(await importRecords([{ af: 7 }])).toEqual([null, []]);
  expect(await fetchFieldValues('af')).toEqual([0, 0.5, 7]);

  for (const format of ['csv', 'json']) {
    const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: datasetId, format, params: { fields: ['af'] } }); // prettier-ignore
    const endedExport = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    expect(endedExport.json['error_message']).toBeNull();
    const file = await fetch(`${server.url}/v2/dataset_exports/${idOf(createdExport)}/download`, {
      headers: { authorization: `Bearer ${ann.token}` },
    });
    const bytes = Buffer.from(await file.arrayBuffer());
    const text = format === 'json' ? gunzipSync(bytes).toString() : bytes.toString();
    expect(text.match(/(?<=^|:)[\d.]+/gm)).toEqual(['0', '0.5', '7']);
  }
  const commits = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  expect(commits.length).toBe(3);
});

test('a text that no string holds makes an undeclared field a text, at once or later', async () => {
  const longText = 'beta '.repeat(10_000);
  await newDataset();
  expect(await importRecords([{ t: 'Alpha', u: [longText], v: 1 }, { u: 'x' }])).toEqual([null, [306]]);
  expect([await fetchFieldType('t'), await fetchFieldType('u')]).toEqual(['string', 'text']);
  expect(await importRecords([{ t: longText, u: 'y' }])).toEqual([null, [302, 306]]);
  expect(await fetchFieldType('t')).toBe('text');
  expect(await fetchFieldValues('t')).toEqual(['Alpha', null, longText]);
  expect(await fetchFieldValues('t', [['t', 'alpha']])).toEqual(['Alpha']);
  expect(await fetchFieldValues('t', [['t', 'beta']])).toEqual([longText]);
  expect(await importRecords([{ t: 'gamma' }])).toEqual([null, []]);

  for (const [name, text, field] of [
    ['a.csv', `t,n\n${longText},1\n`, 't'],
    ['a.vcf', `##fileformat=VCFv4.2\n##reference=GRCh38\n##INFO=<ID=T,Number=1,Type=String,Description="T">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\t5\t.\tA\tC\t.\t.\tT=${longText.trim().replaceAll(' ', '_')}\n`, 'info.T'],
    ['b.vcf', `##fileformat=VCFv4.2\n##reference=GRCh38\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\t5\t.\t${'ACGT'.repeat(10_000)}\tA\t.\t.\t.\n`, 'reference_allele'],
    ['a.gff3', `##gff-version 3\n1\tx\tgene\t5\t9\t.\t+\t.\tID=a;T=${longText.trim().replaceAll(' ', '_')}\n`, 'attributes.T'],
    ['a.bed', `1\t5\t9\t${longText.trim().replaceAll(' ', '_')}\n`, 'name'],
    ['a.xml', `<r><i><t>${longText}</t></i></r>`, 't'],
  ] as const) {
    await newDataset();
    const [error, codes] = await importRecords(await newFile(name, text));
    expect([name, error, new Set(codes)]).toEqual([name, null, new Set([306])]);
    expect([name, await fetchFieldType(field)]).toEqual([name, 'text']);
  }
}); // prettier-ignore

test('declared types stay, and so does every type under strict validation', async () => {
  await newDataset([
    { name: 'n', data_type: 'long' },
    { name: 't', data_type: 'string' },
  ]);
  await importRecords([{ n: 1, t: 'x', m: 1 }]);
  for (const record of [{ n: 0.5 }, { t: 'x'.repeat(40_000) }]) {
    const [error] = await importRecords([record]);
    expect(error).toMatch('n' in record ? /line 1: field n: 0.5 is not a valid long/ : /field t: .* use data type "text"/);
  }
  const [error] = await importRecords([{ m: 0.5 }], { validation_params: { strict_validation: true } });
  expect(error).toContain('0.5 is not a valid long');
  expect([await fetchFieldType('n'), await fetchFieldType('t'), await fetchFieldType('m')]).toEqual(['long', 'string', 'long']);
  expect((await importRecords([{ k: 1 }], { target_fields: [{ name: 'k', data_type: 'long' }] }))[0]).toBeNull();
  expect((await importRecords([{ k: 0.5 }]))[0]).toContain('0.5 is not a valid long');
}); // prettier-ignore

test('a field that is sent back as it was read, with another title, does not count as declared', async () => {
  await newDataset();
  expect(await importRecords([{ n: 1 }])).toEqual([null, []]);
  const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=n`));
  const answer = await ann.put(`/v2/dataset_fields/${String(field?.['id'])}`, { ...field, title: 'Number' }); // prettier-ignore
  expect([answer.status, answer.json]).toEqual([
    200,
    expect.objectContaining({ title: 'Number', data_type: 'long', is_valid: true }),
  ]);
  expect(await importRecords([{ n: 0.5 }])).toEqual([null, [301]]);
  expect(await fetchFieldType('n')).toBe('double');
});
