import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { genomeBuildNamed } from '../../../engine/core/build-names.js';
import type { GenomeBuild, Row, Value } from '../../../engine/core/types.js';
import { genomicNotation } from '../../../engine/query/request/genomic-notation.js';
import { isObject } from '../../http/form.js';
import { variantTypeOf, writtenBases } from './alleles.js';
import { sequenceId } from './reference-sequences.js';
import { annotationFields, variantFieldsOf } from './variant-fields.js';

/** How the records of a dataset become genomic variations of the standard. */
export interface VariationFormat {
  /** The fields that the format reads. */
  readonly fields: readonly string[];
  /** The variation of a record; undefined if its variant names no place. */
  variationOf(record: Row): object | undefined;
}

/**
 * The format of a dataset. A variation has its place and alleles (`LegacyVariation`), and of its identifiers and molecular attributes what
 * fields of known names and entity types hold. Its `variantInternalId` is `<id of the dataset>:<id of the record>`.
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
  const reads = [
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
  const rsIds = (record: Row): readonly string[] => [
    ...new Set([
      ...textsOf(record, variantFields.ids)
        .flatMap((text) => text.split(/[;,]/))
        .filter((text) => /^rs\d+$/i.test(text))
        .map((text) => text.toLowerCase()),
      ...textsOf(record, variantFields.rsNumbers)
        .filter((text) => /^\d+$/.test(text))
        .map((text) => `rs${text}`),
    ]),
  ];
  return {
    fields: [...new Set(reads)],
    variationOf(record) {
      const reference = variantFields.reference && textsOf(record, [variantFields.reference])[0];
      const place = textsOf(record, variantFields.variants)
        .map((text) => placeOf(text, reference))
        .find((one) => one !== undefined);
      if (place === undefined) return undefined;
      const identifiers = withoutEmpty({
        genomicHGVSId: textsOf(record, annotationNames.genomic)[0],
        transcriptHGVSIds: textsOf(record, annotationNames.transcript),
        proteinHGVSIds: textsOf(record, annotationNames.protein).filter((text) =>
          text.includes('p.'),
        ),
        variantAlternativeIds: rsIds(record).map((id) => ({ id: `dbSNP:${id}` })),
      });
      const molecularAttributes = withoutEmpty({
        geneIds: textsOf(record, variantFields.genes),
        molecularEffects: textsOf(record, variantFields.effects).flatMap((text) => {
          const [, id, label] = /^(SO:\d+)\|(.+)$/.exec(text) ?? [];
          return id === undefined ? [] : [{ id, label }];
        }),
        aminoacidChanges: textsOf(record, annotationNames.protein)
          .map((text) => text.replace(/^.*p\./, ''))
          .filter((text) => /^[A-Z*]\d+[A-Z*]$/.test(text)),
      });
      return withoutEmpty({
        variantInternalId: `${datasetId}:${String(record['_id'] as string)}`,
        variation: variationAt(place, textsOf(record, variantFields.types)[0]),
        identifiers,
        molecularAttributes,
      });
    },
  };
}

/** The values of a field in a record, also those inside lists. */
function valuesAt(value: Value | undefined, path: readonly string[]): readonly Value[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value))
    return (value as readonly Value[]).flatMap((one) => valuesAt(one, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  return isObject(value) ? valuesAt(value[name] as Value | undefined, rest) : [];
}

/** The object without members that are undefined, empty lists or empty objects. */
function withoutEmpty(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) =>
        value !== undefined && (typeof value !== 'object' || Object.keys(value as object).length > 0),
    ),
  ); // prettier-ignore
}

/** The position of a variant, 1-based with an inclusive stop, and its alleles; the reference allele is null where only its length is known. */
interface VariantPlace {
  readonly build: GenomeBuild | undefined;
  readonly chromosome: string;
  readonly start: number;
  readonly stop: number;
  readonly reference: string | null;
  readonly alternate: string;
}

/** Reads the text of a variant: in the form in which readers name it (contract 10.6), or in a notation that has both alleles. */
function placeOf(text: string, reference: string | undefined): VariantPlace | undefined {
  const match = /^(t2t-chm13|[^-]+)-(.+)-(\d+)-(\d+)-(.*)$/is.exec(text);
  if (match) {
    const [, build, chromosome, from, to, alternate] = match as unknown as [string, string, string, string, string, string]; // prettier-ignore
    const [start, stop] = [Number(from), Number(to)];
    const isWhole = reference !== undefined && reference.length === stop - start + 1;
    return {
      build: genomeBuildNamed(build),
      chromosome,
      start,
      stop,
      reference: isWhole ? reference.toUpperCase() : null,
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

/** A variation in the standard's older form, whose location is one of VRS 1.3: 0-based, without its end. */
function variationAt(place: VariantPlace, type: string | undefined): object {
  const { build, chromosome, start, stop, reference, alternate } = place;
  const number = (value: number): object => ({ type: 'Number', value });
  return {
    variantType: type ?? variantTypeOf({ reference, length: stop - start + 1, alternate }),
    ...(reference !== null && /^[ACGTUNRYSWKMBDHV]+$/.test(reference) && { referenceBases: reference }),
    alternateBases: writtenBases(alternate),
    location: {
      type: 'SequenceLocation',
      sequence_id: sequenceId(build, chromosome),
      interval: { type: 'SequenceInterval', start: number(start - 1), end: number(stop) },
    },
  }; // prettier-ignore
}
