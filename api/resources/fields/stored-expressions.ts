import type { FieldRow } from '../../../engine/catalog/fields.js';
import { AppError } from '../../../engine/core/errors.js';
import {
  compileFieldExpression,
  orderFields,
} from '../../../engine/expression/annotate/annotation-fields.js';
import type { Form } from '../../http/form.js';

/** Reads the expression of a dataset field, which imports and migrations compute; the empty text means no expression. */
export function readExpression(form: Form, key: string): string | null | undefined {
  const text = form.nullableText(key);
  if (!text) return text === undefined ? undefined : null;
  const name = form.raw('name');
  if (typeof name === 'string' && name.includes('.'))
    return form.fail(key, 'Only a field of the record itself can be computed, not one inside an object.'); // prettier-ignore
  const problem = errorMessageOf(() => compileFieldExpression(key, text));
  return problem === undefined ? text : form.fail(key, problem);
}

/** Adds an error to the form if the computed fields of a dataset depend on each other in a circle. */
export function refuseCyclicExpressions(
  form: Form,
  fields: readonly Pick<FieldRow, 'name' | 'expression' | 'dependsOn'>[],
): void {
  const computedFields = fields.filter(({ expression }) => expression);
  const problem = errorMessageOf(() =>
    orderFields(
      computedFields.map(({ name, dependsOn }) => ({
        name,
        dependsOn,
        expression: null,
        dataType: 'auto',
        isList: null,
        ordering: 0,
        isTransient: false,
      })),
    ),
  );
  if (problem !== undefined) form.fail('depends_on', problem);
}

/** Runs `work` and returns the message of the error that it throws about the request; undefined if it succeeds. */
export function errorMessageOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}
