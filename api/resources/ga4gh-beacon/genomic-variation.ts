import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { genomeBuildNamed } from '../../../engine/core/build-names.js';
import type { GenomeBuild, Row, Value } from '../../../engine/core/types.js';
import { genomicNotation } from '../../../engine/query/request/genomic-notation.js';
import { isObject } from '../../http/form.js';
import { variantTypeOf, standardBases } from './alleles.js';
import { sequenceId } from './reference-sequences.js';
import { annotationFields, variantFieldsOf } from './variant-fields.js';

/** Turns the records of a dataset into genomic variations of the Beacon standard. */
interface VariationFormat {
  /** The fields that the format reads. */
  readonly fields: readonly string[];
  /** Returns the variation of a record; undefined if its variant has no position. */
  variationOf(record: Row): object | undefined;
}

/**
 * Returns the format for a dataset. A variation has its position and alleles (`LegacyVariation`); its identifiers and molecular attributes
 * come from fields with known names and entity types. Its `variantInternalId` is `<id of the dataset>:<id of the record>`.
 */
export function variationFormat(
  datasetId: number,
  fields: readonly DatasetField[],
): VariationFormat {
  const variantFields = variantFieldsOf(fields);
  const annotationNames = {
    protein: annotationFields(fields, 'protein'),
    transcript: annotationFields(fields, 'transcript'),
    genomic: annotationFields(fields, 'genomic'),
  };
  const fieldNames = [
    '_id',
    ...variantFields.variants,
    ...variantFields.genes,
    ...variantFields.ids,
    ...variantFields.types,
    ...variantFields.rsNumbers,
    ...variantFields.effects,
    ...(variantFields.reference === undefined ? [] : [variantFields.reference]),
    ...Object.values(annotationNames).flat(),
  ];
  const paths = new Map(fields.map(({ name, path }) => [name, path]));
  const textsOf = (record: Row, names: readonly string[]): readonly string[] => [
    ...new Set(
      names
        .flatMap((name) => valuesAt(record, paths.get(name)!))
        .filter((one) => ['string', 'number', 'bigint'].includes(typeof one))
        .map(String),
    ),
  ];
  const rsIdsOf = (record: Row): readonly string[] => [
    ...new Set([
      ...textsOf(record, variantFields.ids)
        .flatMap((text) => text.split(/[;,]/))
        .filter((text) => /^rs\d+$/i.test(text))
        .map((text) => text.toLowerCase()),
      ...textsOf(record, variantFields.rsNumbers)
        .filter((text) => /^(?:rs)?\d+$/i.test(text))
        .map((text) => `rs${text.replace(/^rs/i, '')}`),
    ]),
  ];
  return {
    fields: [...new Set(fieldNames)],
    variationOf(record) {
      const reference = variantFields.reference && textsOf(record, [variantFields.reference])[0];
      const location = textsOf(record, variantFields.variants)
        .map((text) => parseVariantLocation(text, reference))
        .find((one) => one !== undefined);
      if (location === undefined) return undefined;
      const identifiers = omitEmpty({
        genomicHGVSId: textsOf(record, annotationNames.genomic)[0],
        transcriptHGVSIds: textsOf(record, annotationNames.transcript),
        proteinHGVSIds: textsOf(record, annotationNames.protein).filter((text) =>
          text.includes('p.'),
        ),
        variantAlternativeIds: rsIdsOf(record).map((id) => ({ id: `dbSNP:${id}` })),
      });
      const molecularAttributes = omitEmpty({
        geneIds: textsOf(record, variantFields.genes),
        molecularEffects: textsOf(record, variantFields.effects).flatMap((text) => {
          const [, id, label] = /^(SO:\d+)\|(.+)$/.exec(text) ?? [];
          return id === undefined ? [] : [{ id, label }];
        }),
        aminoacidChanges: textsOf(record, annotationNames.protein)
          .map((text) => text.replace(/^.*p\./, ''))
          .filter((text) => /^[A-Z*]\d+[A-Z*]$/.test(text)),
      });
      return omitEmpty({
        variantInternalId: `${datasetId}:${String(record['_id'] as string)}`,
        variation: variationAt(location, textsOf(record, variantFields.types)[0]),
        identifiers,
        molecularAttributes,
      });
    },
  };
}

/** Returns the values of a field in a record, including those inside lists. */
function valuesAt(value: Value | undefined, path: readonly string[]): readonly Value[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value))
    return (value as readonly Value[]).flatMap((one) => valuesAt(one, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  return isObject(value) ? valuesAt(value[name] as Value | undefined, rest) : [];
}

/** Returns the object without members that are undefined, an empty list or an empty object. */
function omitEmpty(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) =>
        value !== undefined && (typeof value !== 'object' || Object.keys(value as object).length > 0),
    ),
  ); // prettier-ignore
}

/** The position of a variant, 1-based with an inclusive stop, and its alleles; the reference allele is null if only its length is known. */
interface VariantLocation {
  readonly build: GenomeBuild | undefined;
  readonly chromosome: string;
  readonly start: number;
  readonly stop: number;
  readonly reference: string | null;
  readonly alternate: string;
}

/** Reads the text of a variant: a variant id as readers make it (contract 10.6), or a notation with both alleles. */
function parseVariantLocation(
  text: string,
  reference: string | undefined,
): VariantLocation | undefined {
  const match = /^(t2t-chm13|[^-]+)-(.+)-(\d+)-(\d+)-(.*)$/is.exec(text);
  if (match) {
    const [, build, chromosome, from, to, alternate] = match as unknown as [string, string, string, string, string, string]; // prettier-ignore
    const [start, stop] = [Number(from), Number(to)];
    const hasWholeReference = reference !== undefined && reference.length === stop - start + 1;
    return {
      build: genomeBuildNamed(build),
      chromosome,
      start,
      stop,
      reference: hasWholeReference ? reference.toUpperCase() : null,
      alternate: alternate === '' ? '-' : alternate,
    };
  }
  const notation = genomicNotation(text);
  if (notation?.kind !== 'variant') return undefined;
  const start = Number(notation.start);
  return {
    build: genomeBuildNamed(notation.build),
    chromosome: notation.chromosome,
    start,
    stop: start + notation.reference.length - 1,
    reference: notation.reference,
    alternate: notation.alternate,
  };
}

/**
 * Returns a variation in the older form of the Beacon standard (`LegacyVariation`). Its location is that of VRS 1.3: 0-based, with an
 * excluded end.
 */
function variationAt(location: VariantLocation, type: string | undefined): object {
  const { build, chromosome, start, stop, reference, alternate } = location;
  const vrsNumber = (value: number): object => ({ type: 'Number', value });
  return {
    variantType: type ?? variantTypeOf({ reference, length: stop - start + 1, alternate }),
    ...(reference !== null && /^[ACGTUNRYSWKMBDHV]+$/.test(reference) && { referenceBases: reference }),
    alternateBases: standardBases(alternate),
    location: {
      type: 'SequenceLocation',
      sequence_id: sequenceId(build, chromosome),
      interval: { type: 'SequenceInterval', start: vrsNumber(start - 1), end: vrsNumber(stop) },
    },
  }; // prettier-ignore
}
