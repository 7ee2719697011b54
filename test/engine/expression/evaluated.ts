import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import { toPlainValue } from '../../../engine/expression/values/plain-result.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import type { ExpressionOptions } from '../../../engine/expression/expression.js';
import {
  ExpressionError,
  ExpressionSyntaxError,
} from '../../../engine/expression/values/expression-errors.js';
import { reprOf } from '../../../engine/expression/values/repr.js';
import { DictView, PyDict, PyIterator } from '../../../engine/expression/values/python-values.js';
import type { ExpressionHost, PyValue } from '../../../engine/expression/values/python-values.js';

/** Returns a record, given as JSON. */
export function recordOf(json: string): PyDict {
  const record = valueOfJson(json);
  if (!(record instanceof PyDict)) throw new TypeError(`${json} is no record`);
  record.isRecord = true;
  return record;
}

/** Returns the repr of an expression's value, or `!` with the class and the text of its error. */
export function evaluateText(
  text: string,
  json = '{}',
  options: ExpressionOptions = {},
  host: ExpressionHost = {},
): string {
  try {
    const expression = compileExpression(text, options);
    const value = expression.evaluate(recordOf(json), [], host);
    return reprOf(expression.runtime, value);
  } catch (error) {
    return errorText(error);
  }
}

/**
 * Returns the `repr` of the value of an expression, or its error; iterators and views are shown as the lists that they become in results.
 */
export function evaluateToPlainText(text: string, json: string): string {
  try {
    const expression = compileExpression(text);
    const value: PyValue = expression.evaluate(recordOf(json));
    const isLazy = value instanceof DictView || value instanceof PyIterator;
    const { runtime } = expression;
    return reprOf(runtime, isLazy ? toPlainValue(runtime, value) : value);
  } catch (error) {
    return errorText(error);
  }
}

function errorText(error: unknown): string {
  if (error instanceof ExpressionSyntaxError) return `! SyntaxError: ${error.reason}`;
  if (error instanceof ExpressionError) return `! ${error.exception}: ${error.message}`;
  throw error;
}
