import { genomeBuildOfAlias, knownBuildsText } from '../../../engine/core/build-names.js';
import { genomeBuilds, type GenomeBuild } from '../../../engine/core/types.js';

/** A sequence of a reference genome, as a request names it. */
export interface ReferenceSequence {
  /** The genome build; null for any build. */
  readonly build: GenomeBuild | null;
  /** The names under which records may have the sequence, in upper case and without `chr`. */
  readonly names: readonly string[];
}

const chromosomes = [...Array.from({ length: 22 }, (_, i) => String(i + 1)), 'X', 'Y'];
/** The version numbers of NC_000001 to NC_000024 in GRCh37; in GRCh38 each is greater by one. */
const grch37Versions = [10, 11, 11, 11, 9, 11, 13, 10, 11, 10, 9, 11, 10, 8, 9, 9, 10, 9, 9, 10, 8, 10, 10, 9]; // prettier-ignore

/** The RefSeq accessions of the chromosomes, by build and chromosome. */
const accessions: Readonly<Record<GenomeBuild, ReadonlyMap<string, string>>> = {
  GRCh37: numberedAccessions((i) => `NC_${String(i + 1).padStart(6, '0')}.${grch37Versions[i]}`),
  GRCh38: numberedAccessions(
    (i) => `NC_${String(i + 1).padStart(6, '0')}.${grch37Versions[i]! + 1}`,
  ),
  'T2T-CHM13': numberedAccessions((i) => `NC_0${60_925 + i}.1`),
};

function numberedAccessions(accession: (i: number) => string): ReadonlyMap<string, string> {
  return new Map([
    ...chromosomes.map((name, i) => [name, accession(i)] as const),
    ['MT', 'NC_012920.1'],
  ]);
}

/**
 * Returns the sequence that `referenceName` and `assemblyId` of a request name: `NC_000017.11`, `refseq:NC_000017.11`, `17` or `chr17`. An
 * accession needs no `assemblyId`. Returns an error message if the assembly is unknown, or if the accession is one of another assembly; any
 * other name is accepted.
 */
export function referenceSequence(
  referenceName: string,
  assemblyId: string | undefined,
): ReferenceSequence | string {
  const assembly = assemblyId === undefined ? null : genomeBuildOfAlias(assemblyId);
  if (assembly === undefined)
    return `assemblyId: Expected ${knownBuildsText}, not ${JSON.stringify(assemblyId!.slice(0, 100))}.`;
  const name = referenceName.replace(/^refseq:/i, '').toUpperCase();
  const accessionMatches = genomeBuilds.flatMap((build) =>
    [...accessions[build]].flatMap(([chromosome, one]) =>
      one === name ? [{ build, chromosome }] : [],
    ),
  );
  if (accessionMatches.length === 0) {
    const plainName = chromosomeWithoutPrefix(name);
    const possibleBuilds = assembly === null ? genomeBuilds : [assembly];
    const knownAccessions = possibleBuilds.flatMap(
      (build) => accessions[build].get(plainName) ?? [],
    );
    return { build: assembly, names: [...chromosomeNames(plainName), ...new Set(knownAccessions)] };
  }
  const fittingMatches = accessionMatches.filter(
    ({ build }) => assembly === null || build === assembly,
  );
  if (fittingMatches.length === 0)
    return `referenceName: ${name} is a sequence of ${accessionMatches[0]!.build}, not of ${assembly!}.`;
  return {
    build: fittingMatches.length === 1 ? fittingMatches[0]!.build : assembly,
    names: [...chromosomeNames(fittingMatches[0]!.chromosome), name],
  };
}

/** Returns the name of a chromosome in upper case, without `chr`; MT for the mitochondrion. */
function chromosomeWithoutPrefix(name: string): string {
  const plainUpperName = name.replace(/^chr(?=.)/i, '').toUpperCase();
  return plainUpperName === 'M' ? 'MT' : plainUpperName;
}

function chromosomeNames(plainName: string): readonly string[] {
  return plainName === 'MT' ? ['MT', 'M'] : [plainName];
}

/**
 * Returns the identifier of a chromosome as a CURIE: `refseq:NC_000017.11`; for a contig without a known accession `GRCh38:HLA-A`, or
 * `chromosome:HLA-A` if the build is unknown, too.
 */
export function sequenceId(build: GenomeBuild | undefined, chromosome: string): string {
  const plainName = chromosomeWithoutPrefix(chromosome);
  if (/^N[CTWG]_\d+\.\d+$/.test(plainName)) return `refseq:${plainName}`;
  const accession = build && accessions[build].get(plainName);
  return accession === undefined ? `${build ?? 'chromosome'}:${plainName}` : `refseq:${accession}`;
}
