import { invalidError } from '../../engine/core/errors.js';
import type { GenomeBuild, JsonObject } from '../../engine/core/types.js';
import { readBuildParam } from '../genome-build.js';

/** Reader parameters (specification, "VCF parameters"). */
export interface VcfParams {
  readonly build: GenomeBuild | undefined;
  /** The INFO key of the annotations that `explodes` concerns; ANN, CSQ, vep and EFF are also read as annotations. */
  readonly annotationsKey: string;
  /** Name of the column that gets the samples. */
  readonly sampleKey: string;
  /** Whether each annotation of an allele becomes a record of its own (`explode_annotations`). */
  readonly explodes: boolean;
  /** The separators of values in fields such as `info.CLNDN`; null if the header alone decides, whatever known sources say. */
  readonly split: ReadonlyMap<string, string | null>;
  /** Whether the table of known sources is used. */
  readonly usesKnownSources: boolean;
}

/** The reader parameters of VCF files and their descriptions. */
export const vcfParameterDescriptions = {
  explode_annotations: 'true: a record per annotation.',
  annotations_key: 'The INFO key of the annotations; ANN when absent.',
  sample_key: 'The field that gets the samples; sample when absent.',
  split:
    'What separates the values of a field, by name: {"info.CLNDN": "|"}, or two characters of which either does; null: what the header says.',
  known_sources:
    'false: the keys of ClinVar, gnomAD, dbSNP, 1000 Genomes, COSMIC, SnpEff and VEP are read like any others.',
};

/** Parses `reader_params`; throws `invalid` for the field `reader_params`. */
export function parseVcfParams(input: JsonObject): VcfParams {
  return {
    build: readBuildParam(input['genome_build']),
    annotationsKey: readFieldName(input, 'annotations_key', 'ANN'),
    sampleKey: readFieldName(input, 'sample_key', 'sample'),
    explodes: readFlag(input, 'explode_annotations'),
    split: readSplitSeparators(input['split'] ?? {}),
    usesKnownSources: readFlag(input, 'known_sources', true),
  };
}

function readSplitSeparators(value: unknown): ReadonlyMap<string, string | null> {
  const isSeparator = (one: unknown) => one === null || (typeof one === 'string' && /^([!-:<-~])(?!\1)[!-:<-~]?$/.test(one));
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (typeof value !== 'object' || Array.isArray(value) || !entries.every(([name, one]) => /^info\../.test(name) && isSeparator(one)))
    throw invalidError('reader_params', 'split: expected names of INFO fields with one or two different characters each, as in {"info.CLNDN": "|"}');
  return new Map(entries as [string, string | null][]);
} // prettier-ignore

function readFlag(input: JsonObject, name: string, fallback = false): boolean {
  const value = input[name] ?? fallback;
  if (typeof value !== 'boolean')
    throw invalidError('reader_params', `${name}: expected true or false`);
  return value;
}

function readFieldName(input: JsonObject, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string' || value === '')
    throw invalidError('reader_params', `${name}: expected a field name`);
  return value;
}
