import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { AppError } from '../../../engine/core/errors.js';
import { genomeBuilds } from '../../../engine/core/types.js';
import { basesPattern, isUnambiguous, quoteText } from './alleles.js';
import type { QueriedLocation, QueriedVariants } from './asked-variants.js';
import { annotationFields, variantFieldsOf, type VariantFields } from './variant-fields.js';

/** Conditions on the records of a dataset, under the keys of the body of a query. */
interface QueryConditions {
  readonly filters: readonly unknown[];
  readonly entities: readonly unknown[];
}

/**
 * Returns the conditions under which records of a dataset are the variants that a request asks for. Throws an `invalid` error if the
 * dataset lacks the fields needed: it then cannot say whether it has such a variant.
 * Choice: the variants of a dataset are the records with a value in a field of the entity type `variant`. If `start` or `end` has two
 * values, the second is excluded. A request with an empty allele finds the variants as VCF writes them, with the preceding base.
 */
export function variantConditions(
  variants: QueriedVariants,
  fields: readonly DatasetField[],
): QueryConditions {
  const variantFields = variantFieldsOf(fields);
  if (variantFields.variants.length === 0)
    throw unsupportedQueryError('has no field with the entity type variant');
  const { location, geneId } = variants;
  const filters: unknown[] = [];
  const entities: unknown[] = [];
  if (location?.kind === 'bracket') filters.push(...bracketConditions(location, variantFields));
  if (location?.kind === 'range') {
    const { sequence, start, end } = location;
    const regions = sequence.names.map((chromosome) => ({
      build: sequence.build,
      chromosome,
      start: start + 1,
      stop: end,
    }));
    entities.push(['genomic_region', regions]);
  }
  filters.push(
    location?.kind === 'sequence' ? sequenceCondition(location, variants, variantFields) : allelesCondition(variants, variantFields),
  ); // prettier-ignore
  if (variants.variantType !== null)
    filters.push(variantTypeCondition(variants.variantType, variantFields));
  if (geneId !== null) entities.push(['gene', geneId]);
  if (variants.aminoacidChange !== null)
    filters.push(proteinChangeCondition(variants.aminoacidChange, fields));
  if (variants.genomicAlleleShortForm !== null) {
    const names = annotationFields(fields, 'hgvs');
    if (names.length === 0) throw unsupportedQueryError('has no field of HGVS names');
    filters.push(orOfFields(names, (name) => [`${name}__iexact`, variants.genomicAlleleShortForm]));
  }
  return { filters, entities };
}

function unsupportedQueryError(reason: string): AppError {
  return new AppError('invalid', `The dataset ${reason}.`);
}

function orOfFields(names: readonly string[], condition: (name: string) => unknown): unknown {
  return { or: names.map(condition) };
}

/** The parts of a variant id, in the form in which fields of the entity type `variant` store it; null admits any value. */
interface VariantIdParts {
  readonly builds: readonly string[] | null;
  readonly names: readonly string[] | null;
  readonly start: number | null;
  readonly stop: number | null;
  /** The alternate allele as a regular expression. */
  readonly alternate: string;
}

/** Returns the condition that a variant id has these parts, in any letter case: `GRCH38-13-32316461-32316461-G` (contract 10.6). */
function textCondition(text: VariantIdParts, variants: readonly string[]): unknown {
  const { builds, names, start, stop, alternate } = text;
  const positionPattern = (position: number | null): string => (position === null ? '[0-9]+' : String(position)); // prettier-ignore
  const sequence = names === null ? '.+' : `(?:chr)?(?:${names.map(quoteText).join('|')})`;
  const build = builds === null ? '.+' : `(?:${builds.map(quoteText).join('|')})`;
  const pattern = `(?i)${build}-${sequence}-${positionPattern(start)}-${positionPattern(stop)}-${alternate}`;
  return orOfFields(variants, (name) => [`${name}__regexp`, pattern]);
}

/**
 * Returns the condition of a sequence query: alleles that start at one position. If the request has reference bases, an alternate allele
 * without ambiguity codes is looked up as a value; any other query uses a pattern.
 */
