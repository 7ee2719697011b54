import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf } from '../server.js';

const { ann, vaultId, newDataset, runImport } = await startServerFixture();

const detectionsOf = (json: Record<string, unknown>): unknown =>
  (json['metadata'] as { validation: { detections: unknown } }).validation.detections;

async function fetchEntities(datasetId: number): Promise<Record<string, unknown>> {
  const fields = listOf(await ann.get(`/v2/datasets/${datasetId}/fields`));
  const entityFields = fields.filter((field) => field['entity_type'] !== null);
  return Object.fromEntries(entityFields.map((field) => [field['name'], field['entity_type']]));
}

const records = [
  {
    gene: 'BRCA2',
    variant: 'GRCh37-13-32890572-32890572-A',
    info: { symbols: ['TP53', 'KRAS'], pmid: '20307285' },
    patient: { sample_id: 'S-1' },
    state: 'MET',
  },
  { gene: 'EGFR', variant: 'GRCH38-7-55181378-55181378-T', info: { symbols: [] }, state: 'REST' },
];

describe('a ClinVar file', () => {
  test('has a facet of diseases and answers by gene, and the report tells how its keys are read', async () => {
    const bytes = readFileSync('test/fixtures/vcf/clinvar_grch38.vcf.gz');
    const file = { vault_id: vaultId, object_type: 'file', filename: 'clinvar.vcf.gz', size: bytes.length };
    const object = await ann.post('/v2/objects', file);
    const putRequest = { method: 'PUT', body: bytes };
    expect((await fetch(object.json['upload_url'] as string, putRequest)).status).toBe(200);
    const datasetId = await newDataset();
    const json = await runImport({ dataset_id: datasetId, object_id: idOf(object) });
    expect(await fetchEntities(datasetId)).toMatchObject({ 'info.GENEINFO_gene': 'gene' });
    const { receipt } = json['metadata'] as { receipt: { sources: { meanings: unknown }[] } };
    expect(receipt.sources[0]!.meanings).toEqual(
      expect.arrayContaining([
        { field: 'info.CLNDN', known_source: 'ClinVar', split: '|' },
        { field: 'info.GENEINFO', known_source: 'ClinVar', genes: 'info.GENEINFO_gene' },
      ]),
    );
    const query = { entities: [['gene', 'SAMD11']], facets: { 'info.CLNDN': {} }, limit: 100 };
    const { json: page } = await ann.post(`/v2/datasets/${datasetId}/data`, query);
    const infos = (page['results'] as { info: Record<string, unknown> }[]).map(({ info }) => info);
    expect(infos.length).toBeGreaterThan(0);
    expect(infos.every(({ GENEINFO }) => String(GENEINFO).includes('SAMD11:'))).toBe(true);
    const facet = (page['facets'] as Record<string, [string, number][]>)['info.CLNDN']!;
    const diseases = new Set(infos.flatMap(({ CLNDN }) => CLNDN as string[]));
    expect(new Set(facet.map(([name]) => name))).toEqual(diseases);
  });
}); // prettier-ignore

describe('a file of T2T-CHM13', () => {
  test('is imported, found and told as that, whether its header or the request says so', async () => {
    const columns = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
    const makeVcf = (meta: string) => `##fileformat=VCFv4.2\n${meta}${columns}chr21\t50\t.\tA\tT\t.\t.\t.\n`;
    const variant = 'T2T-CHM13-21-50-50-T';
    for (const [meta, more] of [
      ['##contig=<ID=chr21,length=45090682>\n', {}],
      ['', { genome_build: 't2t-chm13' }],
      ['', { reader_params: { genome_build: 'T2T-CHM13' } }],
    ] as const) {
      const file = { vault_id: vaultId, object_type: 'file', filename: `${Math.random()}.vcf` };
      const object = await ann.post('/v2/objects', file);
      await fetch(String(object.json['upload_url']), { method: 'PUT', body: makeVcf(meta) });
      const datasetId = await newDataset();
      const json = await runImport({ dataset_id: datasetId, object_id: idOf(object), ...more });
      const { receipt } = json['metadata'] as { receipt: { sources: object[] } };
      expect(receipt.sources).toMatchObject([{ genome_build: 'T2T-CHM13' }]);
      const dataset = await ann.get(`/v2/datasets/${datasetId}`);
      expect(dataset.json).toMatchObject({ is_genomic: true, genome_builds: ['T2T-CHM13'] });
      const fetchTotal = async (query: object) => {
        const { status, json: page } = await ann.post(`/v2/datasets/${datasetId}/data`, query);
        return status === 200 ? page['total'] : page;
      };
      for (const value of [variant, '21-50-A-T', 'chm13:21-50-A-T', 'hs1-chr21-50-A-T'])
        expect([value, await fetchTotal({ entities: [['variant', value]] })]).toEqual([value, 1]);
      for (const value of ['21:1-100', 'T2T-CHM13:21:1-100', 'T2T-CHM13-chr21-1-100', { build: 'T2T-CHM13', chromosome: '21', start: 1, stop: 100 }])
        expect([value, await fetchTotal({ entities: [['genomic_region', value]] })]).toEqual([value, 1]);
      expect(await fetchTotal({ entities: [['variant', 'hg38-21-50-A-T']] })).toBe(0);
      for (const [genome_build, count] of [['T2T-CHM13', 1], ['t2t-chm13', 1], ['GRCh38', 0]] as const)
        expect([genome_build, await fetchTotal({ genome_build })]).toEqual([genome_build, count]);
      const unknownBuildError = { genome_build: ['Expected GRCh37, GRCh38 or T2T-CHM13, not "chm13v2.0". Did you mean "T2T-CHM13"?'] };
      expect(await fetchTotal({ genome_build: 'chm13v2.0' })).toMatchObject(unknownBuildError);
    }
    const datasetId = await newDataset();
    const wrongBody = { dataset_id: datasetId, data_records: [{ a: 1 }], genome_build: 'hs1' };
    const { status, json } = await ann.post('/v2/dataset_imports', wrongBody);
    expect([status, json]).toEqual([400, { genome_build: ['Must be GRCh37, GRCh38 or T2T-CHM13. Did you mean "T2T-CHM13"?'] }]);
  });

  test('records of a request have its variants detected', async () => {
    const datasetId = await newDataset();
    const data_records = [{ variant: 'T2T-CHM13-7-55-55-T', place: 'T2T-CHM13-7-55-60' }];
    await runImport({ dataset_id: datasetId, data_records, entity_params: { entity_types: ['variant', 'genomic_region'] } });
    expect(await fetchEntities(datasetId)).toEqual({ variant: 'variant', place: 'genomic_region' });
  });
}); // prettier-ignore

