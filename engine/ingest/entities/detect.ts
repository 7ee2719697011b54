import type { EntityType } from '../../core/types.js';
import type { Genes } from './genes.js';
import { hasWord, wordsOf } from './words.js';

/** What a field's values were taken for. */
export interface Detection {
  readonly entityType: EntityType;
  /** Different values that were looked at. */
  readonly sampled: number;
  /** Those of them that are of the type. */
  readonly matched: number;
}

/**
 * The entity type of a field with these different values, one of `wanted`; null when they are of none. The types are tried
 * in the order of the table, the unmistakable first.
 */
export function detectEntity(
  name: string,
  values: readonly string[],
  wanted: ReadonlySet<EntityType>,
  genes: Genes,
): Detection | null {
  const words = wordsOf(name);
  for (const [entityType, matches] of Object.entries(kinds) as [EntityType, Kind][]) {
    if (!wanted.has(entityType)) continue;
    const matched = matches(values, words, genes);
    if (matched !== null) return { entityType, sampled: values.length, matched };
  }
  return null;
}

/** How many of the values are of a type, if that is enough to call the field one; null if it is not. */
type Kind = (values: readonly string[], words: readonly string[], genes: Genes) => number | null;

// Choice: thresholds set on the sample files of every format; test/engine/ingest/entities/decisions.txt lists what they decide.
const kinds: Readonly<Record<EntityType, Kind>> = {
  // Cut values are long alleles, so the allele may be anything. rs ids and HGVS are no variants to queries.
  variant: (values) => share(values, 0.9, (value) => /^GRCH3[78]-\S+-\d+-\d+-\S+$/i.test(value)),
  genomic_region: (values) => share(values, 0.9, (value) => /^GRCH3[78]-\S+-\d+-\d+$/i.test(value)),
  gene: geneKind,
  // A number alone says nothing: the field's name or a prefix must.
  literature: (values, words) =>
    hasWord(words, 'pmid', 'pmids', 'pubmed', 'literature', 'citation', 'citations', 'publication')
      ? share(values, 0.9, (value) => /^(?:PMID:? ?)?[1-9]\d{0,7}$/i.test(value))
      : share(values, 0.9, (value) => /^PMID:? ?[1-9]\d{0,7}$/i.test(value)),
  dataset: (values) => share(values, 0.9, (value) => /^[1-9]\d{14}$/.test(value)),
  // Nothing marks a sample's name but its field's; TCGA alone has barcodes of its own.
  sample: (values, words) =>
    hasWord(words, 'sample', 'samples', 'biosample', 'specimen') &&
    !hasWord(words, 'type', 'count', 'number', 'status', 'description', 'source', 'date')
      ? share(values, 0.9, (value) => /^[\w.:-]{1,64}$/.test(value))
      : share(values, 0.9, (value) => /^TCGA-[A-Z0-9]{2}-[A-Z0-9]{4}/.test(value)),
};

/** Words that mark a field of gene symbols, and those that mark one of something else about genes. */
const geneWords = ['gene', 'genes', 'symbol', 'symbols', 'hugo', 'hgnc', 'genesymbol', 'genename'];
const otherWords =
  'id ids type biotype source version status synonym synonyms alias aliases previous old other count number'.split(
    ' ',
  );

/** Different symbols that a field without a telling name needs: codes of two or three letters collide with a few. */
const leastUnnamed = 10;

function geneKind(
  values: readonly string[],
  words: readonly string[],
  genes: Genes,
): number | null {
  const judged = values.filter((value) => !isPlaceholder(value));
  const symbols = judged.filter((value) => genes.symbol(value) !== undefined).length;
  const names = judged.filter((value) => {
    const symbol = genes.resolve(value);
    return symbol !== undefined && (symbol === value || genes.synonyms(symbol).includes(value));
  }).length;
  const isNamed = hasWord(words, ...geneWords) && !hasWord(words, ...otherWords);
  const isGene = isNamed
    ? symbols > 0 && names >= judged.length * 0.6
    : symbols >= leastUnnamed && symbols >= judged.length * 0.5 && names >= judged.length * 0.9;
  return isGene ? names : null;
}

/** What stands for genes without an approved symbol: names of clones and loci, and words for none. They decide nothing. */
function isPlaceholder(value: string): boolean {
  return /^(?:[A-Z]{1,2}\d{5,6}\.\d+|[A-Za-z0-9]+-\d+[A-Z]+\d+(?:\.\d+)?|LOC\d+|hsa-mir-\S+|ENSG\d{11}|unknown|none|n\/?a|\.|-)$/i.test(
    value,
  );
}

function share(
  values: readonly string[],
  least: number,
  isOne: (value: string) => boolean,
): number | null {
  const matched = values.filter(isOne).length;
  return matched > 0 && matched >= values.length * least ? matched : null;
}