function sequenceCondition(
  { sequence, start }: Extract<QueriedLocation, { kind: 'sequence' }>,
  { referenceBases: reference, alternateBases }: QueriedVariants,
  { variants, reference: referenceField }: VariantFields,
): unknown {
  // the parser requires alternate bases for a start without an end
  const alternate = alternateBases!;
  const builds = sequence.build === null ? genomeBuilds : [sequence.build];
  const position = start + 1;
  if (reference === null) {
    const variantText = { builds, names: sequence.names, start: position, stop: null };
    const prefixes = builds.flatMap((build) =>
      sequence.names.flatMap((name) =>
        ['', 'CHR'].map((prefix) => `${build.toUpperCase()}-${prefix}${name}-${position}-`),
      ),
    );
    const prefixCondition = { or: variants.flatMap((name) => prefixes.map((prefix) => [`${name}__prefix`, prefix])) }; // prettier-ignore
    return {
      and: [
        prefixCondition,
        textCondition({ ...variantText, alternate: basesPattern(alternate) }, variants),
      ],
    };
  }
  const isPadded = reference === '' || alternate === '';
  const forms = isPadded
    ? [...'ACGT'].map((base) => [position - 1, base + reference, base + alternate] as const)
    : [[position, reference, alternate] as const];
  return {
    or: forms.map(([at, ref, alt]) => {
      const stop = at + ref.length - 1;
      const values = builds.flatMap((build) =>
        sequence.names.flatMap((name) =>
          ['', 'CHR'].map((prefix) => `${build.toUpperCase()}-${prefix}${name}-${at}-${stop}-${alt}`),
        ),
      ); // prettier-ignore
      const variantText = {
        builds,
        names: sequence.names,
        start: at,
        stop,
        alternate: basesPattern(alt),
      };
      const variant = isUnambiguous(alt)
        ? orOfFields(variants, (name) => [`${name}__in`, values])
        : textCondition(variantText, variants);
      // If the dataset has no field of reference alleles, only the length of the reference is compared: at one position, a genome has a
      // single sequence of a given length.
      if (referenceField === undefined) return variant;
      return { and: [variant, basesCondition(referenceField, ref)] };
    }),
  };
}

function basesCondition(field: string, bases: string): unknown {
  return isUnambiguous(bases)
    ? [`${field}__iexact`, bases]
    : [`${field}__regexp`, `(?i)${basesPattern(bases)}`];
}

/**
 * Returns the condition on the alleles of a query of a range or a bracket, or without a location; if the request names no alleles, the
 * condition that the record has a variant. Ranges and brackets have further conditions on the position.
 */
function allelesCondition(
  { location, referenceBases, alternateBases }: QueriedVariants,
  { variants, reference }: VariantFields,
): unknown {
  if (referenceBases !== null && reference === undefined)
    throw unsupportedQueryError('has no field reference_allele');
  const names = location?.sequence.names ?? null;
  const variantText = { builds: null, names, start: null, stop: null };
  return {
    and: [
      alternateBases === null
        ? orOfFields(variants, (name) => ({ not: [name, null] }))
        : textCondition({ ...variantText, alternate: basesPattern(alternateBases) }, variants),
      ...(referenceBases === null ? [] : [basesCondition(reference!, referenceBases)]),
    ],
  };
}

function bracketConditions(
  { sequence, start, end }: Extract<QueriedLocation, { kind: 'bracket' }>,
  { hasCoordinates }: VariantFields,
): readonly unknown[] {
  if (!hasCoordinates)
    throw unsupportedQueryError(
      'has no genomic_coordinates, by which starts and ends are compared',
    );
  const coordinatesField = 'genomic_coordinates';
  const { build } = sequence;
  return [
    [`${coordinatesField}.chromosome__in`, sequence.names],
    // The coordinates in records are 1-based and include `stop`.
    [`${coordinatesField}.start__range`, [start[0] + 1, start[1]]],
    [`${coordinatesField}.stop__range`, [end[0], end[1] - 1]],
    ...(build === null ? [] : [{ or: [[`${coordinatesField}.build`, build], [`${coordinatesField}.build`, null]] }]), // prettier-ignore
  ];
}

