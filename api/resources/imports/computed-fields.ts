import type { JsonObject } from '../../../engine/core/types.js';
import {
  compileFieldExpression,
  orderFields,
} from '../../../engine/expression/annotate/annotation-fields.js';
import {
  annotationField,
  hasExpression,
} from '../../../scheduler/expressions/columns/field-expressions.js';
import { Form } from '../../http/form.js';
import { errorMessageOf } from '../fields/stored-expressions.js';
import { readTargetFields } from './import-options.js';

/**
 * Reads the target fields of an import, a migration or a template; unknown keys are dropped. Their expressions are compiled, so that
 * mistakes are reported now.
 */
export function readImportFields(form: Form, key: string): readonly JsonObject[] | undefined {
  const definitions = form.objectList(key);
  const plainDefinitions = definitions?.map((definition) => ({ ...definition, expression: null }));
  const definitionForm = new Form({ [key]: plainDefinitions });
  const fields = readTargetFields(definitionForm, key)?.map((field, index) => {
    const { expression } = definitions![index]!;
    return expression === undefined || expression === '' ? field : { ...field, expression };
  });
  try {
    definitionForm.throwIfInvalid();
  } catch (error) {
    form.collectErrorsOf(error);
    return undefined;
  }
  if (fields !== undefined) checkExpressions(form, key, fields);
  return fields;
}

/** Adds an error to the form for each expression with a syntax error, and for fields whose expressions depend on each other in a circle. */
function checkExpressions(form: Form, key: string, targetFields: readonly JsonObject[]): void {
  const computedTargets = targetFields.flatMap((target, index) =>
    hasExpression(target) ? [{ field: annotationField(target), index }] : [],
  );
  for (const { field, index } of computedTargets) {
    const { name, expression } = field;
    if (typeof expression !== 'string') continue;
    const label = `Field ${index + 1} ${JSON.stringify(name.slice(0, 100))}, expression`;
    const problem = errorMessageOf(() => compileFieldExpression(label, expression));
    if (problem !== undefined) form.fail(key, problem);
  }
  const cycleMessage = errorMessageOf(() => orderFields(computedTargets.map(({ field }) => field)));
  if (cycleMessage !== undefined) form.fail(key, cycleMessage);
}
