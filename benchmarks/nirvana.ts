import type { Format } from './format.js';
import { generateFile } from './generate.js';
import { pythonProgram } from './peers/peer.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_260_403;

/** Annotated positions of one sample in the format of Nirvana. */
export const nirvanaFormat: Format = {
  name: 'nirvana',
  title: 'Nirvana .json.gz, one sample',
  records: 100_000,
  file: (records) =>
    generateFile(`${records}-${seed}.nirvana.json.gz`, () => nirvanaLines(records), 'gzip'),
  reader: 'nirvana',
  limit: 0.5,
  peers: [pythonProgram('Python gzip and json by line', 'nirvana_to_jsonl.py')],
};

/*
 * The layout follows real files of Nirvana 3.12 (schema 6) key by key. The licences of those files (GPL, or none) do not allow copying
 * them, so the values are generated.
 */
const nirvanaHeader = {
  annotator: 'Nirvana 3.12.0',
  creationTime: '2020-11-09 17:25:26',
  genomeAssembly: 'GRCh38',
  schemaVersion: 6,
  dataVersion: '91.27.60',
  dataSources: [
    { name: 'VEP', version: '91', description: 'Ensembl', releaseDate: '2017-12-18' },
    { name: 'ClinVar', version: '20200903', description: 'ClinVar', releaseDate: '2020-09-03' },
  ],
  samples: ['mother'],
};

const bases = ['A', 'C', 'G', 'T'];
const consequences = [
  'missense_variant',
  'synonymous_variant',
  'intron_variant',
  'downstream_gene_variant',
  'non_coding_transcript_variant',
];
const biotypes = ['protein_coding', 'processed_transcript', 'unprocessed_pseudogene'];
const clinicalSignificances = ['benign', 'likely benign', 'uncertain significance', 'pathogenic'];

/** Yields the lines of the generated Nirvana file. The same number of positions gives the same lines. */
function* nirvanaLines(positions: number): Generator<string> {
  yield `{"header":${JSON.stringify(nirvanaHeader)},"positions":[\n`;
  const random = seededRandom(seed);
  const step = 2.4e8 / Math.max(1, positions);
  for (let row = 0, at = 10_000; row < positions; row++) {
    at += 1 + Math.floor(1.9 * step * random.next());
    yield `${JSON.stringify(positionJson(random, at))}${row + 1 < positions ? ',' : ''}\n`;
  }
  yield '],"genes":[\n{"name":"PALB2","omim":[{"mimNumber":610355}]},\n{"name":"LDLR"}\n]}\n';
}

function positionJson(r: RandomGenerator, at: number): object {
  const ref = r.pick(bases);
  const alt = r.pick(bases);
  const depth = 8 + r.below(90);
  const alternateDepth = r.below(depth);
  return {
    chromosome: '1',
    position: at,
    refAllele: ref,
    altAlleles: [alt],
    quality: r.below(400),
    filters: [r.next() < 0.9 ? 'PASS' : 'LowGQXHetSNP'],
    cytogeneticBand: `1p36.${1 + r.below(3)}`,
    samples: [
      {
        genotype: r.pick(['0/1', '1/1', '0/0']),
        variantFrequencies: [Number((alternateDepth / depth).toFixed(4))],
        totalDepth: depth,
        genotypeQuality: r.below(99),
        alleleDepths: [depth - alternateDepth, alternateDepth],
      },
    ],
    variants: [variantJson(r, at, ref, alt)],
  };
}

function variantJson(r: RandomGenerator, at: number, ref: string, alt: string): object {
  const gene = Math.floor(at / 150_000);
  return {
    vid: `1-${at}-${ref}-${alt}`,
    chromosome: '1',
    begin: at,
    end: at,
    refAllele: ref,
    altAllele: alt,
    variantType: 'SNV',
    hgvsg: `NC_000001.11:g.${at}${ref}>${alt}`,
    phylopScore: Number((4 * r.next() - 2).toFixed(1)),
    ...(r.next() < 0.2 && { clinvar: clinvarJson(r, ref, alt) }),
    ...(r.next() < 0.6 && { dbsnp: [`rs${r.below(2 ** 31)}`] }),
    ...(r.next() < 0.7 && { gnomad: gnomadJson(r) }),
    transcripts: Array.from({ length: 1 + r.below(8) }, () => ({
      transcript: `ENST${String(r.below(700_000)).padStart(11, '0')}.${1 + r.below(9)}`,
      source: 'Ensembl',
      bioType: r.pick(biotypes),
      ...(r.next() < 0.5 && { introns: `${1 + r.below(9)}/10` }),
      geneId: `ENSG${String(gene).padStart(11, '0')}`,
      hgnc: `GENE${gene}`,
      consequence: [r.pick(consequences)],
      ...(r.next() < 0.5 && { hgvsc: `ENST${r.below(700_000)}.2:n.${r.below(9000)}${ref}>${alt}` }),
      ...(r.next() < 0.2 && { isCanonical: true }),
    })),
  };
}

function clinvarJson(r: RandomGenerator, ref: string, alt: string): readonly object[] {
  return Array.from({ length: 1 + r.below(2) }, () => ({
    id: `RCV${String(r.below(1e6)).padStart(9, '0')}.${1 + r.below(9)}`,
    variationId: `VCV${String(r.below(1e6)).padStart(9, '0')}.${1 + r.below(9)}`,
    reviewStatus: 'criteria provided, single submitter',
    alleleOrigins: ['germline'],
    refAllele: ref,
    altAllele: alt,
    phenotypes: ['Hereditary cancer-predisposing syndrome'],
    medGenIds: [`C${r.below(1e7)}`],
    significance: [r.pick(clinicalSignificances)],
    lastUpdatedDate: `20${10 + r.below(10)}-0${1 + r.below(9)}-1${r.below(10)}`,
    pubMedIds: [String(r.below(38e6))],
  }));
}

function gnomadJson(r: RandomGenerator): object {
  const frequency = (): number => Number((r.next() ** 8).toFixed(6));
  return {
    coverage: 20 + r.below(20),
    allAf: frequency(),
    allAn: 152_000 - r.below(900),
    allAc: r.below(5000, 6),
    allHc: r.below(50, 6),
    afrAf: frequency(),
    amrAf: frequency(),
    easAf: frequency(),
    nfeAf: frequency(),
    sasAf: frequency(),
    failedFilter: r.next() < 0.05,
  };
}
