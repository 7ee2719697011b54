/** The parsed form of a genomic notation; positions are 1-based and inclusive, chromosomes have no `chr`. */
export type GenomicNotation =
  | (Locus & { readonly kind: 'region'; readonly stop: bigint })
  | (Locus & { readonly kind: 'variant'; readonly reference: string; readonly alternate: string })
  | { readonly kind: 'rs'; readonly id: string };

interface Locus {
  /** The build in upper case; null if the notation names none. */
  readonly build: string | null;
  /** The chromosome in upper case. */
  readonly chromosome: string;
  readonly start: bigint;
}

/*
 * Matches a region: an optional build, a chromosome (any name after `chr`; else a number, X, Y, M, MT or the accession of a contig), and
 * one or two positions with or without commas.
 */
const regionPattern =
  /^(?:(grch3[78]|hg19|hg38|t2t-chm13|chm13|hs1)[-:])?(?:chr)?((?<=chr)[0-9a-z_.]+|\d{1,2}|[xym]|mt|[a-z]{2}_?\d{6,}(?:\.\d+)?):(\d[\d,]{0,14})(?:(?:-|\.\.)(\d[\d,]{0,14}))?$/i;
/**
 * Matches a variant: an optional build and a chromosome as in a region (but no `_` in a name after `chr`), a position, and a reference and
 * an alternate allele. The parts are separated by `-`, `:` or `_`, the alleles also by `>` or `/`. The position may follow `g.`, and the
 * reference may follow the position directly or after a space.
 */
const variantPattern =
  /^(?:(grch3[78]|hg19|hg38|t2t-chm13|chm13|hs1)[-:])?(?:chr)?((?<=chr)[0-9a-z.]+|\d{1,2}|[xym]|mt|[a-z]{2}_?\d{6,}(?:\.\d+)?)[-:_](?:g\.)?(\d[\d,]{0,14})[-:_ ]?([acgtn]+)[-:_>/]([acgtn]+|\*|<[^<>]+>)$/i;
/** With fewer than three digits, `RS` in capitals may be the name of a gene, such as RS1. */
const rsPattern = /^(?:rs\d+|[Rr][Ss]\d{3,})$/;

/**
 * Parses `13:32315086-32400268` and `chr13:32,315,086` as regions; `13-32316461-A-G`, `chr13:32316461:A:G` and `13:g.32316461A>G` as
 * variants; and `rs80359550`. A build may precede, as in `GRCh38:13:32315086-32400268`. Returns undefined for any other text.
 */
export function genomicNotation(text: string): GenomicNotation | undefined {
  if (rsPattern.test(text)) return { kind: 'rs', id: text.toLowerCase() };
  const variant = variantPattern.exec(text);
  if (variant) {
    const [, buildName, chromosome, start, reference, alternate] = variant as unknown as string[];
    const [ref, alt] = [reference!.toUpperCase(), alternate!.toUpperCase()];
    return {
      kind: 'variant',
      ...locusOf(buildName, chromosome!, start!),
      reference: ref,
      alternate: alt,
    };
  }
  const region = regionPattern.exec(text);
  if (!region) return undefined;
  const [, buildName, chromosome, start, stop] = region as unknown as (string | undefined)[];
  return {
    kind: 'region',
    ...locusOf(buildName, chromosome!, start!),
    stop: parsePosition(stop ?? start!),
  };
}

/** The names of builds, in upper case, by their names and short names in lower case. */
const buildsByAlias: Readonly<Record<string, string>> = {
  grch37: 'GRCH37',
  hg19: 'GRCH37',
  grch38: 'GRCH38',
  hg38: 'GRCH38',
  't2t-chm13': 'T2T-CHM13',
  chm13: 'T2T-CHM13',
  hs1: 'T2T-CHM13',
};

function locusOf(named: string | undefined, chromosome: string, start: string): Locus {
  return {
    build: named === undefined ? null : buildsByAlias[named.toLowerCase()]!,
    chromosome: chromosome.toUpperCase(),
    start: parsePosition(start),
  };
}

function parsePosition(text: string): bigint {
  return BigInt(text.replaceAll(',', ''));
}
