import { AppError } from '../../engine/core/errors.js';
import { Annotation } from '../../engine/expression/annotate/annotate-record.js';
import { functionError, typeError } from '../../engine/expression/values/expression-errors.js';
import { asInt } from '../../engine/expression/values/integers.js';
import { typeName } from '../../engine/expression/values/type-name.js';
import { PyDict, type HostFunction } from '../../engine/expression/values/python-values.js';
import { annotationField } from './columns/field-expressions.js';
import { parseJson } from '../../engine/core/json.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { HostCallResult, HostCall } from './host-call-protocol.js';

/** Maximum nesting depth of templates. */
const maxTemplateDepth = 3;

/**
 * Returns the function `annotate(record, template, debug, include_errors)`, which returns the record with the fields of a template
 * (specification of expressions, section 8.1); `debug` has no effect.
 */
export function annotateTemplateFunction(
  answerCall: (call: HostCall) => HostCallResult,
): HostFunction {
  const annotations = new Map<string, Annotation>();
  let depth = 0;
  return (runtime, [record, template, , includeErrors]) => {
    if (!(record instanceof PyDict))
      throw typeError(`annotate() takes a record, not ${typeName(record ?? null)}`);
    const templateId =
      typeof template === 'string' ? template : String(asInt(template ?? null) ?? '');
    if (!/^\d+$/.test(templateId)) throw functionError('annotate() takes the id of a template');
    const key = `${templateId} ${includeErrors !== false}`;
    let annotation = annotations.get(key);
    if (annotation === undefined) {
      annotation = annotationOfTemplate(answerCall, templateId, includeErrors !== false);
      annotations.set(key, annotation);
    }
    if (depth === maxTemplateDepth)
      throw functionError(`more than ${maxTemplateDepth} templates inside each other`);
    depth += 1;
    try {
      return annotation.annotate(record, runtime.host).records[0] ?? null;
    } finally {
      depth -= 1;
    }
  };
}

function annotationOfTemplate(
  answerCall: (call: HostCall) => HostCallResult,
  templateId: string,
  includeErrors: boolean,
): Annotation {
  try {
    const { json } = answerCall({ name: 'template', args: JSON.stringify([Number(templateId)]) });
    const fields = parseJson(json) as readonly JsonObject[];
    return new Annotation({
      fields: fields.map((field) => annotationField({ ...field, expression: field['expression'] ?? '' })),
      includeErrors,
    }); // prettier-ignore
  } catch (error) {
    if (error instanceof AppError) throw functionError(error.message);
    throw error;
  }
}
