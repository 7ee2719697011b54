import { invalid } from '../../engine/core/errors.js';
import type { GenomeBuild } from '../../engine/core/types.js';
import { buildParam } from '../genome-build.js';

/** Reader parameters (specification, "VCF parameters"). */
export interface VcfParams {
  readonly build: GenomeBuild | undefined;
  /** The INFO key of the annotations. */
  readonly annotationsKey: string;
  /** Name of the column that gets the samples. */
  readonly sampleKey: string;
  /** Every annotation makes a record of its own. */
  readonly explodes: boolean;
}

type Input = Readonly<Record<string, unknown>>;

/** Parses `reader_params`; throws `invalid('reader_params', …)`. */
export function vcfParams(input: Input): VcfParams {
  return {
    build: buildParam(input['genome_build']),
    annotationsKey: fieldName(input, 'annotations_key', 'ANN'),
    sampleKey: fieldName(input, 'sample_key', 'sample'),
    explodes: flag(input, 'explode_annotations'),
  };
}

function flag(input: Input, name: string): boolean {
  const value = input[name] ?? false;
  if (typeof value !== 'boolean') throw invalid('reader_params', `${name}: expected true or false`);
  return value;
}

function fieldName(input: Input, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string' || value === '')
    throw invalid('reader_params', `${name}: expected a field name`);
  return value;
}
