import type { DatasetField } from '../../../engine/core/dataset-field.js';

/** The fields of a dataset that describe its variants, recognised by name and entity type. */
export interface VariantFields {
  /** The fields with the entity type `variant`. */
  readonly variants: readonly string[];
  /** The fields with the entity type `gene`. */
  readonly genes: readonly string[];
  /** The field of the reference allele; undefined if the dataset has none. */
  readonly reference: string | undefined;
  /** The fields of the variant type, under the names that VCF, MAF and 1000 Genomes use. */
  readonly types: readonly string[];
  /** The fields that contain identifiers of variants as texts, such as rs ids, recognised by their names. */
  readonly ids: readonly string[];
  /** The fields with the name `rs` in any letter case; in ClinVar and dbSNP, `RS` contains rs ids without the letters. */
  readonly rsNumbers: readonly string[];
  /** The fields that contain terms of the Sequence Ontology with their labels, such as `MC` in ClinVar: `SO:0001583|missense_variant`. */
  readonly effects: readonly string[];
  readonly hasCoordinates: boolean;
}

const typeFieldPattern = /^(?:svtype|variant_?type|vartype|vt)$/i;
const idFieldPattern = /^(?:row_id|rsid|rs_id|dbsnp_rs)$/i;

/** Finds the fields of variants among those of a dataset. */
export function variantFieldsOf(fields: readonly DatasetField[]): VariantFields {
  const stringFields = fields.filter(
    ({ dataType }) => dataType === 'string' || dataType === 'text',
  );
  const fieldsOfEntity = (type: string): readonly string[] =>
    stringFields.filter(({ entityType }) => entityType === type).map(({ name }) => name);
  const fieldsNamed = (pattern: RegExp): readonly string[] =>
    stringFields.filter(({ path }) => pattern.test(path.at(-1)!)).map(({ name }) => name);
  const coordinateFields = ['chromosome', 'start', 'stop'].map(
    (name) => `genomic_coordinates.${name}`,
  );
  return {
    variants: fieldsOfEntity('variant'),
    genes: fieldsOfEntity('gene'),
    reference: stringFields.find(({ name }) => name === 'reference_allele')?.name,
    types: fieldsNamed(typeFieldPattern),
    ids: fieldsNamed(idFieldPattern),
    rsNumbers: fields.filter(({ path }) => /^rs$/i.test(path.at(-1)!)).map(({ name }) => name),
    effects: fieldsNamed(/^mc$/i),
    hasCoordinates: coordinateFields.every((name) => fields.some((field) => field.name === name)),
  };
}

/** The names that annotators, ClinVar and MAF give to fields of annotations, by the kind of annotation. */
const annotationFieldPatterns = {
  protein: /^(?:hgvs_?p(?:_short)?|protein_?(?:change|hgvs)|aa_?change|amino_?acid_?change)$/i,
  transcript: /^(?:hgvs_?c|c_?dna_?change|transcript_?hgvs)$/i,
  genomic: /^(?:hgvs_?g|clnhgvs|genomic_?hgvs)$/i,
  hgvs: /^(?:hgvs(?:_?[gcp])?|clnhgvs|genomic_?hgvs|transcript_?hgvs|protein_?hgvs)$/i,
};

/** Returns the names of the string fields that hold a kind of annotation. */
export function annotationFields(
  fields: readonly DatasetField[],
  kind: keyof typeof annotationFieldPatterns,
): readonly string[] {
  return fields
    .filter(
      ({ dataType, path }) =>
        dataType === 'string' && annotationFieldPatterns[kind].test(path.at(-1)!),
    )
    .map(({ name }) => name);
}
