import { didYouMean, suggestionFor, type Synonyms } from './suggestion.js';
import { genomeBuilds, type GenomeBuild } from './types.js';

/** Returns the genome build with this name, in any letter case; undefined for any other value. */
export function genomeBuildNamed(name: unknown): GenomeBuild | undefined {
  if (typeof name !== 'string') return undefined;
  const upperName = name.toUpperCase();
  return genomeBuilds.find((build) => build.toUpperCase() === upperName);
}

/**
 * Returns the genome build for which a name stands in other systems: `hg38`, `GRCh38.p14`, or an accession of an assembly such as
 * `GCF_000001405.40`; undefined for any other text.
 */
export function genomeBuildOfAlias(name: string): GenomeBuild | undefined {
  const [, of, number, version] = /^GC([AF])_(000001405|009914755)\.(\d+)$/i.exec(name) ?? [];
  if (number === '009914755') return 'T2T-CHM13';
  if (number !== undefined) {
    // At NCBI, the first version of GRCh37 is 13 in RefSeq and 1 in GenBank, that of GRCh38 is 26 and 15. Lower versions are NCBI36.
    const [first37, first38] = of!.toUpperCase() === 'F' ? [13, 26] : [1, 15];
    if (Number(version) < first37) return undefined;
    return Number(version) < first38 ? 'GRCh37' : 'GRCh38';
  }
  const plainName = name.replace(/\.p\d+$/i, '');
  const synonym = plainName.toLowerCase().replaceAll(/[-_ ]/g, '');
  return genomeBuildNamed(plainName) ?? genomeBuildNamed(buildSynonyms[synonym]?.[0]);
}

/** `GRCh37, GRCh38 or T2T-CHM13`. */
export const knownBuildsText = `${genomeBuilds.slice(0, -1).join(', ')} or ${genomeBuilds.at(-1)}`;

/** Returns the last sentence of a message about an unknown genome build: the build that was most likely meant; empty if there is none. */
export function buildSuggestionText(name: unknown): string {
  if (typeof name !== 'string' && typeof name !== 'number') return '';
  const suggestion = suggestionFor(String(name), genomeBuilds, buildSynonyms);
  // A name that differs from a build's by a digit means another build, and GRCm38 is a build of the mouse, so no build is suggested.
  const isOther = /^(?:grch?|ncbi|hg)\d+$|^grcm/i.test(String(name)) && !Object.hasOwn(buildSynonyms, String(name).toLowerCase());
  return isOther ? '' : didYouMean(suggestion);
} // prettier-ignore

/** Other names of the genome builds. */
const buildSynonyms: Synonyms = Object.fromEntries(
  Object.entries({
    GRCh37: '37 b37 grc37 hg19 hs37 hs37d5 g1kv37 humang1kv37 ncbi37',
    GRCh38: '38 b38 grc38 hg38 hs38 hs38dh ncbi38',
    'T2T-CHM13': 'chm13 chm13v1.1 chm13v2 chm13v2.0 hs1 t2t t2tchm13v1.1 t2tchm13v2 t2tchm13v2.0',
  }).flatMap(([build, names]) => names.split(' ').map((name) => [name, [build]] as const)),
);
