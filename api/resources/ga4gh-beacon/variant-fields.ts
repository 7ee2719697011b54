import type { DatasetField } from '../../../engine/core/dataset-field.js';

/** The fields of a dataset from which its variants are told, by their names. */
export interface VariantFields {
  /** The fields with the entity type `variant`. */
  readonly variants: readonly string[];
  /** The fields with the entity type `gene`. */
  readonly genes: readonly string[];
  /** The field of the reference allele; undefined if the dataset has none. */
  readonly reference: string | undefined;
  /** The fields of the kind of variant, as VCF, MAF and 1000 Genomes name them. */
  readonly types: readonly string[];
  /** The fields of variant ids. */
  readonly ids: readonly string[];
  /** The numbers of rs ids, as ClinVar and dbSNP have them in `RS`. */
  readonly rsNumbers: readonly string[];
  /** Terms of the Sequence Ontology with their labels, as ClinVar has them in `MC`: `SO:0001583|missense_variant`. */
  readonly effects: readonly string[];
  readonly hasCoordinates: boolean;
}

const typeNames = /^(?:svtype|variant_?type|vartype|vt)$/i;
const idNames = /^(?:row_id|rsid|rs_id|dbsnp_rs)$/i;

/** Finds the fields of variants among those of a dataset. */
export function variantFieldsOf(fields: readonly DatasetField[]): VariantFields {
  const strings = fields.filter(({ dataType }) => dataType === 'string' || dataType === 'text');
  const ofEntity = (type: string): readonly string[] =>
    strings.filter(({ entityType }) => entityType === type).map(({ name }) => name);
  const fieldsNamed = (pattern: RegExp): readonly string[] =>
    strings.filter(({ path }) => pattern.test(path.at(-1)!)).map(({ name }) => name);
  const coordinates = ['chromosome', 'start', 'stop'].map((name) => `genomic_coordinates.${name}`);
  return {
    variants: ofEntity('variant'),
    genes: ofEntity('gene'),
    reference: strings.find(({ name }) => name === 'reference_allele')?.name,
    types: fieldsNamed(typeNames),
    ids: fieldsNamed(idNames),
    rsNumbers: fields.filter(({ path }) => /^rs$/i.test(path.at(-1)!)).map(({ name }) => name),
    effects: fieldsNamed(/^mc$/i),
    hasCoordinates: coordinates.every((name) => fields.some((field) => field.name === name)),
  };
}

/** Fields of annotations by what they hold, under the names that annotators, ClinVar and MAF use. */
const annotations = {
  protein: /^(?:hgvs_?p(?:_short)?|protein_?(?:change|hgvs)|aa_?change|amino_?acid_?change)$/i,
  transcript: /^(?:hgvs_?c|c_?dna_?change|transcript_?hgvs)$/i,
  genomic: /^(?:hgvs_?g|clnhgvs|genomic_?hgvs)$/i,
  hgvs: /^(?:hgvs(?:_?[gcp])?|clnhgvs|genomic_?hgvs|transcript_?hgvs|protein_?hgvs)$/i,
};

/** The names of the fields of strings that hold an annotation. */
export function annotationFields(
  fields: readonly DatasetField[],
  kind: keyof typeof annotations,
): readonly string[] {
  return fields
    .filter(({ dataType, path }) => dataType === 'string' && annotations[kind].test(path.at(-1)!))
    .map(({ name }) => name);
}
