import { version as duckdbVersion } from '@duckdb/node-api';
import { readFileSync } from 'node:fs';
import type { Format } from './format.js';
import { generateFile, randomizeDigits } from './generate.js';
import { nodeProgram } from './peers/peer.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_261_121;

/**
 * A table of variants: 30 columns of ClinVar joined with gnomAD. About half of them are text, some of it quoted prose, and the others are
 * numbers.
 */
export const csvFormat: Format = {
  name: 'csv',
  title: 'CSV, 30 columns',
  records: 400_000,
  file: (records) => generateFile(`${records}-${seed}.csv`, () => csvLines(records)),
  reader: 'csv',
  limit: 1,
  peers: [
    nodeProgram(
      'DuckDB read_csv to Parquet',
      duckdbVersion(),
      './csv-to-parquet.js',
      'peer.parquet',
    ),
  ],
};

/** Yields the text of the generated CSV file in parts, the header first. */
function* csvLines(records: number): Generator<string> {
  const [head = '', ...rows] = readFileSync('benchmarks/rows/clinvar-gnomad.tsv', 'utf8')
    .trimEnd()
    .split('\n');
  const names = head.split('\t');
  yield `${names.map((name, i) => (names.indexOf(name) === i ? name : `${name}_${i}`)).join(',')}\n`;
  const realRows = rows.map((row) => row.split('\t'));
  const random = seededRandom(seed);
  const columns = names.map((name) => variationByColumn[name] ?? keepCell);
  const step = genomeLength / Math.max(1, records);
  for (let row = 0, position = 1; row < records; row++) {
    position += 1 + Math.floor(1.9 * step * random.next());
    const cells = random.pick(realRows);
    yield `${columns.map((vary, i) => quoteCell(vary(cells[i] ?? '', random, position))).join(',')}\n`;
  }
}

/** Returns a new value for a cell, derived from a real one, for a variant at a position of the genome. */
type CellVariation = (cell: string, random: RandomGenerator, position: number) => string;

const genomeLength = 3.1e9;
const keepCell: CellVariation = (cell) => cell;
const varyDigits: CellVariation = (cell, random) => randomizeDigits(cell, random);
/** Returns the number of the gene at a position. Neighbouring variants share one of about 20,000 genes. */
const geneIndexAt = (position: number): number => Math.floor(position / 150_000);

/** Varies a change in HGVS notation, such as `NM_198576.3:c.579G>A`. */
const varyHgvsChange: CellVariation = (cell, random, position) =>
  cell
    .replace(/_\d+/, `_${100_000 + geneIndexAt(position)}`)
    .replace(/(?<=[cp]\.).*/, (text) => randomizeDigits(text, random));

const variationByColumn: Readonly<Record<string, CellVariation>> = {
  chrom: (_, __, position) => String(1 + Math.floor(position / 140e6)),
  pos: (_, __, position) => String(position % 140e6),
  variation_id: varyDigits,
  rcv: varyDigits,
  allele_id: varyDigits,
  symbol: (cell, _, position) => cell && `${cell.slice(0, 4)}${geneIndexAt(position)}`,
  hgvs_c: varyHgvsChange,
  hgvs_p: varyHgvsChange,
  molecular_consequence: varyHgvsChange,
  AC: varyDigits,
  AN: varyDigits,
  AF: varyDigits,
  DP: varyDigits,
  AC_AFR: varyDigits,
  AN_AFR: varyDigits,
  AF_NFE: varyDigits,
  AS_RF: varyDigits,
};

function quoteCell(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
