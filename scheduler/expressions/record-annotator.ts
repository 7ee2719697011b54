import {
  Annotation,
  type AnnotatedRecord,
} from '../../engine/expression/annotate/annotate-record.js';
import type { AnnotationField } from '../../engine/expression/annotate/annotation-fields.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { RecordSchema, removePath } from '../../engine/expression/annotate/record-schema.js';
import { PyDict, PyList } from '../../engine/expression/values/python-values.js';
import type { ExpressionHost, PyValue } from '../../engine/expression/values/python-values.js';
import { answerCallsAhead, passesAheadOf, maxRecordsAhead } from './columns/call-ahead.js';
import type { AnnotationTask } from './plan-annotation.js';
import type { ComputeFieldsRequest, RequestedField } from './host-call-protocol.js';

/** Maximum size of an annotated record as JSON, in bytes. */
const maxRecordBytes = 64_000_000;

/** Returns a function that annotates records of a dataset, given as JSON texts. */
export function createRecordAnnotator(
  task: AnnotationTask,
  sourceDataset: string,
): (texts: readonly string[], host: ExpressionHost) => Iterable<PyDict> {
  const { dropped, fields } = task;
  const schemaFields = task.schema.map(([name]) => name!);
  const annotation = createAnnotation(task, valueOfJson(task.body), {
    sourceDataset,
    schemaFields,
  });
  const schema = new RecordSchema(task.schema, task.floats);
  const computedNames = new Set(fields.map(({ name }) => name));
  const readRecord = (text: string): PyDict => {
    const record = valueOfJson(text) as PyDict;
    schema.convertToExpressionForm(record);
    return record;
  };
  return function* (texts, host) {
    for (const { records } of annotatedRecords(annotation, texts, readRecord, host))
      for (const one of records) {
        for (const path of dropped) if (!computedNames.has(path[0]!)) removePath(one, path);
        schema.convertToStoredForm(one, computedNames);
        yield one;
      }
  };
}

/** Returns the JSON text of a record that an annotator of `createRecordAnnotator` has yielded. */
export function jsonOfRecord(record: PyDict): string {
  return jsonOfValue(record, maxRecordBytes);
}

/**
 * Yields the annotation of each input, which `readRecord` turns into a record. Calls of dataset functions in many records are answered
 * together.
 */
export function* annotatedRecords<T>(
  annotation: Annotation,
  inputs: readonly T[],
  readRecord: (input: T) => PyDict,
  host: ExpressionHost,
): Generator<AnnotatedRecord> {
  const passes = passesAheadOf(annotation.prefetchExpressions);
  for (let from = 0; from < inputs.length; from += maxRecordsAhead) {
    const someInputs = inputs.slice(from, from + maxRecordsAhead);
    answerCallsAhead(host, passes, (ahead) => {
      for (const input of someInputs) annotation.prefetchCalls(readRecord(input), ahead.host);
    });
    for (const input of someInputs) yield annotation.annotate(readRecord(input), host);
  }
}

/** Returns the annotation that a task asks for; `body` holds the constants and `data`. */
export function createAnnotation(
  task: Pick<ComputeFieldsRequest, 'fields' | 'preExpression' | 'postExpression' | 'includeErrors'>,
  body: PyValue,
  more: { readonly sourceDataset?: string; readonly schemaFields?: readonly string[] } = {},
): Annotation {
  const data = memberOf(body, 'data') ?? memberOf(memberOf(body, 'annotator_params'), 'data');
  return new Annotation({
    ...more,
    fields: task.fields.map((field, i) => annotationField(field, body, i)),
    preExpression: task.preExpression,
    postExpression: task.postExpression,
    includeErrors: task.includeErrors,
    ...(data instanceof PyDict && { data }),
  });
}

/** Returns the member of an object; undefined if it is missing or null. */
export function memberOf(value: PyValue | undefined, name: string): PyValue | undefined {
  return value instanceof PyDict ? (value.map.get(name) ?? undefined) : undefined;
}

/** Returns the items of a list; none for any other value. */
export function listItemsOf(value: PyValue | undefined): readonly PyValue[] {
  return value instanceof PyList ? value.items : [];
}

/** Returns the field of an annotation; a constant is taken from `body`, which has it in full precision. */
function annotationField(
  { isConstant, ...field }: RequestedField,
  body: PyValue,
  index: number,
): AnnotationField {
  if (!isConstant) return field;
  const constant = memberOf(listItemsOf(memberOf(body, 'fields'))[index], 'expression') ?? null;
  return { ...field, expression: { constant } };
}
