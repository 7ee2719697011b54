import type { KeyDefinition, InfoInterpretation, VcfHeader } from './vcf-header.js';
import type { VcfParams } from './vcf-params.js';

/** A source of VCF files that is recognized by its header. */
interface KnownSource {
  readonly name: string;
  /** Returns whether a header is from this source; `descriptions` holds the descriptions of the INFO keys. */
  readonly recognizes: (meta: string, descriptions: DescriptionsByKey) => boolean;
  /** The separator of values, by INFO key. `descriptionSeparators` gives one by the description, unless Number is 1. */
  readonly separators?: Readonly<Record<string, string>>;
  readonly descriptionSeparators?: readonly (readonly [RegExp, string])[];
  /** The INFO keys whose values begin with gene symbols, each with the character that ends a symbol. */
  readonly symbols?: Readonly<Record<string, string>>;
  /** The INFO keys of annotations, each with the name of the subfield that holds the gene symbol. */
  readonly genes?: Readonly<Record<string, string>>;
}

type DescriptionsByKey = ReadonlyMap<string, string>;

/** Names of diseases and review states contain commas that are no separators. */
const diseaseKeySeparators = ['CLN', 'ONC', 'SCI'].flatMap((kind) =>
  ['DN', 'DNINCL', 'DISDB', 'DISDBINCL', 'REVSTAT'].map((key) => [`${kind}${key}`, '|'] as const),
);

/**
 * The ClinVar keys as dbSNP, and ClinVar before 2017, write them: commas separate alleles, bars separate the values of one allele, and a
 * comma within a name is `\x2c`.
 */
const separatorsByAlleleKey = Object.fromEntries(
  ['ACC', 'DBN', 'DISDB', 'DN', 'DSDB', 'DSDBID', 'ORIGIN', 'REVSTAT', 'SIG', 'SRC', 'SRCID', 'VI'].map((key) => [`CLN${key}`, ',|']),
); // prettier-ignore

const clinVarKeyPattern =
  /^(?:CLN|ONC|SCI)(?:(?:DN|DISDB|SIG)(?:INCL)?|DBN|HGVS|REVSTAT|SIGCONF|SIGSCV|VC|VI)$/;

