import { entityTypes } from '../../../engine/core/types.js';
import { compileFieldExpression } from '../../../engine/expression/annotate/annotation-fields.js';
import {
  anyType,
  boolean,
  integer,
  jsonObject,
  nullable,
  objectOf,
  enumOf,
  withReader,
  strings,
  text,
  type Property,
  type ValueType,
} from '../../http/json-schema.js';

/** The parameters under one key of an import, a migration or a template; a parameter with any other name is an error. */
interface ParameterGroup {
  readonly type: ValueType;
  /** The values that answers show for parameters that the request did not set. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

function parameterGroup(
  properties: Readonly<Record<string, Property & { readonly initial?: unknown }>>,
): ParameterGroup {
  const entries = Object.entries(properties);
  return {
    type: objectOf(
      Object.fromEntries(entries.map(([key, one]) => [key, { ...one, type: nullable(one.type) }])),
    ),
    defaults: Object.fromEntries(entries.map(([key, { initial }]) => [key, initial ?? null])),
  };
}

/** The maximum of `sample_count`. */
const maxSampledValues = 1_000;

const sampleCount = withReader(integer, (form, key) => {
  const count = form.integer(key);
  if (count === undefined || (count >= 1 && count <= maxSampledValues)) return count;
  return form.fail(key, `Must be from 1 to ${maxSampledValues}.`);
});

const sampleRate: ValueType = {
  schema: { type: 'number' },
  read: (form, key) => {
    const rate = form.raw(key);
    if (rate === undefined || (typeof rate === 'number' && rate > 0 && rate <= 1)) return rate;
    return form.fail(key, 'Must be a number above 0 and at most 1.');
  },
};

const detectedEntityTypes = withReader(strings, (form, key) => {
  const types = form.textList(key);
  for (const type of types ?? []) {
    if (entityTypes.some((entityType) => entityType === type)) continue;
    const quotedType = JSON.stringify(type.slice(0, 100));
    form.fail(key, `${quotedType} is no entity type; use ${entityTypes.join(', ')}.`);
  }
  return types;
});

/** How entities are detected (specification, "Entity parameters"). */
export const entityParams = parameterGroup({
  disable: { type: boolean, description: 'true: nothing is detected.' },
  entity_types: {
    type: detectedEntityTypes,
    description: 'The types to detect; gene and variant when absent.',
  },
  sample_rate: { type: sampleRate, description: 'Share of the distinct values that may be examined, above 0 to 1.' }, // prettier-ignore
  sample_count: { type: sampleCount, description: `Values examined of each field, at most ${maxSampledValues}.` }, // prettier-ignore
  apply_detection: { type: boolean, description: 'false: what was detected is only reported.' },
});

/** How values are checked (specification, "Validation parameters"). */
export const validationParams = parameterGroup({
  disable: { type: boolean, description: 'true: values that do not fit become null.' },
  raise_on_errors: { type: boolean, description: 'true: the first error ends the import.' },
  strict_validation: { type: boolean, description: 'true: warnings are errors.' },
  allow_new_fields: { type: boolean, description: 'With strict_validation: new fields are none.' },
  on_error: { type: enumOf('fail', 'reject'), description: 'What a record with an error does: fail the import (default), or be rejected while the others are stored.' }, // prettier-ignore
  max_rejected: { type: integer, description: 'With on_error reject: the most records that may be rejected, 1000 when absent; more fail the import.' }, // prettier-ignore
});

/** An expression over a whole record. */
const recordExpression = withReader(text, (form, key) => {
  const expression = form.text(key);
  if (expression === undefined || expression.trim() === '') return expression;
  try {
    compileFieldExpression(key, expression);
  } catch (error) {
    form.collectErrorsOf(error);
  }
  return expression;
});

/**
 * How expressions are evaluated (contract 10.1). The annotator, which clients choose, does not change the results; the members of `data`
 * are variables of the expressions.
 */
export const annotatorParams = parameterGroup({
  annotator: { type: enumOf('simple', 'serial', 'parallel'), initial: 'simple' },
  block_size: { type: integer, initial: 10 },
  chunk_size: { type: integer, initial: 1000 },
  data: { type: jsonObject, initial: {} },
  debug: { type: anyType, initial: false },
  include_errors: { type: boolean, initial: true },
  keep_order: { type: boolean, initial: true },
  pool_size: { type: integer, initial: 100 },
  timeout: { type: integer, initial: 900 },
  pre_annotation_expression: { type: recordExpression, initial: '' },
  post_annotation_expression: { type: recordExpression, initial: '' },
});
