import { functionError } from '../values/expression-errors.js';
import { strOf } from '../values/repr.js';
import { PyList } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

const variantPattern = /^(GRCH3[78])-(\w+)-(\d{1,10})-(\d{1,10})-([ACGTN]*|-)$/i;
const regionPattern = /^(GRCH3[78])-(\w+)-(\d{1,10})-(\d{1,10})$/i;
const chromosomePattern = /^(?:[1-9]|1\d|2[0-2]|X|Y|MT)$/;

/**
 * Returns the identifiers that a text stands for as an entity of a type, without reference data; an empty list if there are none.
 * Choice: VCF-like text and regions (`chr7:1-2`) without a build are GRCH38.
 */
export function entityIds(runtime: Runtime, type: PyValue, entity: PyValue): PyValue {
  if (entity === null) return new PyList([]);
  const text = strOf(runtime, entity).trim();
  switch (strOf(runtime, type)) {
    case 'variant':
      return idList(variantId(text));
    case 'genomic_region':
    case 'region':
      return idList(regionId(text));
    case 'literature':
    case 'pubmed':
      return idList(/^(?:PMID:?\s*)?(\d{1,9})$/i.exec(text)?.[1]);
    case 'gene':
      return idList(/^[A-Za-z][A-Za-z0-9.-]{0,24}$/.test(text) ? text.toUpperCase() : undefined);
    case 'sample':
    case 'dataset':
      return idList(text === '' ? undefined : text);
    default:
      return new PyList([]);
  }
}

function idList(id: string | undefined): PyList {
  return new PyList(id === undefined ? [] : [id]);
}

function variantId(text: string): string | undefined {
  const id = variantPattern.exec(text);
  if (id) return variantText(id[1]!, id[2]!, Number(id[3]), Number(id[4]), id[5]!);
  const line =
    /^(?:(GRCH3[78])\s+)?(?:chr)?(\w+)[\s:]+(\d{1,10})(?:\s+\S+)?[\s:]+([ACGTN]+)[\s>/]+([ACGTN]+)$/i;
  const vcf = line.exec(text);
  if (vcf === null) return undefined;
  const start = Number(vcf[3]);
  const [, build, name, , reference, alternate] = vcf;
  const end = start + reference!.length - 1;
  return variantText(build ?? 'GRCH38', name!, start, end, alternate!);
}

function variantText(
  build: string,
  name: string,
  start: number,
  stop: number,
  alternate: string,
): string | undefined {
  const plainName = chromosomeName(name);
  if (plainName === undefined || start < 1 || stop < start - 1) return undefined;
  return `${build.toUpperCase()}-${plainName}-${start}-${stop}-${alternate.toUpperCase()}`;
}

function chromosomeName(name: string): string | undefined {
  const plainName = name.toUpperCase().replace(/^CHR/, '');
  const mappedName = plainName === 'M' ? 'MT' : plainName;
  return chromosomePattern.test(mappedName) ? mappedName : undefined;
}

function regionId(text: string): string | undefined {
  const id =
    regionPattern.exec(text) ??
    /^(?:(GRCH3[78])[:\s]+)?(?:chr)?(\w+):(\d{1,10})-(\d{1,10})$/i.exec(text);
  const name = id ? chromosomeName(id[2]!) : undefined;
  if (!id || name === undefined || Number(id[3]) > Number(id[4])) return undefined;
  return `${(id[1] ?? 'GRCH38').toUpperCase()}-${name}-${Number(id[3])}-${Number(id[4])}`;
}

/**
 * Returns a variant in the form of an identifier. If the reference bases are given (`BUILD-CHROM-START-STOP-REF-ALT`, or VCF-like text),
 * bases that both alleles share are trimmed, first from the end, then from the start, but each allele keeps at least one base. The variant
 * is not shifted to the left, which would need the reference sequence.
 */