/** The types of variants that follow from the alleles alone; for some of them, `alleleTypes` has conditions on the alleles. */
const sequenceTypes = ['SNP', 'SNV', 'INS', 'DEL', 'MNP', 'MNV', 'INDEL', 'DELINS'];

/**
 * Returns the condition that a variant is of a type: by a field of types, by a symbolic allele, or by its alleles. Throws if the type of a
 * record cannot be determined in one of these ways.
 */
function variantTypeCondition(
  type: string,
  { variants, reference, types }: VariantFields,
): unknown {
  const name = type.toUpperCase();
  const typeConditions = [
    ...types.map((field) => [`${field}__iexact`, type]),
    ...variants.map((field) => [`${field}__regexp`, `(?i).*-<${quoteText(type)}(?::[^<>]*)?>`]),
  ];
  if (!sequenceTypes.includes(name)) return { or: typeConditions };
  const alleles = reference === undefined ? undefined : alleleTypes(reference, variants)[name];
  if (alleles !== undefined) return { or: [...typeConditions, ...alleles] };
  if (types.length > 0) return { or: typeConditions };
  throw unsupportedQueryError(`has no field from which variants of the type ${name} can be told`);
}

/**
 * Returns, for the types SNP, SNV, INS and DEL, the conditions on the alleles: in SNPs both are single bases, in insertions and deletions
 * the shorter one is a single base with which the longer one begins.
 */
function alleleTypes(
  reference: string,
  variants: readonly string[],
): Readonly<Record<string, readonly unknown[]>> {
  const endsWith = (pattern: string): unknown =>
    orOfFields(variants, (name) => [`${name}__regexp`, `(?i).+-${pattern}`]);
  const forEachBase = (conditionOf: (base: string) => unknown): readonly unknown[] =>
    [...'ACGTN'].map(conditionOf);
  // The alternate must differ from the reference, because a record without an alternate has the reference as its allele.
  const singleBaseConditions = forEachBase((base) => ({
    and: [[`${reference}__iexact`, base], endsWith(`[${'ACGTN'.replace(base, '')}]`)],
  }));
  return {
    SNP: singleBaseConditions,
    SNV: singleBaseConditions,
    INS: forEachBase((base) => ({
      and: [[`${reference}__iexact`, base], endsWith(`${base}[ACGTN]+`)],
    })),
    DEL: forEachBase((base) => ({
      and: [[`${reference}__regexp`, `(?i)${base}[ACGTN]+`], endsWith(base)],
    })),
  };
}

/** The three-letter codes of the amino acids by their one-letter codes; `*` is a stop codon. */
const aminoAcids: Readonly<Record<string, string>> = {
  A: 'Ala', R: 'Arg', N: 'Asn', D: 'Asp', C: 'Cys', Q: 'Gln', E: 'Glu', G: 'Gly', H: 'His', I: 'Ile', L: 'Leu', K: 'Lys', M: 'Met',
  F: 'Phe', P: 'Pro', S: 'Ser', T: 'Thr', W: 'Trp', Y: 'Tyr', V: 'Val', U: 'Sec', '*': 'Ter',
}; // prettier-ignore

/**
 * Returns the condition that a record has a protein change, given as `V600E`; records may also write `p.Val600Glu`, or the name of the
 * protein before it.
 */
function proteinChangeCondition(change: string, fields: readonly DatasetField[]): unknown {
  const names = annotationFields(fields, 'protein');
  if (names.length === 0) throw unsupportedQueryError('has no field of changes of proteins');
  const plainChange = change.replace(/^p\./i, '');
  const [, from, position, to] = /^([A-Z*])(\d+)([A-Z*])$/.exec(plainChange) ?? [];
  const [fromName, toName] = [aminoAcids[from ?? ''], aminoAcids[to ?? '']];
  const forms = [quoteText(plainChange)];
  if (fromName !== undefined && toName !== undefined)
    forms.push(`${fromName}${position}${quoteText(toName)}`);
  const pattern = `(?i)(?:.*:)?(?:p\\.)?\\(?(?:${forms.join('|')})\\)?`;
  return orOfFields(names, (name) => [`${name}__regexp`, pattern]);
}
