import type { ValidationParams } from '../../engine/ingest/findings.js';
import type { Random } from '../random.js';
import type { Packing } from './case.js';
import { randomBelow, pick, timesOf } from './pick.js';
import { lenientParams } from '../readers/import-pieces.js';

/** Random parameters for a reader: often none, else some that it knows, occasionally with values that it should reject. */
export function randomParams(reader: string, next: Random): Record<string, unknown> {
  if (next() < 0.5) return {};
  const params: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(knownParams[reader] ?? {})) {
    if (next() < 0.3) params[name] = next() < 0.04 ? pick(next, oddValues) : values(next);
  }
  return params;
}

/** Random validation parameters. */
export function randomValidation(next: Random): ValidationParams {
  if (next() < 0.6) return lenientParams;
  return {
    disable: next() < 0.3,
    raiseOnErrors: next() < 0.3,
    strict: next() < 0.4,
    allowNewFields: next() < 0.5,
  };
}

/** Random compression and damage. */
export function randomPacking(next: Random): Packing {
  return {
    compression: pick(next, ['plain', 'plain', 'gzip', 'bgzf']),
    blockBytes: 1 + randomBelow(next, pick(next, [20, 300, 5_000])),
    damage: next() < 0.8 ? 'none' : pick(next, ['flipped', 'flipped', 'cut', 'appended', 'padded']),
    at: next(),
  };
}

const oddValues: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e9,
  'x',
  '日本',
  true,
  [],
  {},
  ['a', 1],
  '\n',
  'None',
];

type Values = Readonly<Record<string, (next: Random) => unknown>>;

const build: Values = { genome_build: (next) => pick(next, ['GRCh37', 'GRCh38', 'grch38']) };
const table: Values = {
  delimiter: (next) => pick(next, [',', ';', '\t', '|', ' ', '¦']),
  quotechar: (next) => pick(next, ['"', "'", '', '§']),
  header: (next) => pick(next, [null, 0, 1, 2, 'infer', 'None', '1']),
  headercols: (next) => timesOf(1 + randomBelow(next, 6), (i) => pick(next, [`h${i}`, 'h', ''])),
  comment: (next) => pick(next, ['#', '', '"', '//', 'a']),
  skiprows: (next) => timesOf(randomBelow(next, 5), () => randomBelow(next, 20)),
  skipcols: (next) => timesOf(randomBelow(next, 3), () => randomBelow(next, 5)),
};
const feature: Values = { ...build, comment: (next) => pick(next, ['#', '##', '//', 'chr']) };

/** Random values of each parameter, by reader. */
export const knownParams: Readonly<Record<string, Values>> = {
  json: {},
  vcf: {
    ...build,
    explode_annotations: (next) => pick(next, [true, false]),
    annotations_key: (next) => pick(next, ['ANN', 'CSQ', 'EFF', 'K1', 'AF']),
    sample_key: (next) => pick(next, ['sample', 'samples', 'info', 'qual', 'é']),
  },
  csv: table,
  tsv: table,
  xml: {
    item_depth: (next) => pick(next, [0, 1, 2, 3, '1']),
    required_keys: (next) => pick(next, ['a', ['a'], ['@k0', 'b'], ['text']]),
    cdata_key: (next) => pick(next, ['text', '#', 'a']),
    attr_prefix: (next) => pick(next, ['@', '', '_']),
  },
  gtf: feature,
  gff3: feature,
  bed: build,
  nirvana: build,
};
