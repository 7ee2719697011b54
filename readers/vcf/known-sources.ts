import type { Definition, Meaning, VcfHeader } from './vcf-header.js';
import type { VcfParams } from './vcf-params.js';

/** A source of VCF files that is recognized by its header. */
interface KnownSource {
  readonly name: string;
  readonly recognizes: (meta: string, ids: ReadonlySet<string>) => boolean;
  /** The separators of keys, and of all keys whose description matches a pattern. */
  readonly separators?: Readonly<Record<string, string>>;
  readonly described?: readonly (readonly [RegExp, string])[];
  /** Keys that begin with gene symbols, and what ends a symbol. */
  readonly symbols?: Readonly<Record<string, string>>;
  /** Keys of annotations, and their part with the gene symbol. */
  readonly genes?: Readonly<Record<string, string>>;
}

const diseaseKeys = ['CLN', 'ONC', 'SCI'].flatMap((kind) =>
  ['DN', 'DNINCL', 'DISDB', 'DISDBINCL', 'REVSTAT'].map((key) => [`${kind}${key}`, '|'] as const),
);

/** Names of diseases and of review states hold commas, which separate nothing. */
const knownSources: readonly KnownSource[] = [
  {
    name: 'ClinVar',
    recognizes: (meta, ids) => ids.has('CLNDN') && (ids.has('CLNSIG') || /^##source=ClinVar/im.test(meta)),
    separators: { ...Object.fromEntries(diseaseKeys), CLNVI: '|', RS: '|' },
    described: [[/separated by a vertical bar/i, '|']],
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
    recognizes: (meta, ids) => /gnomad/i.test(meta) || (ids.has('nhomalt') && ids.has('popmax')),
    described: [[/; bin edges are:/i, '|']],
  },
  {
    name: '1000 Genomes',
    recognizes: (meta, ids) => /^##source=1000Genomes/im.test(meta) || (ids.has('EAS_AF') && ids.has('AMR_AF') && ids.has('VT')),
    separators: { VT: ',' },
  },
  {
    name: 'COSMIC',
    recognizes: (meta) => /^##source=COSMIC/im.test(meta),
    symbols: { GENE: '_' },
  },
  {
    name: 'SnpEff',
    recognizes: (meta, ids) => /^##SnpEff/im.test(meta) && (ids.has('ANN') || ids.has('EFF')),
    genes: { ANN: 'Gene_Name', EFF: 'Gene_Name' },
  },
  {
    name: 'VEP',
    recognizes: (meta, ids) => /^##VEP=/m.test(meta) && (ids.has('CSQ') || ids.has('vep')),
    genes: { CSQ: 'SYMBOL', vep: 'SYMBOL' },
  },
]; // prettier-ignore

/**
 * How the INFO keys of a header are meant, by the table of known sources and by the request, which wins. Choice: keys of the known
 * sources ClinVar, gnomAD, dbSNP, 1000 Genomes and COSMIC are split at their own separators; GENEINFO gives a list of gene symbols.
 */
export function meaningsOf(
  { info, meta }: Pick<VcfHeader, 'info' | 'meta'>,
  { split, usesKnownSources }: Pick<VcfParams, 'split' | 'usesKnownSources'>,
): readonly Meaning[] {
  const meanings = new Map<string, Meaning>();
  const ids = new Set(info.map(({ id }) => id));
  for (const source of usesKnownSources ? knownSources : []) {
    if (!source.recognizes(meta.join('\n'), ids)) continue;
    for (const definition of info) {
      const meaning = meaningIn(source, definition, ids);
      if (meaning !== null && !meanings.has(definition.id)) meanings.set(definition.id, meaning);
    }
  }
  for (const { id, type } of info) {
    const asked = split.get(`info.${id}`);
    if (asked === undefined || type === 'Flag') continue;
    if (asked === null) meanings.delete(id);
    else meanings.set(id, { ...meanings.get(id), id, separator: asked, source: null });
  }
  return [...meanings.values()];
}

function meaningIn(
  { name: source, separators = {}, described = [], symbols = {}, genes = {} }: KnownSource,
  { id, type, number, description }: Definition,
  ids: ReadonlySet<string>,
): Meaning | null {
  if (type !== 'String' && type !== 'Character') return null;
  const own = Object.hasOwn(separators, id) ? separators[id] : undefined;
  const separator =
    own ?? (number === '1' ? undefined : described.find(([pattern]) => pattern.test(description))?.[1]);
  const symbolsEndAt = Object.hasOwn(symbols, id) && !ids.has(symbolsKey(id)) ? symbols[id] : undefined;
  const part = Object.hasOwn(genes, id) ? genes[id] : undefined;
  if (part !== undefined) return { id, source, genes: [id, part] };
  if (separator === undefined && symbolsEndAt === undefined) return null;
  return {
    id,
    source,
    ...(separator !== undefined && { separator }),
    ...(symbolsEndAt !== undefined && { symbolsEndAt, genes: [symbolsKey(id)] }),
  };
} // prettier-ignore

/** The name of the field below `info` that has the gene symbols of a key. */
export function symbolsKey(id: string): string {
  return `${id}_gene`;
}

/** The meanings as the import report shows them. */
export function meaningsJson(
  meanings: readonly Meaning[],
): readonly Record<string, string | null>[] {
  return meanings.map(({ id, separator, genes, source }) => ({
    field: `info.${id}`,
    known_source: source,
    ...(separator !== undefined && { split: separator }),
    ...(genes !== undefined && { genes: ['info', ...genes].join('.') }),
  }));
}
