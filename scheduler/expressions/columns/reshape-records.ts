import { Annotation } from '../../../engine/expression/annotate/annotate-record.js';
import { removePath } from '../../../engine/expression/annotate/record-schema.js';
import { getItem, setItem, textKeyedEntries } from '../../../engine/expression/values/dict.js';
import { PyDict, type PyValue } from '../../../engine/expression/values/python-values.js';
import { FindingCollector } from '../../../engine/ingest/findings.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import { answerCallsAhead, passesAheadOf, maxRecordsAhead } from './call-ahead.js';
import {
  chunkExpressionsTimeoutMs,
  lenientReportRules,
  type ComputationInput,
  type ComputedBatch,
} from './compute-fields.js';
import { annotationFieldsOf, expressionData } from './field-expressions.js';
import { computedNames, errorKeys, typeHints } from './input-columns.js';
import { withComputedMarks } from './computed-marks.js';
import { RecordColumns } from './record-columns.js';
import { dropsErrors, errorsField, messagesOfOthers, shortenMessage } from './record-errors.js';
import { RecordSlots } from './record-slots.js';

/**
 * Evaluates the expressions of a chunk if they include `pre_annotation_expression` or `post_annotation_expression`, which make new records
 * of each record (specification of expressions, section 5.5). All records are converted to values, and their fields back to columns, whose
 * types follow the values unless they are known.
 */
export function reshapeRecords(input: ComputationInput): ComputedBatch {
  const { batch, expressions, columns, inputs, host, isLenient, lineOf } = input;
  const collector = new FindingCollector(lenientReportRules);
  let misfit: string | null = null;
  const context = new RecordContext({
    isDisabled: isLenient,
    reject: (_line, _code, _field, message) => void (misfit ??= message),
    warn: (line, code, field, message) => collector.warn(line, code, field, message),
  });
  const recordColumns = new RecordColumns(columns, typeHints(batch.columns), context);
  const names = [...expressions.declared, ...inputs.map(({ name }) => name)];
  const slots = new RecordSlots(batch, new Map(inputs.map((one) => [one.name, one])), new Set());
  slots.addAllFields();
  const { sourceFilename, sourceDataset } = expressions;
  const annotation = new Annotation({
    fields: annotationFieldsOf(expressions),
    preExpression: expressions.preExpression,
    postExpression: expressions.postExpression,
    includeErrors: true,
    data: expressionData(expressions),
    schemaFields: [...new Set(names)],
    ...(expressions.targetDatasetId !== null && { targetDataset: expressions.targetDatasetId }),
    ...(sourceFilename !== null && { sourceFilename }),
    ...(sourceDataset !== undefined && { sourceDataset }),
  });
  const namesComputed = computedNames(expressions);
  const recomputedNames = errorKeys(expressions);
  const droppedPaths = (input.dropped ?? []).filter(([name]) => !namesComputed.has(name!));
  const deadline = performance.now() + (input.timeoutMs ?? chunkExpressionsTimeoutMs);

  const leavesOutErrors = dropsErrors(droppedPaths);

  /**
   * Stores a record; a value that does not fit its field becomes null, which is an error unless validation is off. If `hasNewErrors` is
   * false, the annotation has given the record no errors, so messages that were stored before are not new ones.
   */
  const store = (record: PyDict, storedErrors: PyValue | undefined, hasNewErrors: boolean): void => {
    const errors = record.map.get(errorsField);
    const knownErrors = !hasNewErrors && storedErrors instanceof PyDict ? storedErrors : undefined;
    const errorEntries = errors instanceof PyDict ? [...textKeyedEntries(errors)] : [];
    const messages = new Map(
      errorEntries.filter(([name, message]) => message !== null && message !== (knownErrors && getItem(knownErrors, name))),
    );
    for (const [name, message] of messages)
      collector.warn(context.line, codes.expressionError, name, shortenMessage(String(message)));
    for (const path of droppedPaths) removePath(record, path);
    for (const [name, value] of textKeyedEntries(record)) {
      if (value === null || name === errorsField) continue;
      misfit = null;
      recordColumns.append(name, value);
      if (misfit === null) continue;
      collector.warn(context.line, codes.expressionError, name, shortenMessage(misfit));
      messages.set(name, misfit);
    }
    const mergedErrors = new PyDict();
    if (errors instanceof PyDict && !leavesOutErrors)
      for (const [name, message] of messagesOfOthers(storedErrors, recomputedNames)) setItem(mergedErrors, name, message);
    if (expressions.includeErrors)
      for (const [name, message] of messages) setItem(mergedErrors, name, shortenMessage(String(message)));
    if (mergedErrors.map.size > 0) recordColumns.append(errorsField, mergedErrors);
    recordColumns.endRecord();
  }; // prettier-ignore

  const recordAt = (row: number): PyDict => {
    slots.goToRecord(row);
    return slots.createRecord();
  };
  const { needingInput = [] } = expressions;
  const computedByRow: ReadonlySet<string>[] = [];
  const passes = passesAheadOf(annotation.prefetchExpressions);
  for (let row = 0; row < batch.rows; row++) {
    if (row % maxRecordsAhead === 0) {
      const to = Math.min(batch.rows, row + maxRecordsAhead);
      answerCallsAhead(host, passes, (ahead) => {
        for (let rowAhead = row; rowAhead < to && performance.now() < deadline; rowAhead++)
          annotation.prefetchCalls(recordAt(rowAhead), ahead.host);
      });
    }
    context.line = lineOf(row);
    context.recordNumber++;
    const record = recordAt(row);
    const storedErrors = record.map.get(errorsField);
    if (performance.now() < deadline) {
      const { records, haveErrors, computedFields } = annotation.annotate(record, host);
      for (const [i, one] of records.entries()) store(one, storedErrors, haveErrors[i]!);
      if (needingInput.length > 0) for (const one of computedFields) computedByRow.push(one);
      continue;
    }
    const lateErrors = new PyDict();
    lateErrors.map.set('pre_annotation_expression', timeLimitMessage);
    record.map.set(errorsField, lateErrors);
    store(record, storedErrors, true);
    computedByRow.push(new Set());
  }
  const unmarkedBatch = recordColumns.finish();
  const reshapedBatch =
    needingInput.length === 0
      ? unmarkedBatch
      : withComputedMarks(unmarkedBatch, needingInput, (name, row) =>
          computedByRow[row]!.has(name),
        );
  return {
    batch: reshapedBatch,
    findings: collector.result(),
    storesErrors: reshapedBatch.columns.some(({ name }) => name === errorsField),
    release: () => recordColumns.release(),
  };
}

const timeLimitMessage =
  'Expression limit exceeded: too much time for the records of one part of the source';
