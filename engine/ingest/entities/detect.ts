import type { EntityType } from '../../core/types.js';
import type { GeneTable } from './genes.js';

/** The entity type that was detected for a field. */
interface Detection {
  readonly entityType: EntityType;
  /** Number of distinct values examined. */
  readonly sampled: number;
  /** The number of sampled values that match the type. */
  readonly matched: number;
}

/**
 * Detects the entity type of a field from a sample of its distinct values; null if they match none of the types `wanted`. The types are
 * tried in the order of `testByEntityType`, which has the most specific type first.
 */
export function detectEntity(
  name: string,
  values: readonly string[],
  wanted: ReadonlySet<EntityType>,
  genes: GeneTable,
): Detection | null {
  const words = wordsOf(name);
  for (const [entityType, matches] of Object.entries(testByEntityType) as [
    EntityType,
    EntityTest,
  ][]) {
    if (!wanted.has(entityType)) continue;
    const matchCount = matches(values, words, genes);
    if (matchCount !== null) return { entityType, sampled: values.length, matched: matchCount };
  }
  return null;
}

/**
 * Whether the numbers of a field with this name may be ids of an entity.
 * Choice: numbers are PubMed ids if the name of their field says so, and never ids of another kind.
 */
export function mayContainEntityIds(name: string): boolean {
  return hasWord(wordsOf(name), 'pmid', 'pmids', 'pubmed');
}

/** The types that are detected in a field of numbers for which `mayContainEntityIds` is true. */
export const numericEntityTypes: ReadonlySet<EntityType> = new Set(['literature']);

/** Returns the number of values that match a type, or null if they are too few for a field of that type. */
type EntityTest = (
  values: readonly string[],
  words: readonly string[],
  genes: GeneTable,
) => number | null;

const variantPattern = /^(?:GRCH3[78]|T2T-CHM13)-\S+-\d+-\d+-\S+$/i;
const regionPattern = /^(?:GRCH3[78]|T2T-CHM13)-\S+-\d+-\d+$/i;

// Choice: the thresholds of the tests for entity types were set on sample files of every format; test/engine/ingest/entities/decisions.txt
// lists the results.
const testByEntityType: Readonly<Record<EntityType, EntityTest>> = {
  // Samples of values truncate long alleles, so the allele is not checked. rs ids and HGVS do not count, because queries look variants
  // up by their coordinates.
  variant: (values) => countIfShareMatches(values, 0.9, (value) => variantPattern.test(value)),
  genomic_region: (values) =>
    countIfShareMatches(values, 0.9, (value) => regionPattern.test(value)),
  gene: countGeneNames,
  // PubMed ids are plain numbers, so the name of the field or a prefix of the values must identify them.
  literature: (values, words) =>
    hasWord(words, 'pmid', 'pmids', 'pubmed', 'literature', 'citation', 'citations', 'publication')
      ? countIfShareMatches(values, 0.9, (value) => /^(?:PMID:? ?)?[1-9]\d{0,7}$/i.test(value))
      : countIfShareMatches(values, 0.9, (value) => /^PMID:? ?[1-9]\d{0,7}$/i.test(value)),
  dataset: (values) => countIfShareMatches(values, 0.9, (value) => /^[1-9]\d{14}$/.test(value)),
  // Sample names have no common form, so the name of the field decides; only TCGA barcodes can be recognized by their form.
  sample: (values, words) =>
    hasWord(words, 'sample', 'samples', 'biosample', 'specimen') &&
    !hasWord(words, 'type', 'count', 'number', 'status', 'description', 'source', 'date')
      ? countIfShareMatches(values, 0.9, (value) => /^[\w.:-]{1,64}$/.test(value))
      : countIfShareMatches(values, 0.9, (value) => /^TCGA-[A-Z0-9]{2}-[A-Z0-9]{4}/.test(value)),
};

/** Words in names of fields that contain gene symbols, and words in names of fields that contain other properties of genes. */
const geneWords = ['gene', 'genes', 'symbol', 'symbols', 'hugo', 'hgnc', 'genesymbol', 'genename'];
const nonGeneWords =
  'id ids type biotype source version status synonym synonyms alias aliases previous old other count number'.split(
    ' ',
  );

/**
 * The number of distinct symbols needed if the name of the field has no gene word, or also a word of `nonGeneWords`, because codes of two
 * or three letters can be symbols by chance.
 */
const minUnnamedSymbols = 10;

function countGeneNames(
  values: readonly string[],
  words: readonly string[],
  genes: GeneTable,
): number | null {
  const judged = values.filter((value) => !isPlaceholder(value));
  const symbols = judged.filter((value) => genes.symbol(value) !== undefined).length;
  const names = judged.filter((value) => {
    const symbol = genes.resolve(value);
    return symbol !== undefined && (symbol === value || genes.synonyms(symbol).includes(value));
  }).length;
  const isNamed = hasWord(words, ...geneWords) && !hasWord(words, ...nonGeneWords);
  const isGene = isNamed
    ? symbols > 0 && names >= judged.length * 0.6
    : symbols >= minUnnamedSymbols &&
      symbols >= judged.length * 0.5 &&
      names >= judged.length * 0.9;
  return isGene ? names : null;
}

/**
 * Returns whether a value names a clone, a locus, a micro-RNA or an Ensembl gene, or no gene. Such values are not counted, because fields
 * of gene symbols contain them as well.
 */
function isPlaceholder(value: string): boolean {
  return /^(?:[A-Z]{1,2}\d{5,6}\.\d+|[A-Za-z0-9]+-\d+[A-Z]+\d+(?:\.\d+)?|LOC\d+|hsa-mir-\S+|ENSG\d{11}|unknown|none|n\/?a|\.|-)$/i.test(
    value,
  );
}

function countIfShareMatches(
  values: readonly string[],
  least: number,
  isOne: (value: string) => boolean,
): number | null {
  const matchCount = values.filter(isOne).length;
  return matchCount > 0 && matchCount >= values.length * least ? matchCount : null;
}

/**
 * Splits a field name into words in lower case: for `GeneSymbol`, `gene_symbol` and `@Gene.symbol1`, the first words are `gene` and
 * `symbol`.
 */
function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])|([A-Za-z])(?=[0-9])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Whether `words` contains one of `wanted`. */
function hasWord(words: readonly string[], ...wanted: readonly string[]): boolean {
  return words.some((word) => wanted.includes(word));
}
