import { readInteger, type Form } from '../../http/form.js';
import { anyType, integer, readProperties, withReader } from '../../http/json-schema.js';
import { referenceSequence, type ReferenceSequence } from './reference-sequences.js';

/** Bounds between which a position lies, 0-based; `to` is excluded. */
type PositionBracket = readonly [from: number, to: number];

/** Where the requested variants lie (Beacon v2, variant queries). Positions are 0-based, the end is excluded. */
export type QueriedLocation = { readonly sequence: ReferenceSequence } & (
  | { readonly kind: 'sequence'; readonly start: number }
  | { readonly kind: 'range'; readonly start: number; readonly end: number }
  | { readonly kind: 'bracket'; readonly start: PositionBracket; readonly end: PositionBracket }
);

/** The conditions on variants in a request; null for a condition that the request does not have. */
export interface QueriedVariants {
  readonly location: QueriedLocation | null;
  /** The reference bases in upper case; empty for an insertion without a base before it. */
  readonly referenceBases: string | null;
  /** The alternate bases in upper case; empty for a deletion without a base before it. */
  readonly alternateBases: string | null;
  readonly variantType: string | null;
  readonly geneId: string | null;
  readonly aminoacidChange: string | null;
  readonly genomicAlleleShortForm: string | null;
}

const shortText = { type: withReader(anyType, readShortText), initial: null } as const;
const bases = { type: withReader(anyType, readBases), initial: null } as const;
const positions = withReader(
  { schema: { anyOf: [integer.schema, { type: 'array', items: integer.schema }] } },
  readPositions,
);
const unsupported = {
  type: withReader(anyType, (form, key) => {
    if (form.raw(key) === undefined) return undefined;
    return form.fail(key, 'This parameter is not supported; an answer without it would be about other variants.'); // prettier-ignore
  }),
  description: 'Not supported: answered with 400.',
};

/** The parameters of requests for variants: their types in bodies, and examples of query strings. */
export const variantParameters = {
  assemblyId: { ...shortText, description: 'The genome build: GRCh38, hg38, GCF_000001405.40. Without it, that of referenceName, or any.', example: 'GRCh38' },
  referenceName: { ...shortText, description: 'A chromosome: NC_000017.11, 17 or chr17.', example: '14' },
  start: { type: positions, description: 'The start, 0-based; two values, separated by a comma, bracket it.', example: '23424839' },
  end: { type: positions, description: 'The end, 0-based and excluded; two values, separated by a comma, bracket it.', example: '23424840' },
  referenceBases: { ...bases, description: 'The reference allele; N and other codes stand for several bases.', example: 'C' },
  alternateBases: { ...bases, description: 'The alternate allele; N and other codes stand for several bases.', example: 'T' },
  variantType: { ...shortText, description: 'SNP, INS, DEL, DUP, INV, CNV, BND, another type that the datasets have, or a term of EFO.', example: 'SNP' },
  geneId: { ...shortText, description: 'A gene, by any of its names.', example: 'MYH7' },
  aminoacidChange: { ...shortText, description: 'A change of a protein: V600E.', example: 'R403Q' },
  genomicAlleleShortForm: { ...shortText, description: 'A variant in the notation of HGVS: NC_000013.11:g.32316461A>G.', example: 'NC_000014.9:g.23424840C>T' },
  variantMinLength: unsupported,
  variantMaxLength: unsupported,
  mateName: unsupported,
}; // prettier-ignore

type VariantParameters = ReturnType<typeof readProperties<typeof variantParameters>>;

/** The last position that a request may name; all chromosomes are shorter. */
const maxPosition = 2 ** 40;

/** Reads the parameters of a request; notes mistakes in the form. */
export function readVariants(form: Form): QueriedVariants {
  const parameters = readProperties(form, variantParameters);
  const { referenceBases, alternateBases, variantType } = parameters;
  const { geneId, aminoacidChange, genomicAlleleShortForm } = parameters;
  const location = locationOf(form, parameters);
  const isEmpty = referenceBases === '' || alternateBases === '';
  if (isEmpty && !(referenceBases ?? '') && !(alternateBases ?? ''))
    form.fail(
      'alternateBases',
      'Where one allele is empty, the other must be given and have a base.',
    );
  else if (isEmpty && location?.kind !== 'sequence')
    form.fail('start', 'An empty allele needs a referenceName and a start, without an end.');
  return {
    location,
    referenceBases,
    alternateBases,
    variantType: variantType && (variantTypeByEfoId[variantType.toUpperCase()] ?? variantType),
    geneId,
    aminoacidChange,
    genomicAlleleShortForm,
  };
}

