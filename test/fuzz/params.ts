import type { ValidationParams } from '../../engine/ingest/findings.js';
import type { Random } from '../random.js';
import type { InputCompression } from './case.js';
import { randomBelow, pickRandom, timesOf } from './pick.js';
import { lenientParams } from '../readers/import-pieces.js';

/** Returns random parameters for a reader: often none, otherwise some that it has, sometimes with values that it should reject. */
export function randomParams(reader: string, next: Random): Record<string, unknown> {
  if (next() < 0.5) return {};
  const params: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(paramGenerators[reader] ?? {})) {
    if (next() < 0.3)
      params[name] = next() < 0.04 ? pickRandom(next, unusualParamValues) : values(next);
  }
  return params;
}

/** Returns random validation parameters. */
export function randomValidation(next: Random): ValidationParams {
  if (next() < 0.6) return lenientParams;
  return {
    disable: next() < 0.3,
    raiseOnErrors: next() < 0.3,
    strict: next() < 0.4,
    allowNewFields: next() < 0.5,
  };
}

/** Returns a random compression and damage. */
export function randomPacking(next: Random): InputCompression {
  return {
    compression: pickRandom(next, ['plain', 'plain', 'gzip', 'bgzf']),
    blockBytes: 1 + randomBelow(next, pickRandom(next, [20, 300, 5_000])),
    damage:
      next() < 0.8 ? 'none' : pickRandom(next, ['flipped', 'flipped', 'cut', 'appended', 'padded']),
    at: next(),
  };
}

const unusualParamValues: readonly unknown[] = [
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

type ParamGenerators = Readonly<Record<string, (next: Random) => unknown>>;

const buildParams: ParamGenerators = {
  genome_build: (next) => pickRandom(next, ['GRCh37', 'GRCh38', 'grch38']),
};
const tableParams: ParamGenerators = {
  delimiter: (next) => pickRandom(next, [',', ';', '\t', '|', ' ', '¦']),
  quotechar: (next) => pickRandom(next, ['"', "'", '', '§']),
  header: (next) => pickRandom(next, [null, 0, 1, 2, 'infer', 'None', '1']),
  headercols: (next) =>
    timesOf(1 + randomBelow(next, 6), (i) => pickRandom(next, [`h${i}`, 'h', ''])),
  comment: (next) => pickRandom(next, ['#', '', '"', '//', 'a']),
  skiprows: (next) => timesOf(randomBelow(next, 5), () => randomBelow(next, 20)),
  skipcols: (next) => timesOf(randomBelow(next, 3), () => randomBelow(next, 5)),
};
const featureParams: ParamGenerators = {
  ...buildParams,
  comment: (next) => pickRandom(next, ['#', '##', '//', 'chr']),
};

/** Functions that return random values of each parameter, by reader. */
export const paramGenerators: Readonly<Record<string, ParamGenerators>> = {
  json: {},
  vcf: {
    ...buildParams,
    explode_annotations: (next) => pickRandom(next, [true, false]),
    annotations_key: (next) => pickRandom(next, ['ANN', 'CSQ', 'EFF', 'K1', 'AF']),
    sample_key: (next) => pickRandom(next, ['sample', 'samples', 'info', 'qual', 'é']),
  },
  csv: tableParams,
  tsv: tableParams,
  xml: {
    item_depth: (next) => pickRandom(next, [0, 1, 2, 3, '1']),
    required_keys: (next) => pickRandom(next, ['a', ['a'], ['@k0', 'b'], ['text']]),
    cdata_key: (next) => pickRandom(next, ['text', '#', 'a']),
    attr_prefix: (next) => pickRandom(next, ['@', '', '_']),
  },
  gtf: featureParams,
  gff3: featureParams,
  bed: buildParams,
  nirvana: buildParams,
};
