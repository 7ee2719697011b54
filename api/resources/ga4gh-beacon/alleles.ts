/* Alleles as records have them, in the notation of VCF, and as requests of a beacon ask for them. */

/** The bases that each IUPAC code stands for. */
const codes: Readonly<Record<string, string>> = {
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

/** Whether bases name a single sequence, without codes for several bases. */
export function isExact(bases: string): boolean {
  return /^[ACGT]*$/.test(bases);
}

/** The regular expression that matches the sequences for which bases stand; a code also matches itself. */
export function basesPattern(bases: string): string {
  return [...bases]
    .map((base) => (codes[base] === undefined ? quoteText(base) : `[${codes[base]}${base}]`))
    .join('');
}

/** The regular expression that matches exactly this text. */
export function quoteText(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

/** A variant as far as it is known: its alternate allele in the notation of VCF, and its reference allele or the number of its bases. */
interface KnownAllele {
  readonly reference: string | null;
  readonly length: number;
  readonly alternate: string;
}

/**
 * The `variantType` of a record: that of a symbolic allele as its file has it, `<DEL:ME>` being a `DEL`, BND for a breakend, else what the
 * alleles are: SNP, MNP, INS, DEL, INDEL, or nothing but the reference, for which the Sequence Ontology has a term.
 */
export function variantTypeOf({ reference, length, alternate }: KnownAllele): string {
  const symbol = /^<([^<>:]+)(?::[^<>]*)?>$/.exec(alternate)?.[1];
  if (symbol !== undefined) return symbol.toUpperCase();
  if (/[[\]]/.test(alternate)) return 'BND';
  if (alternate === '*' || alternate === '-') return 'DEL';
  if (alternate === reference) return 'no_sequence_alteration';
  if (alternate.length === length) return length === 1 ? 'SNP' : 'MNP';
  const from = reference ?? '';
  if (length === 1 && (reference === null || alternate.startsWith(from))) return 'INS';
  if (alternate.length === 1 && (reference === null || from.startsWith(alternate))) return 'DEL';
  return 'INDEL';
}

/**
 * The bases of an alternate as the standard writes them, in which only the letters of IUPAC, dashes and dots may stand.
 *
 * Choice: symbolic alleles and breakends are `N` in the `alternateBases` of a beacon, and their `variantType` says what they are; `*`, a base that
 * another variant deletes, is `-`.
 */
export function writtenBases(alternate: string): string {
  const bases = alternate.toUpperCase();
  if (bases === '*') return '-';
  return /^[ACGTUNRYSWKMBDHV.-]*$/.test(bases) ? bases : 'N';
}
