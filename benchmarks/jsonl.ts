import { version as duckdbVersion } from '@duckdb/node-api';
import { readFileSync } from 'node:fs';
import type { Format } from './format.js';
import { generateFile } from './generate.js';
import { nodeProgram } from './peers/peer.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_260_401;

/** Variants as JSON lines: 30 keys, among them texts, numbers, dates, a boolean, lists, objects and a list of objects. */
export const jsonlFormat: Format = {
  name: 'jsonl',
  title: 'JSONL, 30 keys, some nested',
  records: 200_000,
  file: (records) => generateFile(`${records}-${seed}.jsonl`, () => jsonlLines(records)),
  reader: 'json',
  limit: 1.2,
  peers: [
    nodeProgram(
      'DuckDB read_json to Parquet',
      duckdbVersion(),
      './json-to-parquet.js',
      'peer.parquet',
    ),
  ],
};

/** The name of a member of the generated records, and a function that returns its value, or undefined if a record lacks the member. */
type MemberGenerator = readonly [
  name: string,
  make: (random: RandomGenerator, position: number) => unknown,
];

interface ClinvarRecord {
  readonly variationName: string;
  readonly variationType: string;
  readonly classifiedRecord: {
    readonly rcvList: { readonly rcvAccessions: readonly { readonly title: string }[] };
  };
}

/**
 * Real names and titles, so that lengths and variety are realistic: they are from ten ClinVar records (public domain, by way of
 * clinvar-this, MIT).
 */
const realRecords = readFileSync('test/fixtures/jsonl/clinvar_ten_records.json', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ClinvarRecord);
const conditionNames = realRecords.flatMap(({ classifiedRecord }) =>
  classifiedRecord.rcvList.rcvAccessions.map(({ title }) => title.split(' AND ').at(-1)),
);

const bases = ['A', 'C', 'G', 'T'];
const clinicalSignificances = ['Benign', 'Likely benign', 'Uncertain significance', 'Pathogenic'];
const consequences = ['missense_variant', 'synonymous_variant', 'intron_variant', 'stop_gained'];
const reviewStatuses = [
  'criteria provided, single submitter',
  'criteria provided, multiple submitters, no conflicts',
  'no assertion criteria provided',
];
const randomFrequency = (r: RandomGenerator): number => Number((r.next() ** 8).toPrecision(4));
const randomDay = (r: RandomGenerator): string =>
  `20${10 + r.below(15)}-${twoDigits(1 + r.below(12))}-${twoDigits(1 + r.below(28))}`;
const twoDigits = (number: number): string => String(number).padStart(2, '0');
const optionalValue =
  (share: number, make: MemberGenerator[1]): MemberGenerator[1] =>
  (r, at) =>
    r.next() < share ? make(r, at) : undefined;
const randomList =
  (maxLength: number, make: MemberGenerator[1]): MemberGenerator[1] =>
  (r, at) =>
    Array.from({ length: 1 + r.below(maxLength, 2) }, () => make(r, at));

/** The members of the generated records: annotations of a variant, as annotation services return them. */
const memberGenerators: readonly MemberGenerator[] = [
  ['chromosome', (_, at) => `chr${1 + Math.floor(at / 150_000_000)}`],
  ['position', (_, at) => at],
  ['reference', (r) => r.pick(bases)],
  ['alternate', (r) => r.pick([...bases, 'AT', 'GCC'])],
  ['rsid', optionalValue(0.7, (r) => `rs${r.below(2 ** 31)}`)],
  ['quality', (r) => Number((10 + 90 * r.next()).toFixed(2))],
  ['filters', randomList(2, (r) => (r.next() < 0.9 ? 'PASS' : 'q20'))],
  ['accession', (r) => ({ accession: `VCV${r.below(1e9)}`, version: 1 + r.below(30, 3) })],
  ['name', (r) => r.pick(realRecords).variationName],
  ['variation_type', (r) => r.pick(realRecords).variationType],
  ['gene', (r, at) => ({ symbol: `GENE${Math.floor(at / 150_000)}`, hgnc_id: r.below(60_000) })],
  ['consequences', randomList(3, (r) => r.pick(consequences))],
  ['significance', (r) => r.pick(clinicalSignificances)],
  ['review_status', (r) => r.pick(reviewStatuses)],
  ['last_evaluated', optionalValue(0.8, randomDay)],
  ['created', randomDay],
  ['submitters', (r) => 1 + r.below(40, 4)],
  [
    'conditions',
    randomList(3, (r) => ({ name: r.pick(conditionNames), db: 'MedGen', id: `C${r.below(1e7)}` })),
  ],
  ['citations', randomList(4, (r) => r.below(38e6))],
  [
    'location',
    (r, at) => ({
      assembly: 'GRCh38',
      accession: 'NC_000007.14',
      start: at,
      stop: at + r.below(4, 4),
      strand: r.next() < 0.5,
    }),
  ],
  ['allele_count', (r) => r.below(5000, 6)],
  ['allele_number', (r) => 5008 - 2 * r.below(40, 3)],
  ['frequency', randomFrequency],
  [
    'populations',
    (r) => ({
      afr: randomFrequency(r),
      amr: randomFrequency(r),
      eas: randomFrequency(r),
      nfe: randomFrequency(r),
    }),
  ],
  ['depth', (r) => 8 + r.below(90)],
  ['cadd', (r) => Number((40 * r.next()).toFixed(2))],
  ['revel', optionalValue(0.2, (r) => Number(r.next().toFixed(3)))],
  ['phylop', (r) => Number((10 * r.next() - 5).toFixed(4))],
  ['is_canonical', (r) => r.next() < 0.6],
  ['note', optionalValue(0.1, (r) => `seen ${r.below(9)} times,\nbut "unproven"`)],
];

/** Yields the lines of the generated JSONL file. The same number of records gives the same lines. */
function* jsonlLines(records: number): Generator<string> {
  const random = seededRandom(seed);
  const step = 3e9 / Math.max(1, records);
  for (let row = 0, position = 1; row < records; row++) {
    position += 1 + Math.floor(1.9 * step * random.next());
    const record = memberGenerators.map(([name, make]) => [name, make(random, position)]);
    yield `${JSON.stringify(Object.fromEntries(record))}\n`;
  }
}