export function normalizeVariant(runtime: Runtime, variant: PyValue): PyValue {
  if (variant === null) return null;
  const text = strOf(runtime, variant).trim();
  const fullNotation =
    /^(GRCH3[78])-(\w+)-(\d{1,10})-(\d{1,10})-([ACGTN]+)-([ACGTN]+)$/i.exec(text) ??
    /^(?:(GRCH3[78])\s+)?(?:chr)?(\w+)[\s:]+(\d{1,10})()[\s:]+(?:\S+\s+)?([ACGTN]+)[\s>/]+([ACGTN]+)$/i.exec(
      text,
    );
  if (fullNotation) {
    const name = chromosomeName(fullNotation[2]!);
    if (name !== undefined)
      return trimAlleles(
        fullNotation[1] ?? 'GRCH38',
        name,
        Number(fullNotation[3]),
        fullNotation[5]!.toUpperCase(),
        fullNotation[6]!.toUpperCase(),
      );
  }
  const id = variantId(text);
  if (id === undefined) throw functionError(`Not a variant: '${text.slice(0, 100)}'`);
  return id;
}

function trimAlleles(
  build: string,
  name: string,
  start: number,
  reference: string,
  alternate: string,
): string {
  let [from, a, b] = [start, reference, alternate];
  while (a.length > 1 && b.length > 1 && a.at(-1) === b.at(-1)) {
    a = a.slice(0, -1);
    b = b.slice(0, -1);
  }
  while (a.length > 1 && b.length > 1 && a[0] === b[0]) {
    a = a.slice(1);
    b = b.slice(1);
    from += 1;
  }
  return `${build.toUpperCase()}-${name}-${from}-${from + a.length - 1}-${b}`;
}

const aminoAcids: Readonly<Record<string, string>> = {
  A: 'Ala',
  R: 'Arg',
  N: 'Asn',
  D: 'Asp',
  C: 'Cys',
  Q: 'Gln',
  E: 'Glu',
  G: 'Gly',
  H: 'His',
  I: 'Ile',
  L: 'Leu',
  K: 'Lys',
  M: 'Met',
  F: 'Phe',
  P: 'Pro',
  S: 'Ser',
  T: 'Thr',
  W: 'Trp',
  Y: 'Tyr',
  V: 'Val',
  U: 'Sec',
  '*': 'Ter',
  X: 'Xaa',
};
const aminoAcidCodeByName = new Map(
  Object.entries(aminoAcids).flatMap(([letter, name]) => [
    [letter, name] as const,
    [name.toUpperCase(), name] as const,
  ]),
);

/** Returns an amino acid change as `p.Val600Glu`, from one-letter or three-letter codes or from a position with `ref` and `alt`. */
export function normalizeAminoAcidChange(
  runtime: Runtime,
  change: PyValue,
  reference: PyValue | undefined,
  alternate: PyValue | undefined,
): PyValue {
  if (change === null) return null;
  const text = strOf(runtime, change).trim();
  const code = (value: PyValue | undefined) =>
    value === undefined || value === null ? '' : strOf(runtime, value);
  const position = /^(?:p\.)?\(?(\d+)\)?$/.exec(text)?.[1];
  const wholeNotation =
    position === undefined ? text : `${code(reference)}${position}${code(alternate)}`;
  const match =
    /^(?:p\.)?\(?([A-Z]{3}|[A-Z*])(\d+)(?:_([A-Z]{3}|[A-Z*])(\d+))?((?!.fs)[A-Z]{3}|[A-Z*]|=|\?)?((?:fs|delins|del|dup|ins)?.*?)\)?$/i.exec(
      /^(?:p\.)?\(?[A-Z*]+\d+(?:_[A-Z*]+\d+)?(?:del|dup|ins|fs)/i.test(wholeNotation)
        ? wholeNotation.replace(/(\d)(del|dup|ins|fs)/i, '$1=$2')
        : wholeNotation,
    );
  const name = (part: string | undefined) => aminoAcidCodeByName.get((part ?? '').toUpperCase());
  const first = name(match?.[1]);
  if (!match || first === undefined)
    throw functionError(`Not an amino acid change: '${text.slice(0, 100)}'`);
  const second = match[3] === undefined ? '' : `_${name(match[3]) ?? match[3]}${match[4]}`;
  const isKept = match[5] === '=' && match[6] !== '';
  const changedName = isKept ? '' : (name(match[5]) ?? match[5] ?? '');
  return `p.${first}${match[2]}${second}${changedName}${match[6] ?? ''}`;
}