describe('an import', () => {
  test('finds genes and variants, nested ones and lists too, and says what it found', async () => {
    const datasetId = await newDataset();
    const json = await runImport({ dataset_id: datasetId, data_records: records });
    expect(await fetchEntities(datasetId)).toEqual({
      gene: 'gene',
      variant: 'variant',
      'info.symbols': 'gene',
    });
    expect(detectionsOf(json)).toEqual([
      { field: 'gene', entity_type: 'gene', sampled: 2, matched: 2 },
      { field: 'variant', entity_type: 'variant', sampled: 2, matched: 2 },
      { field: 'info.symbols', entity_type: 'gene', sampled: 2, matched: 2 },
    ]);
    const dataset = await ann.get(`/v2/datasets/${datasetId}`);
    expect(dataset.json['entity_types']).toEqual(['gene', 'variant']);
  });

  test('detects other types if requested, and then only those', async () => {
    const datasetId = await newDataset();
    const entity_params = { entity_types: ['literature', 'sample'] };
    await runImport({ dataset_id: datasetId, data_records: records, entity_params });
    expect(await fetchEntities(datasetId)).toEqual({
      'info.pmid': 'literature',
      'patient.sample_id': 'sample',
    });
  });

  test.each([
    ['disable', { disable: true }, null],
    ['an empty list of types', { entity_types: [] }, null],
    [
      'apply_detection: false',
      { apply_detection: false, entity_types: ['variant'] },
      [{ field: 'variant', entity_type: 'variant', sampled: 2, matched: 2 }],
    ],
  ])('sets nothing with %s', async (_, entity_params, expectedDetections) => {
    const datasetId = await newDataset();
    const json = await runImport({
      dataset_id: datasetId,
      data_records: records,
      entity_params,
    });
    expect(await fetchEntities(datasetId)).toEqual({});
    expect(detectionsOf(json)).toEqual(expectedDetections);
  });

  test('keeps what the dataset, the request and earlier data say', async () => {
    const fields = [{ name: 'gene', data_type: 'string', entity_type: 'sample' }];
    const datasetId = await newDataset({ fields });
    const target_fields = [{ name: 'variant', entity_type: 'dataset' }];
    const [firstRecord, ...otherRecords] = records.map(({ gene, variant, state }) => ({
      gene,
      variant,
      state,
    }));
    const json = await runImport({
      dataset_id: datasetId,
      data_records: [firstRecord],
      target_fields,
    });
    expect(await fetchEntities(datasetId)).toEqual({ gene: 'sample', variant: 'dataset' });
    expect(detectionsOf(json)).toBeNull();
    const moreRecords = otherRecords.map((record) => ({
      ...record,
      state: 'GRCH38-7-1-1-T',
      gene2: 'TP53',
    }));
    await runImport({ dataset_id: datasetId, data_records: moreRecords });
    expect(await fetchEntities(datasetId)).toEqual({
      gene: 'sample',
      variant: 'dataset',
      gene2: 'gene',
    });
  });

  test.each<[string, unknown, string]>([
    ['an unknown type', { entity_types: ['gene', 'protein'] }, '"protein" is no entity type'],
    ['types that are no texts', { entity_types: [{}] }, 'entity_types: Must be a list of strings.'],
    ['a switch of another type', { disable: 'maybe' }, 'disable: Must be a valid boolean.'],
    ['no detection switch', { apply_detection: {} }, 'apply_detection: Must be a valid boolean.'],
    ['a count beyond reason', { sample_count: 1e6 }, 'sample_count: Must be from 1 to 1000.'],
    ['a rate of nothing', { sample_rate: 0 }, 'sample_rate: Must be a number above 0'],
    ['something else', 'gene', 'Must be a JSON object.'],
  ])('refuses %s', async (_, entity_params, message) => {
    const dataset_id = await newDataset();
    const answer = await ann.post('/v2/dataset_imports', {
      dataset_id,
      data_records: [],
      entity_params,
    });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ entity_params: [expect.stringContaining(message)] });
  });

  test('finds the annotated genes of a VCF file', async () => {
    const datasetId = await newDataset();
    const createdObject = await ann.post('/v2/objects', {
      vault_id: vaultId,
      object_type: 'file',
      filename: 'vep.vcf.gz',
    });
    const body = new Uint8Array(readFileSync('test/fixtures/vcf/vep_csq_split.vcf.gz'));
    await fetch(String(createdObject.json['upload_url']), { method: 'PUT', body });
    await runImport({ dataset_id: datasetId, object_id: idOf(createdObject) });
    expect(await fetchEntities(datasetId)).toEqual({
      variant: 'variant',
      'info.CSQ.SYMBOL': 'gene',
    });
  });
});