function isClinVar(meta: string, descriptions: DescriptionsByKey): boolean {
  if (/^##(?:source=ClinVar|ID=<Description="ClinVar)/im.test(meta)) return true;
  return [...descriptions.keys()].filter((id) => clinVarKeyPattern.test(id)).length > 1;
}

function hasValuesByAllele(descriptions: DescriptionsByKey): boolean {
  return ['CLNACC', 'CLNALLE', 'CLNDBN', 'CLNORIGIN'].some((id) => descriptions.has(id));
}

/** Keys in which VEP writes its annotations. */
const annotationKeys = ['CSQ', 'vep', 'ANN'];

const knownSources: readonly KnownSource[] = [
  {
    name: 'ClinVar',
    recognizes: (meta, descriptions) => isClinVar(meta, descriptions) && hasValuesByAllele(descriptions),
    separators: separatorsByAlleleKey,
    symbols: { GENEINFO: ':' },
  },
  {
    name: 'ClinVar',
    recognizes: isClinVar,
    separators: { ...Object.fromEntries(diseaseKeySeparators), CLNVI: '|', RS: '|' },
    descriptionSeparators: [[/separated by a vertical bar/i, '|']],
    symbols: { GENEINFO: ':' },
  },
  {
    name: 'dbSNP',
    recognizes: (meta) => /^##(?:source=dbSNP|dbSNP_BUILD_ID)/im.test(meta),
    separators: { FREQ: '|' },
    symbols: { GENEINFO: ':' },
  },
  {
    name: 'gnomAD',
    recognizes: (meta, descriptions) =>
      /gnomad/i.test(meta) || (descriptions.has('nhomalt') && (descriptions.has('popmax') || descriptions.has('grpmax'))),
    descriptionSeparators: [[/; bin edges are:/i, '|']],
  },
  {
    name: '1000 Genomes',
    recognizes: (meta, descriptions) =>
      /^##source=1000Genomes/im.test(meta) || ['EAS_AF', 'AMR_AF', 'VT'].every((id) => descriptions.has(id)),
    separators: { VT: ',' },
  },
  {
    name: 'COSMIC',
    recognizes: (meta) => /^##source=COSMIC/im.test(meta),
    symbols: { GENE: '_' },
  },
  {
    name: 'SnpEff',
    recognizes: (meta, descriptions) => /^##SnpEff/im.test(meta) || descriptions.get('ANN')?.startsWith('Functional annotations:') === true,
    genes: { ANN: 'Gene_Name', EFF: 'Gene_Name' },
  },
  {
    name: 'VEP',
    recognizes: (meta, descriptions) => /^##VEP\b/m.test(meta) || annotationKeys.some((id) => /\bVEP\b/.test(descriptions.get(id) ?? '')),
    genes: Object.fromEntries(annotationKeys.map((id) => [id, 'SYMBOL'])),
  },
]; // prettier-ignore

/**
 * Returns the interpretations of the INFO keys of a header, from the table of known sources and from the request, which has precedence.
 * Choice: keys of the known sources ClinVar, gnomAD, dbSNP and 1000 Genomes are split at their own separators; GENEINFO, GENE of
 * COSMIC and the annotations of SnpEff and VEP give gene symbols. A file that has two keys of ClinVar counts as ClinVar for these keys.
 */
export function keyMeanings(
  { info, meta }: Pick<VcfHeader, 'info' | 'meta'>,
  { split, usesKnownSources }: Pick<VcfParams, 'split' | 'usesKnownSources'>,
): readonly InfoInterpretation[] {
  const meanings = new Map<string, InfoInterpretation>();
  const descriptions = new Map(info.map(({ id, description }) => [id, description]));
  for (const source of usesKnownSources ? knownSources : []) {
    if (!source.recognizes(meta.join('\n'), descriptions)) continue;
    for (const definition of info) {
      const meaning = meaningOfKey(source, definition, descriptions);
      if (meaning !== null && !meanings.has(definition.id)) meanings.set(definition.id, meaning);
    }
  }
  for (const { id, type } of info) {
    const requestedSeparator = split.get(`info.${id}`);
    if (requestedSeparator === undefined || type === 'Flag') continue;
    if (requestedSeparator === null) meanings.delete(id);
    else meanings.set(id, { ...meanings.get(id), id, separator: requestedSeparator, source: null });
  }
  return [...meanings.values()];
}

function meaningOfKey(
  { name: source, separators = {}, descriptionSeparators = [], symbols = {}, genes = {} }: KnownSource,
  { id, type, number, description }: KeyDefinition,
  descriptions: DescriptionsByKey,
): InfoInterpretation | null {
  if (type !== 'String' && type !== 'Character') return null;
  const ownSeparator = Object.hasOwn(separators, id) ? separators[id] : undefined;
  const separator =
    ownSeparator ?? (number === '1' ? undefined : descriptionSeparators.find(([pattern]) => pattern.test(description))?.[1]);
  const symbolTerminator = Object.hasOwn(symbols, id) && !descriptions.has(symbolsFieldName(id)) ? symbols[id] : undefined;
  const geneSubfield = Object.hasOwn(genes, id) ? genes[id] : undefined;
  const subfields = description.split('|').map((one) => one.trim());
  if (geneSubfield !== undefined && subfields.includes(geneSubfield)) return { id, source, genesPath: [id, geneSubfield] };
  if (separator === undefined && symbolTerminator === undefined) return null;
  return {
    id,
    source,
    ...(separator !== undefined && { separator }),
    ...(symbolTerminator !== undefined && { symbolTerminator, genesPath: [symbolsFieldName(id)] }),
  };
} // prettier-ignore

/** Returns the name of the field below `info` that holds the gene symbols of a key. */
export function symbolsFieldName(id: string): string {
  return `${id}_gene`;
}

/** Returns the interpretations of INFO keys as the import report shows them. */
export function meaningsJson(
  meanings: readonly InfoInterpretation[],
): readonly Record<string, string | null>[] {
  return meanings.map(({ id, separator, genesPath, source }) => ({
    field: `info.${id}`,
    known_source: source,
    ...(separator !== undefined && { split: separator }),
    ...(genesPath !== undefined && { genes: ['info', ...genesPath].join('.') }),
  }));
}
