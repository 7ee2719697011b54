import { invalid } from '../engine/core/errors.js';
import type { GenomeBuild } from '../engine/core/types.js';

/** Lengths of chromosomes that tell the builds apart (GRC assembly reports GCF_000001405.13 and .26). */
const lengths: Readonly<Record<string, GenomeBuild>> = {
  '1:249250621': 'GRCh37',
  '1:248956422': 'GRCh38',
  '2:243199373': 'GRCh37',
  '2:242193529': 'GRCh38',
  '3:198022430': 'GRCh37',
  '3:198295559': 'GRCh38',
  '4:191154276': 'GRCh37',
  '4:190214555': 'GRCh38',
  '7:159138663': 'GRCh37',
  '7:159345973': 'GRCh38',
  '10:135534747': 'GRCh37',
  '10:133797422': 'GRCh38',
  '17:81195210': 'GRCh37',
  '17:83257441': 'GRCh38',
  '20:63025520': 'GRCh37',
  '20:64444167': 'GRCh38',
  '21:48129895': 'GRCh37',
  '21:46709983': 'GRCh38',
  '22:51304566': 'GRCh37',
  '22:50818468': 'GRCh38',
  'X:155270560': 'GRCh37',
  'X:156040895': 'GRCh38',
  'Y:59373566': 'GRCh37',
  'Y:57227415': 'GRCh38',
};

const names: readonly (readonly [RegExp, GenomeBuild])[] = [
  [
    /GRCh38|hg38|hs38|b38\b|GCA_000001405\.(?:1[5-9]|2\d)|GCF_000001405\.(?:2[6-9]|[34]\d)/i,
    'GRCh38',
  ],
  [
    /GRCh37|hg19|hs37|b37\b|human_g1k_v37|GCA_000001405\.(?:[1-9]|1[0-4])\b|GCF_000001405\.(?:1[3-9]|2[0-5])/i,
    'GRCh37',
  ],
];

/** The build in which a chromosome has this length; undefined when the length is unknown. */
export function buildOfLength(chromosome: string, length: string): GenomeBuild | undefined {
  return lengths[`${chromosome.replace(/^chr/i, '')}:${length}`];
}

/** The builds that a text names, such as `hg19`, `b37` or an accession of the assembly. */
export function buildsNamed(text: string): readonly GenomeBuild[] {
  return names.filter(([pattern]) => pattern.test(text)).map(([, build]) => build);
}

/** Parses `reader_params.genome_build`; undefined when it is missing. Throws `invalid` for other builds. */
export function buildParam(value: unknown): GenomeBuild | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const text = String(value).toUpperCase();
  if (text === 'GRCH37') return 'GRCh37';
  if (text === 'GRCH38') return 'GRCh38';
  throw invalid(
    'reader_params',
    `genome_build: expected GRCh37 or GRCh38, found "${String(value).slice(0, 40)}"`,
  );
}
