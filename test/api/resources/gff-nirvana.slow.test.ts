import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, sendRequest, waitForJob } from '../server.js';

const { ann, vaultId } = await startServerFixture();

interface ImportedDataset {
  readonly json: Record<string, unknown>;
  readonly datasetId: number;
}

async function importFile(
  filename: string,
  content: string | Buffer,
  readerParams?: Record<string, unknown>,
): Promise<ImportedDataset> {
  const datasetId = idOf(
    await ann.post('/v2/datasets', { vault_id: vaultId, name: `${filename} records` }),
  );
  const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename });
  await sendRequest('', 'PUT', String(file.json['upload_url']), content);
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: idOf(file),
    ...(readerParams && { reader_params: readerParams }),
  });
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  return { json, datasetId };
}

async function queryDataset(datasetId: number, body: object): Promise<Record<string, unknown>> {
  return (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json;
}

test('GFF3 is imported by its extension and found by attributes and coordinates', async () => {
  const content = readFileSync('test/fixtures/gff3/ensembl_grch38_97.gff3');
  const { json, datasetId } = await importFile('ensembl.gff3.gz', gzipSync(content));
  expect(json).toMatchObject({ status: 'completed', error_message: null, genome_build: 'GRCh38' });
  expect((await queryDataset(datasetId, { limit: 0 }))['total']).toBe(82);
  const parentFilters = [['attributes.Parent', 'transcript:ENST00000456328']];
  expect((await queryDataset(datasetId, { filters: parentFilters, limit: 0 }))['total']).toBe(3);
  const placeFilters = [
    ['genomic_coordinates.chromosome', 'chr1'],
    ['genomic_coordinates.start__lte', 12_227],
    ['genomic_coordinates.stop__gte', 11_869],
  ];
  const body = { genome_build: 'GRCh38', filters: placeFilters, limit: 0 };
  expect((await queryDataset(datasetId, body))['total']).toBe(7);
});

test('GTF is imported by its extension', async () => {
  const content = readFileSync('test/fixtures/gtf/ensembl_grch37_head.gtf.gz');
  const { json, datasetId } = await importFile('ensembl.gtf.gz', content);
  expect(json).toMatchObject({ status: 'completed', genome_build: 'GRCh37' });
  const filters = [['attributes.gene_name', 'DDX11L1']];
  expect((await queryDataset(datasetId, { filters, limit: 0 }))['total']).toBe(21);
});

test('sequences behind ##FASTA are no records, in however many chunks a worker reads them', async () => {
  const features = Array.from(
    { length: 30_000 },
    (_, i) => `chr1\tx\tgene\t${i + 1}\t${i + 9}\t.\t+\t.\tID=g${i};Name=a gene of many\n`,
  );
  const sequences = `>chr1\n${`${'ACGT'.repeat(15)}\n`.repeat(80_000)}`;
  const text = `##gff-version 3\n${features.join('')}##FASTA\n${sequences}`;
  for (const [name, content] of [
    ['a.gff3', text],
    ['b.gff3.gz', gzipSync(text, { level: 1 })],
  ] as const) {
    const { json, datasetId } = await importFile(name, content);
    expect(json).toMatchObject({
      status: 'completed',
      metadata: { progress: { processed_records: 30_000 }, validation: { errors_count: 0 } },
    });
    expect((await queryDataset(datasetId, { limit: 0 }))['total']).toBe(30_000);
  }
});

test('Nirvana JSON is imported when it is asked for by name, and keeps its header', async () => {
  const header = { annotator: 'Nirvana 3.12.0', genomeAssembly: 'GRCh38', schemaVersion: 6 };
  const positionText = (i: number) =>
    JSON.stringify({ chromosome: 'chr7', position: 100 + i, refAllele: 'A', altAlleles: ['C'] });
  const positions = Array.from({ length: 50 }, (_, i) => positionText(i)).join(',\n');
  const text = `{"header":${JSON.stringify(header)},"positions":[\n${positions}\n],"genes":[\n{"name":"X"}\n]}\n`;
  const { json, datasetId } = await importFile('a.json.gz', gzipSync(text), { reader: 'Nirvana' });
  expect(json).toMatchObject({ status: 'completed', metadata: { source: header } });
  expect((await queryDataset(datasetId, { limit: 0 }))['total']).toBe(50);

  const cutImport = await importFile('cut.json', text.slice(0, 1000), { reader: 'nirvana' });
  expect(cutImport.json['status']).toBe('failed');
  const lineCutText = text.slice(0, text.lastIndexOf(',\n{"chromosome"'));
  const lineCutImport = await importFile('line.json', lineCutText, { reader: 'nirvana' });
  expect(lineCutImport.json).toMatchObject({
    status: 'failed',
    error_message:
      'line.json: the bracket that closes the positions is missing: the file was cut off',
  });
  const recognizedImport = await importFile('b.json', text);
  expect((await queryDataset(recognizedImport.datasetId, { limit: 0 }))['total']).toBe(50);
  const askedImport = await importFile('b.json', text, { reader: 'json' });
  expect(askedImport.json['error_message']).toContain('set reader_params.reader to "nirvana"');
});

test('a name that stands for another format than the content is no obstacle, and is told', async () => {
  const vcf =
    '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\t5\t.\tA\tC\t.\t.\t.\n';
  for (const [name, text, detectedFormat] of [
    ['variants.txt', vcf, 'vcf'],
    ['table.csv', '{"a":1,"b":"x"}\n{"a":2}\n', 'json'],
    ['features.gff', 'chr1\tx\tgene\t5\t9\t.\t+\t.\tgene_id "g"; gene_name "N";\n', 'gtf'],
    ['features.tsv', '##gff-version 3\nchr1\tx\tgene\t5\t9\t.\t+\t.\tID=g\n', 'gff3'],
    ['list.json', '<?xml version="1.0"?>\n<list><item>1</item></list>', 'xml'],
  ] as const) {
    const { json } = await importFile(name, text);
    expect(json).toMatchObject({ status: 'completed', error_message: null });
    expect(JSON.stringify(json['metadata'])).toContain(
      `the content is ${detectedFormat}: read as ${detectedFormat}`,
    );
  }
  const pageImport = await importFile(
    'page.csv',
    '<!DOCTYPE html>\n<html><body>Not found</body></html>',
  );
  expect(pageImport.json['error_message']).toContain('this is an HTML page');
});
