import { callBlocking } from '../../engine/core/blocking-calls.js';
import { AppError, invalid } from '../../engine/core/errors.js';
import { outcomeOf, type Outcome } from '../../engine/core/outcome.js';
import { Annotation } from '../../engine/expression/annotate/annotate-record.js';
import { castResult } from '../../engine/expression/annotate/cast.js';
import type { AnnotationField } from '../../engine/expression/annotate/fields.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { asExpressionError, compileExpression } from '../../engine/expression/expression.js';
import { ExpressionError } from '../../engine/expression/values/errors.js';
import { limitExceeded } from '../../engine/expression/values/limits.js';
import { PyDict, PyList } from '../../engine/expression/values/values.js';
import type { ExpressionHost, PyValue } from '../../engine/expression/values/values.js';
import { hostFunctions } from './host-functions.js';
import type { ExpressionTasks, HostAnswer, RequestedField, ThreadTask } from './protocol.js';

/* The entry of a thread that evaluates expressions. */

/** The largest result of an expression, and of the records of a request, as JSON. */
const maxResultBytes = 1_000_000;
const maxRecordsBytes = 10_000_000;
/** The errors that the answer of an annotation shows. */
const shownErrors = 5;

/** Evaluates one expression; answers `{"result": …}`. */
export function evaluate(task: ThreadTask<'evaluate'>): Promise<Outcome<string>> {
  return outcome(() => {
    const body = valueOfJson(task.body);
    const data = memberOf(body, 'data') ?? memberOf(body, 'fields');
    const variables = data instanceof PyDict ? data.map : new Map<string, PyValue>();
    const record = variables.get('record');
    if (record instanceof PyDict) record.isRecord = true;
    const options = { variables: Array.from(variables.keys(), String), hasRecord: false };
    const expression = compileExpression(task.expression, options);
    const value = expression.evaluate(undefined, [...variables.values()], hostOf(task));
    const result = castResult(expression.runtime, value, task.dataType, task.isList);
    return `{"result":${jsonOfValue(result, maxResultBytes)}}`;
  });
}

/** Annotates the records of a request; answers `{"results": […], "errors": {…}}`. */
export function annotate(task: ThreadTask<'annotate'>): Promise<Outcome<string>> {
  return outcome(() => {
    const body = valueOfJson(task.body);
    const data = memberOf(body, 'data') ?? memberOf(memberOf(body, 'annotator_params'), 'data');
    const annotation = new Annotation({
      fields: task.fields.map((field, i) => annotationField(field, body, i)),
      preExpression: task.preExpression,
      postExpression: task.postExpression,
      includeErrors: task.includeErrors,
      ...(data instanceof PyDict && { data }),
    });
    const host = hostOf(task);
    const texts: string[] = [];
    const examples: object[] = [];
    let bytes = 0;
    let failedRecords = 0;
    let failedFields = 0;
    for (const [index, input] of listOf(memberOf(body, 'records')).entries()) {
      if (!(input instanceof PyDict)) throw invalid('records', 'Must be a list of objects.');
      const { records, fieldErrors, firstError } = annotation.annotate(input, host);
      for (const record of records) {
        const text = jsonOfValue(record, maxRecordsBytes);
        bytes += text.length + 1;
        if (bytes > maxRecordsBytes)
          throw limitExceeded('results of more than 10 MB: annotate fewer records at a time');
        texts.push(text);
      }
      failedFields += fieldErrors;
      if (firstError === undefined) continue;
      failedRecords += 1;
      if (examples.length < shownErrors) examples.push({ record: index, ...firstError });
    }
    const errors = { records: failedRecords, fields: failedFields, examples };
    return `{"results":[${texts.join(',')}],"errors":${JSON.stringify(errors)}}`;
  });
}

function outcome(work: () => string): Promise<Outcome<string>> {
  return outcomeOf(() => {
    try {
      return work();
    } catch (thrown) {
      const error = asExpressionError(thrown);
      if (error instanceof ExpressionError)
        throw new AppError('invalid', error.message, undefined, error);
      throw error;
    }
  });
}

function hostOf({ user, now, calls }: ThreadTask<keyof ExpressionTasks>): ExpressionHost {
  const functions = hostFunctions((call) => callBlocking<HostAnswer>(calls, call));
  return { now, user: () => user, functions };
}

/** The member of an object; undefined if it is missing or null. */
function memberOf(value: PyValue | undefined, name: string): PyValue | undefined {
  return value instanceof PyDict ? (value.map.get(name) ?? undefined) : undefined;
}

function listOf(value: PyValue | undefined): readonly PyValue[] {
  return value instanceof PyList ? value.items : [];
}

/** The field with its constant, which the body has in full precision. */
function annotationField(
  { isConstant, ...field }: RequestedField,
  body: PyValue,
  index: number,
): AnnotationField {
  if (!isConstant) return field;
  const constant = memberOf(listOf(memberOf(body, 'fields'))[index], 'expression') ?? null;
  return { ...field, expression: { constant } };
}
