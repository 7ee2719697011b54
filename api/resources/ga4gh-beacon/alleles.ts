/* Alleles as records have them, in the notation of VCF, and as requests of a beacon ask for them. */

/** The bases that each IUPAC ambiguity code stands for. */
const iupacCodes: Readonly<Record<string, string>> = {
  R: 'AG',
  Y: 'CT',
  S: 'CG',
  W: 'AT',
  K: 'GT',
  M: 'AC',
  B: 'CGT',
  D: 'AGT',
  H: 'ACT',
  V: 'ACG',
  N: 'ACGT',
};

/** Returns whether bases name a single sequence of DNA, that is, consist only of A, C, G and T. */
export function isUnambiguous(bases: string): boolean {
  return /^[ACGT]*$/.test(bases);
}

/** Returns a regular expression for the sequences that IUPAC nucleotide codes denote; an ambiguity code also matches itself. */
export function basesPattern(bases: string): string {
  return [...bases]
    .map((base) =>
      iupacCodes[base] === undefined ? quoteText(base) : `[${iupacCodes[base]}${base}]`,
    )
    .join('');
}

/** Returns a regular expression that matches exactly this text. */
export function quoteText(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

/** A breakend whose mate is unknown: bases before or after a dot (VCF 4.5, section 5.4.9). */
const singleBreakend = /^(?:\.[A-Z]+|[A-Z]+\.)$/i;

/** What is known of a variant: its alternate allele in VCF notation, and its reference allele or only the length of that. */
interface KnownAllele {
  readonly reference: string | null;
  readonly length: number;
  readonly alternate: string;
}

/**
 * Returns the `variantType` of a record. For a symbolic allele it is the type in the file (`DEL` for `<DEL:ME>`), for a breakend it is BND.
 * Otherwise it follows from the alleles: SNP, MNP, INS, DEL, INDEL or, if the alternate equals the reference, the term of the Sequence
 * Ontology, `no_sequence_alteration`.
 */
export function variantTypeOf({ reference, length, alternate }: KnownAllele): string {
  const symbolicType = /^<([^<>:]+)(?::[^<>]*)?>$/.exec(alternate)?.[1];
  if (symbolicType !== undefined) return symbolicType.toUpperCase();
  if (/[[\]]/.test(alternate) || singleBreakend.test(alternate)) return 'BND';
  if (alternate === '*' || alternate === '-') return 'DEL';
  if (alternate === reference) return 'no_sequence_alteration';
  if (alternate.length === length) return length === 1 ? 'SNP' : 'MNP';
  const referenceBases = reference ?? '';
  if (length === 1 && (reference === null || alternate.startsWith(referenceBases))) return 'INS';
  if (alternate.length === 1 && (reference === null || referenceBases.startsWith(alternate)))
    return 'DEL';
  return 'INDEL';
}

/**
 * Returns the bases of an alternate allele as the Beacon standard writes them: only IUPAC letters, dashes and dots are allowed.
 * Choice: symbolic alleles and breakends are `N` in the `alternateBases` of a beacon, and their `variantType` says what they are; `*`, a
 * base that another variant deletes, is `-`.
 */
export function standardBases(alternate: string): string {
  const bases = alternate.toUpperCase();
  if (bases === '*') return '-';
  return /^[ACGTUNRYSWKMBDHV.-]*$/.test(bases) && !singleBreakend.test(bases) ? bases : 'N';
}
