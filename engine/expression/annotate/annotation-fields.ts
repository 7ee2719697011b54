import { AppError } from '../../core/errors.js';
import type { MemberPath } from '../compile/record-fields.js';
import { compileExpression } from '../expression.js';
import type { Expression } from '../expression.js';
import { ExpressionError } from '../values/expression-errors.js';
import type { ExpressionLimits } from '../values/expression-limits.js';
import type { PyValue } from '../values/python-values.js';
import type { CastType } from './cast-result.js';

/** A field of an annotation. `expression` is a text, or a constant value; with null or `''` the field keeps its value, cast to its type. */
export interface AnnotationField {
  readonly name: string;
  readonly expression: string | { readonly constant: PyValue } | null;
  readonly dataType: CastType;
  readonly isList: boolean | null;
  readonly ordering: number;
  readonly dependsOn: readonly string[];
  readonly isTransient: boolean;
  /**
   * Whether the field is None, without an evaluation, in records that have none of the values that its expression reads; without effect if
   * the expression reads no value or may read any.
   */
  readonly needsInput?: boolean;
  /**
   * The dotted names of the fields that identify the stored record which a given record changes; their values count for `needsInput` only
   * if the expression reads no other fields.
   */
  readonly keyNames?: readonly string[];
}

/** The variables of an annotation besides `record`; they precede those of the caller's `data`. */
const annotationVariables = [
  'value',
  'source_filename',
  'source_dataset',
  'target_dataset',
] as const;

/** A field with its compiled expression. A field without an expression or constant keeps its value, cast to its type. */
export interface CompiledField {
  readonly field: AnnotationField;
  readonly expression: Expression | undefined;
  readonly constant: PyValue | undefined;
}

/** Compiles the fields of an annotation in the order in which they run. Throws an `AppError` for an invalid expression or a cycle. */
export function compileFields(
  fields: readonly AnnotationField[],
  dataNames: readonly string[],
  options: { readonly limits?: Partial<ExpressionLimits>; readonly clock?: () => number } = {},
): CompiledField[] {
  const variables = variableNames(dataNames);
  return orderFields(fields).map((field) => {
    const { expression } = field;
    if (expression === null || expression === '')
      return { field, expression: undefined, constant: undefined };
    if (typeof expression !== 'string')
      return { field, expression: undefined, constant: expression.constant };
    const compiled = compileFieldExpression(field.name, expression, { ...options, variables });
    return { field, expression: compiled, constant: undefined };
  });
}

/**
 * Returns the paths of the values of which a record must have one for the field to be computed; null if the field is computed in any case,
 * because it does not have `needsInput`, or its expression reads no value or may read any.
 */
export function neededPathsOf({ field, expression }: CompiledField): readonly MemberPath[] | null {
  const paths = expression?.pathsRead ?? 'all';
  if (field.needsInput !== true || paths === 'all') return null;
  const neededPaths = expression!.usesName('value') ? [...paths, [field.name]] : paths;
  if (neededPaths.length === 0) return null;
  const otherPaths = neededPaths.filter(
    (path) => field.keyNames?.includes(path.join('.')) !== true,
  );
  return otherPaths.length === 0 ? neededPaths : otherPaths;
}

/**
 * Returns the names of all variables in the order of their values. If a name in `data` equals one of an annotation's variables, the latter
 * has precedence.
 */
export function variableNames(dataNames: readonly string[]): string[] {
  return [...annotationVariables, ...dataNames];
}

/** Compiles an expression; its error is an error of the request and names the key that contains it. */
export function compileFieldExpression(
  name: string,
  text: string,
  options: Parameters<typeof compileExpression>[1] = {},
): Expression {
  try {
    return compileExpression(text, options);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new AppError('invalid', `${name}: ${error.text}`, { [name]: [error.text] }, error);
  }
}

/**
 * Returns the fields in the order in which they run (specification of expressions, section 5.4): by `ordering`, then as listed, but each
 * after the fields on which it depends. Names that no field has do not affect the order. A cycle is an `invalid` error with the names of
 * its fields.
 */
export function orderFields(fields: readonly AnnotationField[]): AnnotationField[] {
  const sortedFields = fields.toSorted((a, b) => a.ordering - b.ordering);
  const byName = new Map(sortedFields.map((field) => [field.name, field]));
  const orderedFields: AnnotationField[] = [];
  const states = new Map<AnnotationField, 'open' | 'done'>();
  for (const root of sortedFields) {
    // The path from the root to a field, with the next dependency of each field to visit; with it, long chains need no recursion.
    const path = [{ field: root, next: 0 }];
    while (path.length > 0) {
      const top = path.at(-1)!;
      if (states.get(top.field) === 'done') {
        path.pop();
        continue;
      }
      states.set(top.field, 'open');
      const name = top.field.dependsOn[top.next];
      if (name === undefined) {
        states.set(top.field, 'done');
        orderedFields.push(top.field);
        path.pop();
        continue;
      }
      top.next += 1;
      const otherField = byName.get(name);
      if (otherField === undefined || states.get(otherField) === 'done') continue;
      if (states.get(otherField) === 'open')
        throw cycleError(
          path.map(({ field }) => field.name),
          otherField.name,
        );
      path.push({ field: otherField, next: 0 });
    }
  }
  return orderedFields;
}

function cycleError(path: readonly string[], name: string): AppError {
  const cycle = [...path.slice(path.indexOf(name)), name];
  const message = `Fields depend on each other in a circle: ${cycle.join(' → ')}`;
  return new AppError('invalid', message, { [name]: [message] });
}
