import { AppError, invalidError } from '../../engine/core/errors.js';
import { outcomeOf, type Outcome } from '../../engine/core/outcome.js';
import { castResult } from '../../engine/expression/annotate/cast-result.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { compileExpression, expressionErrorOf } from '../../engine/expression/expression.js';
import { limitExceededError } from '../../engine/expression/values/expression-limits.js';
import { PyDict } from '../../engine/expression/values/python-values.js';
import type { PyValue } from '../../engine/expression/values/python-values.js';
import {
  annotatedRecords,
  createAnnotation,
  listItemsOf,
  memberOf,
  createRecordAnnotator,
  jsonOfRecord,
} from './record-annotator.js';
import { expressionHost } from './host-functions.js';
import type { ThreadRequest } from './host-call-protocol.js';

/* The entry point of a thread that evaluates expressions. */

/** Maximum size in bytes of the result of an expression as JSON. */
const maxResultBytes = 1_000_000;
/** Maximum size of the annotated records of a request as JSON: of each record in bytes, of all records in UTF-16 code units. */
const maxRecordsSize = 10_000_000;
/** Maximum size of a page of a query as JSON, in UTF-16 code units. */
const maxPageLength = 64_000_000;
/** Maximum number of `examples` of errors in the answer to an annotation. */
const maxShownErrors = 5;

/** Evaluates one expression; answers `{"result": …}`. */
export function evaluate(task: ThreadRequest<'evaluate'>): Promise<Outcome<string>> {
  return toOutcome(() => {
    const body = valueOfJson(task.body);
    const data = memberOf(body, 'data') ?? memberOf(body, 'fields');
    const variables = data instanceof PyDict ? data.map : new Map<string, PyValue>();
    const record = variables.get('record');
    if (record instanceof PyDict) record.isRecord = true;
    const names = Array.from(variables.keys(), String);
    const options = { variables: names, hasRecord: false, locatesErrors: true };
    const expression = compileExpression(task.expression, options);
    const host = expressionHost(task, task.calls);
    try {
      const value = expression.evaluate(undefined, [...variables.values()], host);
      const result = castResult(expression.runtime, value, task.dataType, task.isList);
      return `{"result":${jsonOfValue(result, maxResultBytes)}}`;
    } catch (error) {
      throw expression.locateError(error);
    }
  });
}

/** Annotates the records of a request; answers `{"results": […], "errors": {…}}`. */
export function annotate(task: ThreadRequest<'annotate'>): Promise<Outcome<string>> {
  return toOutcome(() => {
    const body = valueOfJson(task.body);
    const annotation = createAnnotation(task, body);
    const host = expressionHost(task, task.calls);
    const texts: string[] = [];
    const examples: object[] = [];
    let textLength = 0;
    let failedRecords = 0;
    let failedFields = 0;
    const inputs = listItemsOf(memberOf(body, 'records'));
    let inputIndex = -1;
    for (const one of annotatedRecords(annotation, inputs, requestedRecord, host)) {
      inputIndex += 1;
      const { records, fieldErrors, firstError } = one;
      for (const record of records) {
        const text = jsonOfValue(record, maxRecordsSize);
        textLength += text.length + 1;
        if (textLength > maxRecordsSize)
          throw limitExceededError('results of more than 10 MB: annotate fewer records at a time');
        texts.push(text);
      }
      failedFields += fieldErrors;
      if (firstError === undefined) continue;
      failedRecords += 1;
      if (examples.length < maxShownErrors) examples.push({ record: inputIndex, ...firstError });
    }
    const errors = { records: failedRecords, fields: failedFields, examples };
    return `{"results":[${texts.join(',')}],"errors":${JSON.stringify(errors)}}`;
  });
}

function requestedRecord(input: PyValue): PyDict {
  if (input instanceof PyDict) return input;
  throw invalidError('records', 'Must be a list of objects.');
}

/** Annotates the records of a page; the answer is their JSON texts, joined by the separator. */
export function page(task: ThreadRequest<'page'>): Promise<Outcome<string>> {
  return toOutcome(() => {
    return Array.from(pageRecords(task), ({ text }) => text).join(task.separator);
  });
}

/** Annotates the records of a page; the answer is a table in the requested format. */
export function pageTable(task: ThreadRequest<'pageTable'>): Promise<Outcome<Uint8Array>> {
  return toOutcome(async () => {
    const records = Array.from(pageRecords(task), ({ record }) => record);
    // The module is loaded on demand, because requests for encoded pages are rare and the module is large.
    const { encodeRecordTable } = await import('./encoded-table.js');
    return encodeRecordTable(records, task);
  });
}

/** Yields the annotated records of a page with their JSON texts; throws when the texts are too large. */
function* pageRecords(
  task: ThreadRequest<'page' | 'pageTable'>,
): Generator<{ readonly record: PyDict; readonly text: string }> {
  const host = expressionHost(task, task.calls);
  const annotateTexts = createRecordAnnotator(task, task.sourceDataset);
  let textLength = 0;
  for (const record of annotateTexts([...splitRecordTexts(task.records)], host)) {
    const text = jsonOfRecord(record);
    textLength += text.length + 1;
    if (textLength > maxPageLength)
      throw limitExceededError('a page of more than 64 MB: ask for fewer records at a time');
    yield { record, text };
  }
}

/** Yields the texts of the objects in a well-formed JSON list of objects. */
function* splitRecordTexts(list: string): Generator<string> {
  let depth = 0;
  let from = 0;
  for (let i = 0; i < list.length; i++) {
    const code = list.charCodeAt(i);
    if (code === quote) i = closingQuoteAt(list, i);
    else if (code === openBrace && depth++ === 0) from = i;
    else if (code === closeBrace && --depth === 0) yield list.slice(from, i + 1);
  }
}

/** Returns the position of the quote that ends the JSON string whose first quote is at `start`. */
function closingQuoteAt(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    const code = text.charCodeAt(i);
    if (code === backslash) i++;
    else if (code === quote || Number.isNaN(code)) return i;
  }
}

const [quote, backslash, openBrace, closeBrace] = [34, 92, 123, 125];

function toOutcome<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  return outcomeOf(async () => {
    try {
      return await work();
    } catch (thrown) {
      const error = expressionErrorOf(thrown);
      throw new AppError('invalid', error.text, undefined, error);
    }
  });
}
