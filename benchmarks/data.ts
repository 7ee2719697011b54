import { generateFile } from './generate.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_260_226;

/** Lengths of the chromosomes in GRCh38, in millions of bases. */
export const chromosomes: readonly (readonly [string, number])[] = [
  ['1', 248.9],
  ['2', 242.1],
  ['3', 198.2],
  ['4', 190.2],
  ['5', 181.5],
  ['6', 170.8],
  ['7', 159.3],
  ['8', 145.1],
  ['9', 138.3],
  ['10', 133.7],
  ['11', 135.0],
  ['12', 133.2],
  ['13', 114.3],
  ['14', 107.0],
  ['15', 101.9],
  ['16', 90.3],
  ['17', 83.2],
  ['18', 80.3],
  ['19', 58.6],
  ['20', 64.4],
  ['21', 46.7],
  ['22', 50.8],
  ['X', 156.0],
  ['Y', 57.2],
];
const genomeMegabases = chromosomes.reduce((sum, [, millions]) => sum + millions, 0);

/**
 * An INFO key of the generated VCF file: its declaration in the header, and a function that returns its value; if the function returns
 * undefined, the record has no such key.
 */
export interface InfoKey {
  readonly id: string;
  readonly number: '0' | '1' | 'A' | 'R' | '.';
  readonly type: 'Integer' | 'Float' | 'String' | 'Flag';
  readonly make: (random: RandomGenerator, position: number) => string | undefined;
}

const consequences = [
  'missense_variant',
  'synonymous_variant',
  'intron_variant',
  'stop_gained',
  'splice_donor_variant',
  '3_prime_UTR_variant',
  '5_prime_UTR_variant',
  'frameshift_variant',
];
const clinicalSignificances = [
  'Benign',
  'Likely_benign',
  'Uncertain_significance',
  'Likely_pathogenic',
  'Pathogenic',
];

/** Keys of several types and numbers: single values, lists, flags, and keys that most records lack. */
export const infoKeys: readonly InfoKey[] = [
  { id: 'AC', number: 'A', type: 'Integer', make: (r) => String(1 + r.below(5000, 6)) },
  { id: 'AF', number: 'A', type: 'Float', make: (r) => (r.next() ** 8).toPrecision(4) },
  { id: 'AN', number: '1', type: 'Integer', make: (r) => String(5008 - 2 * r.below(40, 3)) },
  { id: 'DP', number: '1', type: 'Integer', make: (r) => String(8 + r.below(90)) },
  { id: 'MQ', number: '1', type: 'Float', make: (r) => (20 + 40 * r.next()).toFixed(2) },
  { id: 'AD', number: 'R', type: 'Integer', make: (r) => `${r.below(60)},${r.below(60)}` },
  // Neighbouring records share a gene, as in a genome. There are about 20,000 genes.
  { id: 'GENE', number: '1', type: 'String', make: (_, at) => `GENE${Math.floor(at / 150_000)}` },
  { id: 'CSQ', number: '.', type: 'String', make: randomList(consequences, 3) },
  {
    id: 'CLNSIG',
    number: '1',
    type: 'String',
    make: (r) => (r.next() < 0.1 ? r.pick(clinicalSignificances) : undefined),
  },
  {
    id: 'RS',
    number: '1',
    type: 'Integer',
    make: (r) => (r.next() < 0.6 ? String(r.below(2 ** 31)) : undefined),
  },
  {
    id: 'SCORE',
    number: '1',
    type: 'Float',
    make: (r) => (r.next() < 0.05 ? r.next().toFixed(5) : undefined),
  },
  { id: 'SOMATIC', number: '0', type: 'Flag', make: (r) => (r.next() < 0.08 ? '' : undefined) },
  { id: 'DB', number: '0', type: 'Flag', make: (r) => (r.next() < 0.5 ? '' : undefined) },
];

/** Returns the path of a BGZF-compressed VCF of `records` records, sorted by coordinate. The same number gives the same bytes. */
export function generateVcfFile(records: number): Promise<string> {
  return generateFile(`${records}-${seed}.vcf.gz`, () => vcfLines(records), 'bgzf');
}

/**
 * Yields the lines of the generated VCF file, the header first. The keys in `extraKeys` are added to each record; they use a random
 * sequence of their own, so that all other values stay the same.
 */
export function* vcfLines(records: number, extraKeys: readonly InfoKey[] = []): Generator<string> {
  yield '##fileformat=VCFv4.3\n##reference=GRCh38\n##FILTER=<ID=q20,Description="Quality below 20">\n';
  for (const [name, millions] of chromosomes) {
    yield `##contig=<ID=chr${name},length=${Math.round(millions * 1e6)}>\n`;
  }
  for (const { id, number, type } of [...infoKeys, ...extraKeys]) {
    yield `##INFO=<ID=${id},Number=${number},Type=${type},Description="${id} of the record">\n`;
  }
  yield '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
  const random = seededRandom(seed);
  const otherRandom = seededRandom(seed + 1);
  let writtenCount = 0;
  let endMegabases = 0;
  let startMegabases = 0; // millions of bases before this chromosome; gene numbers count through the whole genome
  for (const [name, millions] of chromosomes) {
    endMegabases += millions;
    const recordCountAtEnd = Math.round((records * endMegabases) / genomeMegabases);
    const step = (millions * 1e6) / Math.max(1, recordCountAtEnd - writtenCount);
    for (let position = 1; writtenCount < recordCountAtEnd; writtenCount++) {
      position += 1 + Math.floor(random.next() * 1.9 * step);
      const line = vcfRecord(random, name, position, startMegabases * 1e6 + position);
      yield `${line}${infoText(extraKeys, otherRandom, position)}\n`;
    }
    startMegabases += millions;
  }
}

function vcfRecord(
  random: RandomGenerator,
  chromosome: string,
  position: number,
  genomePosition: number,
): string {
  const bases = 'ACGT';
  const baseIndex = random.below(4);
  const referenceBase = bases.charAt(baseIndex);
  const kind = random.next();
  const otherBase = bases.charAt((baseIndex + 1 + random.below(3)) % 4);
  const ref = kind < 0.94 ? referenceBase : referenceBase + bases.repeat(1 + random.below(3));
  const alt =
    kind < 0.88 ? otherBase : kind < 0.94 ? referenceBase + otherBase + otherBase : referenceBase;
  const quality = (10 + 90 * random.next()).toFixed(1);
  const id = random.next() < 0.6 ? `rs${random.below(2 ** 31)}` : '.';
  const filter = Number(quality) < 20 ? 'q20' : 'PASS';
  const fixedFields = `chr${chromosome}\t${position}\t${id}\t${ref}\t${alt}\t${quality}\t${filter}`;
  return `${fixedFields}\t${infoText(infoKeys, random, genomePosition).slice(1)}`;
}

function infoText(
  keys: readonly InfoKey[],
  random: RandomGenerator,
  genomePosition: number,
): string {
  let text = '';
  for (const { id, number, make } of keys) {
    const value = make(random, genomePosition);
    if (value !== undefined) text += number === '0' ? `;${id}` : `;${id}=${value}`;
  }
  return text;
}

function randomList(values: readonly string[], maxLength: number): InfoKey['make'] {
  return (random) =>
    Array.from({ length: 1 + random.below(maxLength, 2) }, () => random.pick(values)).join(',');
}
