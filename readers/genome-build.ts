import { invalidError } from '../engine/core/errors.js';
import {
  genomeBuildNamed,
  knownBuildsText,
  buildSuggestionText,
} from '../engine/core/build-names.js';
import { genomeBuilds, type GenomeBuild } from '../engine/core/types.js';

/** The names of the chromosomes, in the order of `chromosomeLengths`. */
const chromosomeNames = [...Array.from({ length: 22 }, (_, i) => String(i + 1)), 'X', 'Y'];

/**
 * The lengths of the chromosomes, from NCBI's assembly reports GCF_000001405.13 (GRCh37), GCF_000001405.26 (GRCh38) and GCF_009914755.1
 * (T2T-CHM13v2.0). The mitochondrial genome is left out, because it has the same length in all builds.
 */
const chromosomeLengths: Readonly<Record<GenomeBuild, readonly number[]>> = {
  GRCh37: [
    249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022, 141213431, 135534747, 135006516,
    133851895, 115169878, 107349540, 102531392, 90354753, 81195210, 78077248, 59128983, 63025520, 48129895, 51304566,
    155270560, 59373566,
  ],
  GRCh38: [
    248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422, 135086622,
    133275309, 114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167, 46709983, 50818468,
    156040895, 57227415,
  ],
  'T2T-CHM13': [
    248387328, 242696752, 201105948, 193574945, 182045439, 172126628, 160567428, 146259331, 150617247, 134758134, 135127769,
    133324548, 113566686, 101161492, 99753195, 96330374, 84276897, 80542538, 61707364, 66210255, 45090682, 51324926,
    154259566, 62460029,
  ],
}; // prettier-ignore

const buildNamePatterns: readonly (readonly [RegExp, GenomeBuild])[] = [
  [/CHM13|T2T|\bhs1\b|GC[AF]_009914755/i, 'T2T-CHM13'],
  [
    /GRCh38|hg38|hs38|b38\b|GCA_000001405\.(?:1[5-9]|2\d)|GCF_000001405\.(?:2[6-9]|[34]\d)/i,
    'GRCh38',
  ],
  [
    /GRCh37|hg19|hs37|b37\b|human_g1k_v37|GCA_000001405\.(?:[1-9]|1[0-4])\b|GCF_000001405\.(?:1[3-9]|2[0-5])/i,
    'GRCh37',
  ],
];

/** Returns the genome builds that a text names, for example as `hg19`, `b37` or an accession of the assembly. */
export function buildsNamedIn(text: string): readonly GenomeBuild[] {
  return buildNamePatterns.filter(([pattern]) => pattern.test(text)).map(([, build]) => build);
}

/** The evidence of a file's genome build. */
export interface BuildEvidence {
  /** The build that the request names. */
  readonly requested: GenomeBuild | undefined;
  /** Names and lengths of contigs, as the file writes them. */
  readonly contigs: readonly (readonly [name: string, length: string])[];
  /** The build that the file names. */
  readonly named: GenomeBuild | undefined;
  /** The build of a file for which there is no other evidence. */
  readonly fallback?: GenomeBuild;
}

/**
 * The build of a file, and the warnings about it: chromosome lengths that contradict it, a build in the header that the lengths contradict,
 * and that it is T2T-CHM13 although the request does not name it. There are no warnings if the file has no chromosome lengths.
 */
interface JudgedBuild<B = GenomeBuild | undefined> {
  readonly build: B;
  readonly warnings: readonly string[];
}

/**
 * Choice: the genome build of a file is the one that the request names; else the one with which the largest number of chromosome lengths
 * in the file agrees; else the one that the file names; else `fallback`. There is a warning if chromosome lengths contradict the build.
 */
export function judgeBuild(
  evidence: BuildEvidence & { readonly fallback: GenomeBuild },
): JudgedBuild<GenomeBuild>;
export function judgeBuild(evidence: BuildEvidence): JudgedBuild;
export function judgeBuild({ requested, contigs, named, fallback }: BuildEvidence): JudgedBuild {
  const knownContigs = contigs.flatMap(([name, length]) => {
    const chromosomeIndex = chromosomeIndexOf(name);
    const bases = /^\d+$/.test(length) ? Number(length) : NaN;
    return chromosomeIndex < 0 || Number.isNaN(bases)
      ? []
      : [{ name, chromosomeIndex, length: bases }];
  });
  const contigsAgreeingWith = (build: GenomeBuild) =>
    knownContigs.filter(
      ({ chromosomeIndex, length }) => chromosomeLengths[build][chromosomeIndex] === length,
    );
  const measuredBuild = genomeBuilds
    .filter((build) => contigsAgreeingWith(build).length > 0)
    .sort((a, b) => contigsAgreeingWith(b).length - contigsAgreeingWith(a).length)[0];
  const build = requested ?? measuredBuild ?? named ?? fallback;
  const warnings: string[] = [];
  if (build === undefined || knownContigs.length === 0) return { build, warnings };
  const choiceAdvice = `positions are read as of ${build}; reader_params.genome_build chooses another build`;
  if (measuredBuild === undefined)
    warnings.push(
      `the chromosomes have the lengths of none of ${genomeBuilds.join(', ')}: ${choiceAdvice}`,
    );
  else if (measuredBuild !== build)
    warnings.push(
      `the chromosomes have the lengths of ${measuredBuild}, but ${build} is asked for: ${choiceAdvice}`,
    );
  else {
    const agreeingContigs = contigsAgreeingWith(build);
    const otherContigNames = knownContigs
      .filter((contig) => !agreeingContigs.includes(contig))
      .map(({ name }) => name);
    if (otherContigNames.length > 0)
      warnings.push(
        `${joinNames(otherContigNames)} ${otherContigNames.length === 1 ? 'does not have the length' : 'do not have the lengths'} of ${build}, as the other chromosomes: ${choiceAdvice}`,
      );
    if (requested === undefined && named !== undefined && named !== build)
      warnings.push(
        `the header names ${named}, but the chromosomes have the lengths of ${build}: ${choiceAdvice}`,
      );
  }
  if (build === 'T2T-CHM13' && requested === undefined)
    warnings.push(
      'the genome build is T2T-CHM13: its positions are neither those of GRCh37 nor of GRCh38',
    );
  return { build, warnings };
}

/**
 * Returns the index in `chromosomeNames` of a chromosome, given as `13`, `chr13` or a RefSeq accession such as `NC_000013.11`; -1 for other
 * contigs.
 */
function chromosomeIndexOf(name: string): number {
  const [, accessionDigits] = /^NC_0000([01]\d|2[0-4])\.\d+$/.exec(name) ?? [];
  return accessionDigits === undefined
    ? chromosomeNames.indexOf(name.replace(/^chr/i, '').toUpperCase())
    : Number(accessionDigits) - 1;
}

function joinNames(names: readonly string[]): string {
  const firstNames = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${firstNames} and ${names.length - 5} more` : firstNames;
}

/** Parses `reader_params.genome_build`; returns undefined if it is absent, null or empty. Throws `invalid` for an unknown build. */
export function readBuildParam(value: unknown): GenomeBuild | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const knownBuild = genomeBuildNamed(value);
  if (knownBuild !== undefined) return knownBuild;
  throw invalidError(
    'reader_params',
    `genome_build: expected ${knownBuildsText}, found "${String(value).slice(0, 40)}".${buildSuggestionText(value)}`,
  );
}
