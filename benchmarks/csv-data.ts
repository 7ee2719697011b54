import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { cache } from './data.js';
import { type Random, seeded } from './random.js';

const seed = 20_260_303;

/** One column of the generated file: its name and its cell in a row. */
type CsvColumn = readonly [name: string, make: (random: Random, position: number) => string];

const consequences = ['missense_variant', 'synonymous_variant', 'intron_variant', 'stop_gained'];
const significances = ['Benign', 'Likely_benign', 'Uncertain_significance', 'Pathogenic'];
const frequency = (r: Random): string => (r.next() < 0.3 ? '0' : (r.next() ** 8).toPrecision(4));
const often =
  (share: number, make: CsvColumn[1]): CsvColumn[1] =>
  (r, at) =>
    r.next() < share ? make(r, at) : '';

/** A table of variants as annotation tools write them: numbers of every length, words, gaps, and some quoted prose. */
export const csvColumns: readonly CsvColumn[] = [
  ['chrom', (_, at) => `chr${1 + Math.floor(at / 150_000_000)}`],
  ['pos', (_, at) => String(at)],
  ['id', often(0.6, (r) => `rs${r.below(2 ** 31)}`)],
  ['ref', (r) => r.pick(['A', 'C', 'G', 'T'])],
  ['alt', (r) => r.pick(['A', 'C', 'G', 'T', 'AT', 'GCC'])],
  ['qual', (r) => (10 + 90 * r.next()).toFixed(1)],
  ['filter', (r) => (r.next() < 0.9 ? 'PASS' : 'q20')],
  ['gene', (_, at) => `GENE${Math.floor(at / 150_000)}`],
  ['consequence', (r) => r.pick(consequences)],
  ['clnsig', often(0.1, (r) => r.pick(significances))],
  ['ac', (r) => String(r.below(5000, 6))],
  ['an', (r) => String(5008 - 2 * r.below(40, 3))],
  ['af', frequency],
  ['af_afr', frequency],
  ['af_amr', frequency],
  ['af_eas', frequency],
  ['af_nfe', frequency],
  ['af_sas', frequency],
  ['dp', (r) => String(8 + r.below(90))],
  ['mq', (r) => (20 + 40 * r.next()).toFixed(2)],
  ['fs', (r) => (10 * r.next()).toFixed(3)],
  ['sor', (r) => r.next().toFixed(3)],
  ['cadd', (r) => (40 * r.next()).toFixed(2)],
  ['revel', often(0.1, (r) => r.next().toFixed(3))],
  ['phylop', (r) => (10 * r.next() - 5).toFixed(4)],
  ['gerp', (r) => (12 * r.next() - 6).toFixed(2)],
  ['pvalue', (r) => r.next().toExponential(3)],
  ['exon', often(0.4, (r) => `${1 + r.below(20)}/20`)],
  ['note', often(0.05, (r) => `"seen ${r.below(9)} times, but ""unproven"""`)],
  ['samples', (r) => String(r.below(2500))],
];

/** A CSV file of so many records; the same bytes for the same number. */
export async function csvFile(records: number): Promise<string> {
  const file = join(cache, `${records}-${seed}.csv`);
  if (existsSync(file)) return file;
  mkdirSync(cache, { recursive: true });
  process.stderr.write(`Generating ${file} …\n`);
  const out = createWriteStream(`${file}.part`);
  for (const text of csvLines(records)) if (!out.write(text)) await once(out, 'drain');
  out.end();
  await once(out, 'close');
  renameSync(`${file}.part`, file);
  return file;
}

/** The text of the file in pieces, header first. */
export function* csvLines(records: number): Generator<string> {
  yield `${csvColumns.map(([name]) => name).join(',')}\n`;
  const random = seeded(seed);
  const step = 3e9 / Math.max(1, records);
  for (let row = 0, position = 1; row < records; row++) {
    position += 1 + Math.floor(1.9 * step * random.next());
    yield `${csvColumns.map(([, make]) => make(random, position)).join(',')}\n`;
  }
}
