import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { chromosomes } from './data.js';
import type { Format } from './format.js';
import { generateFile, randomizeDigits } from './generate.js';
import { bcftoolsPeers } from './peers/bcftools-duckdb.js';
import {
  fixedColumns,
  infoColumns,
  sampleColumns,
  type VcfFieldDefinition,
} from './peers/columns.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_261_123;

/** A file of real lines from which other lines are generated, and the INFO and FORMAT keys to keep. */
interface VcfFixture {
  readonly fixture: string;
  readonly info: readonly VcfFieldDefinition[];
  readonly format: readonly VcfFieldDefinition[];
}

const sitesFixture: VcfFixture = {
  fixture: 'sites_1kg.vcf',
  info: [
    { id: 'AVGPOST', number: '1', type: 'Float' },
    { id: 'RSQ', number: '1', type: 'Float' },
    { id: 'LDAF', number: '1', type: 'Float' },
    { id: 'ERATE', number: '1', type: 'Float' },
    { id: 'AN', number: '1', type: 'Integer' },
    { id: 'VT', number: '1', type: 'String' },
    { id: 'AA', number: '1', type: 'String' },
    { id: 'THETA', number: '1', type: 'Float' },
    { id: 'AC', number: '.', type: 'Integer' },
    { id: 'SNPSOURCE', number: '.', type: 'String' },
    { id: 'AF', number: '1', type: 'Float' },
  ],
  format: [],
};

const samplesFixture: VcfFixture = {
  fixture: 'hail_100_samples.vcf.gz',
  info: [
    { id: 'AC', number: 'A', type: 'Integer' },
    { id: 'AF', number: 'A', type: 'Float' },
    { id: 'AN', number: '1', type: 'Integer' },
    { id: 'DP', number: '1', type: 'Integer' },
    { id: 'MQ', number: '1', type: 'Float' },
    { id: 'QD', number: '1', type: 'Float' },
  ],
  format: [
    { id: 'GT', number: '1', type: 'String' },
    { id: 'AD', number: 'R', type: 'Integer' },
    { id: 'DP', number: '1', type: 'Integer' },
    { id: 'GQ', number: '1', type: 'Integer' },
  ],
};

/** Sites of the 1000 Genomes Project. */
export const vcfFormat: Format = {
  name: 'vcf',
  title: 'VCF sites, 11 INFO keys, bgzip',
  records: 1_400_000,
  file: (records) =>
    generateFile(`sites-${records}-${seed}.vcf.gz`, () => vcfLines(sitesFixture, records), 'bgzf'),
  reader: 'vcf',
  limit: 0.7,
  peers: bcftoolsPeers([...fixedColumns, ...infoColumns(sitesFixture.info)]),
};

/** Genotypes of a hundred exomes. */
export const vcfSamplesFormat: Format = {
  name: 'vcf-samples',
  title: 'VCF with 100 samples, GT:AD:DP:GQ, bgzip',
  records: 110_000,
  file: (records) =>
    generateFile(
      `samples-${records}-${seed}.vcf.gz`,
      () => vcfLines(samplesFixture, records),
      'bgzf',
    ),
  reader: 'vcf',
  limit: 0.9,
  peers: bcftoolsPeers([
    ...fixedColumns,
    ...infoColumns(samplesFixture.info),
    ...sampleColumns(samplesFixture.format),
  ]),
};

/**
 * Yields the lines of a file, header first: real lines with one alternate allele, at new positions and with new digits in their numbers.
 */
function* vcfLines({ fixture, info, format }: VcfFixture, records: number): Generator<string> {
  const bytes = readFileSync(`test/fixtures/vcf/${fixture}`);
  const allLines = (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n');
  const names = allLines.find((line) => line.startsWith('#CHROM'))!.split('\t');
  yield '##fileformat=VCFv4.2\n##reference=GRCh37\n';
  for (const [name, megabases] of chromosomes)
    yield `##contig=<ID=${name},length=${Math.round(megabases * 1e6)}>\n`;
  for (const definition of allLines.filter((text) => text.startsWith('##FILTER=')))
    yield `${definition}\n`;
  for (const { id, number, type } of info)
    yield `##INFO=<ID=${id},Number=${number},Type=${type},Description="${id} of the record">\n`;
  for (const { id, number, type } of format)
    yield `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="${id} of a sample">\n`;
  yield `${names.slice(0, format.length === 0 ? 8 : undefined).join('\t')}\n`;
  const realRows = allLines
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .filter(([, , , , alt = '']) => /^[ACGT]+$/.test(alt));
  const random = seededRandom(seed);
  const genomeMegabases = chromosomes.reduce((sum, [, size]) => sum + size, 0);
  const step = (genomeMegabases * 1e6) / Math.max(1, records);
  for (let row = 0, chromosomeIndex = 0, position = 1; row < records; row++) {
    position += 1 + Math.floor(random.next() * 1.9 * step);
    const [name, size] = chromosomes[chromosomeIndex]!;
    if (position > size * 1e6 && chromosomeIndex < chromosomes.length - 1) {
      chromosomeIndex++;
      position = 1;
    }
    yield vcfLine(random.pick(realRows), name, position, info, format, random);
  }
}

function vcfLine(
  cells: readonly string[],
  chromosome: string,
  position: number,
  info: readonly VcfFieldDefinition[],
  format: readonly VcfFieldDefinition[],
  random: RandomGenerator,
): string {
  const [, , id = '.', ref, alt, qual = '.', filter, infoText = '', formatText = '', ...callTexts] =
    cells;
  const wantedKeys = new Map(info.map((key) => [key.id, key]));
  const items = infoText.split(';').flatMap((item) => {
    const [key = '', value = ''] = item.split('=');
    const wantedKey = wantedKeys.get(key);
    return wantedKey === undefined ? [] : [`${key}=${varyValue(wantedKey, value, random)}`];
  });
  const fixedFields = [
    chromosome,
    position,
    randomizeDigits(id, random),
    ref,
    alt,
    randomizeDigits(qual, random),
  ];
  const siteText = `${[...fixedFields, filter, items.join(';')].join('\t')}`;
  if (format.length === 0) return `${siteText}\n`;
  const keyIndexes = format.map(({ id: key }) => formatText.split(':').indexOf(key));
  const calls = callTexts.map((value) => {
    const callValues = value.split(':');
    return format
      .map((key, i) => varyValue(key, callValues[keyIndexes[i]!] ?? '.', random))
      .join(':')
      .replace(/(:\.)+$/, '');
  });
  return `${siteText}\t${format.map(({ id: key }) => key).join(':')}\t${calls.join('\t')}\n`;
}

function varyValue({ type }: VcfFieldDefinition, value: string, random: RandomGenerator): string {
  return type === 'String' ? value : randomizeDigits(value, random);
}