/** The variant types of the EFO terms copy number assessment, copy number gain and copy number loss; narrower terms are not translated. */
const variantTypeByEfoId: Readonly<Record<string, string>> = {
  'EFO:0030063': 'CNV',
  'EFO:0030070': 'DUP',
  'EFO:0030067': 'DEL',
};

function readBases(form: Form, key: string): string | null {
  const upperText = form.text(key)?.toUpperCase();
  if (upperText === undefined) return null;
  if (!/^[ACGTUNRYSWKMBDHV.-]*$/.test(upperText) || upperText.length > 10_000)
    form.fail(key, 'Must be at most 10,000 letters of A, C, G, T, N and other codes of IUPAC.');
  return upperText;
}

function readShortText(form: Form, key: string): string | null {
  const givenText = form.text(key)?.trim();
  if (givenText === undefined || givenText === '') return null;
  if (givenText.length > 200) form.fail(key, 'Must have at most 200 characters.');
  return givenText;
}

/** Returns where the variants of a request lie; notes mistakes in the form. */
function locationOf(
  form: Form,
  { start, end, referenceName, assemblyId, alternateBases }: VariantParameters,
): QueriedLocation | null {
  if (referenceName === null) {
    for (const key of ['start', 'end'])
      if (form.raw(key) !== undefined) form.fail(key, 'A position needs a referenceName.');
    if (assemblyId !== null)
      form.fail('assemblyId', 'An assembly needs a referenceName, a start and alternateBases or an end.'); // prettier-ignore
    return null;
  }
  const sequence = referenceSequence(referenceName, assemblyId ?? undefined);
  if (typeof sequence === 'string') {
    const [key, message] = sequence.split(/: (.*)/s) as [string, string];
    form.fail(key, message);
    return null;
  }
  if (start === undefined) {
    if (form.raw('start') === undefined)
      form.fail('start', 'A referenceName needs a start, with alternateBases or an end.');
    return null;
  }
  if (end === undefined) {
    if (start.length === 2) form.fail('end', 'Two values of start need two values of end.');
    else if (alternateBases === null)
      form.fail('alternateBases', 'A start without an end needs alternateBases.');
    return { kind: 'sequence', sequence, start: start[0]! };
  }
  if (start.length !== end.length) {
    form.fail('end', `start has ${start.length} value(s) and end ${end.length}: give one of each for a range, two for brackets.`); // prettier-ignore
    return null;
  }
  if (start.length === 2) {
    for (const [key, [from, to]] of [['start', start], ['end', end]] as const) // prettier-ignore
      if (from! >= to!) form.fail(key, `The second value must be greater than the first; it is excluded: ${from}, ${from! + 1} is one position.`); // prettier-ignore
    const bracketOf = (list: readonly number[]): PositionBracket => [list[0]!, list[1]!];
    return { kind: 'bracket', sequence, start: bracketOf(start), end: bracketOf(end) };
  }
  if (end[0]! <= start[0]!)
    form.fail('end', 'Must be greater than start: a range excludes its end.');
  return { kind: 'range', sequence, start: start[0]!, end: end[0]! };
}

/** Parses one or two positions. Returns undefined if there are none, or if there is an error, which is added to the form. */
function readPositions(form: Form, key: string): readonly number[] | undefined {
  const rawValue = form.raw(key);
  if (rawValue === undefined) return undefined;
  const numbers = (Array.isArray(rawValue) ? (rawValue as readonly unknown[]) : [rawValue]).map(
    readInteger,
  );
  const isValid =
    (numbers.length === 1 || numbers.length === 2) &&
    numbers.every((one) => one !== undefined && one >= 0 && one <= maxPosition);
  if (isValid) return numbers as readonly number[];
  return form.fail(key, 'Must be one or two whole numbers from 0 on.');
}
