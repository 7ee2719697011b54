import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { removeFile } from '../../../engine/core/files.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { Form, isObject } from '../../http/form.js';
import { JsonText } from '../../http/reply.js';
import type { FunctionScope } from '../expressions/function-scope.js';
import { readComputedFields } from '../expressions/read-requests.js';
import { runExpressions } from '../expressions/run-expressions.js';
import { annotatorParams } from '../shared/import-params.js';
import {
  planAnnotation,
  annotationSettingsToRow,
  type AnnotationSettings,
} from '../../../scheduler/expressions/plan-annotation.js';
import { annotatedColumns } from '../../../scheduler/jobs/export/annotated-columns.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { withoutConditions } from '../../../engine/query/request/separated-query.js';
import { computedQuery } from '../../../scheduler/jobs/computed/computed-query.js';
import { computedConditions } from './computed-conditions.js';
import { pageTypes, queryPage, loadRequestedData, refuseJsonOnlyKeys, type PageType, type TypedPage } from '../queries/query-records.js'; // prettier-ignore

/** Returns whether the body of a query or an export has expressions: computed fields, or expressions over whole records. */
export function isAnnotatedQuery(body: unknown): body is JsonObject {
  if (!isObject(body)) return false;
  const { target_fields: fields, annotator_params: params } = body;
  if (Array.isArray(fields) ? fields.length > 0 : isNonEmpty(fields)) return true;
  return isObject(params) && recordExpressionKeys.some((key) => isNonEmpty(params[key]));
}

const recordExpressionKeys = ['pre_annotation_expression', 'post_annotation_expression'] as const;

function isNonEmpty(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/**
 * Returns the JSON answer of a query with expressions (contract 8.1, 19.5). `total`, `limit` and `offset` count the records before
 * expressions change their number.
 */
export async function answerAnnotatedQuery(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: JsonObject,
): Promise<JsonText> {
  const { queriedPage, task } = await queryRecordsToAnnotate(scope, dataset, body);
  const results = await runExpressions(scope, 'page', { ...task, separator: ',' });
  return new JsonText(`${queriedPage.head}[${results}]${queriedPage.tail}`);
}

/**
 * Returns the page of a query with expressions as an Arrow stream, JSON Lines or CSV. Throws a 400 if the query has facets or `explain`.
 */
export async function answerAnnotatedPage(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: JsonObject,
  type: PageType,
): Promise<TypedPage> {
  const { facets, explain } = body;
  refuseJsonOnlyKeys({ facets: Object.keys(Object(facets ?? {})).length > 0, explain: String(explain).toLowerCase() === 'true' }, type); // prettier-ignore
  const { queriedPage, task, settings, query, source } = await queryRecordsToAnnotate(
    scope,
    dataset,
    body,
  );
  const { total, offset, next, asOf } = queriedPage;
  const typedPage = (page: Uint8Array): TypedPage => ({ body: page, total, offset, next, asOf });
  const format = pageTypes[type];
  if (format === 'json') {
    const lines = await runExpressions(scope, 'page', { ...task, separator: '\n' });
    return typedPage(Buffer.from(lines === '' ? '' : `${lines}\n`));
  }
  const { targetFields } = annotationSettingsToRow(settings);
  const columns = annotatedColumns(task, targetFields, source, parseQuery(withoutConditions(query), source.fields)); // prettier-ignore
  const titles = source.fields.map(({ path, title }) => ({ path, title }));
  const { data } = scope.context;
  const file = join(data.fileTables, `page-${randomUUID()}.parquet`);
  try {
    return typedPage(
      await runExpressions(scope, 'pageTable', { ...task, format, columns, titles, file }),
    );
  } finally {
    // if this fails, the next start of the server removes the file
    await removeFile(file).catch(() => undefined);
  }
}

/** Returns the page that a query with expressions finds before they are evaluated, and what `runExpressions` needs to evaluate them. */
async function queryRecordsToAnnotate(scope: FunctionScope, dataset: DatasetRow, body: JsonObject) {
  const { context, signal } = scope;
  const { fields, snapshot } = await loadRequestedData(context, dataset, body);
  const { target_fields: targets, annotator_params: params, ...rest } = body;
  const settings = readAnnotation(targets, params);
  const { query, task } = planAnnotation(settings, rest, fields);
  const requestedComputedQuery = computedQuery(settings, query, fields);
  const conditions =
    requestedComputedQuery && computedConditions(scope, dataset, requestedComputedQuery);
  const { pageQuery, run } = conditions ?? { pageQuery: query, run: runQuery };
  const queriedPage = await queryPage(context, dataset, pageQuery, signal, run, body);
  const sourceDataset = String(dataset.id);
  const source = { fields, columns: snapshot.columns };
  return { queriedPage, settings, query, source, task: { ...task, records: queriedPage.results, sourceDataset } }; // prettier-ignore
}

/** Reads the keys of a query or an export that contain expressions. Throws a 400. */
export function readAnnotation(targets: unknown, params: unknown): AnnotationSettings {
  const form = new Form({ target_fields: targets ?? [], annotator_params: params ?? {} });
  const fields = readComputedFields(form, 'target_fields');
  const { pre_annotation_expression: pre, post_annotation_expression: post, ...others } = form.object('annotator_params') ?? {}; // prettier-ignore
  const paramsForm = new Form({ annotator_params: others });
  const settings = annotatorParams.type.read?.(paramsForm, 'annotator_params') as
    JsonObject | undefined;
  const expressionsForm = new Form({ pre, post });
  const preExpression = expressionsForm.text('pre') ?? '';
  const postExpression = expressionsForm.text('post') ?? '';
  for (const partForm of [paramsForm, expressionsForm])
    form.collectErrorsOfPart(
      'annotator_params',
      partForm,
      (name, messages) => `${name}: ${messages}`,
    );
  form.throwIfInvalid();
  return {
    fields,
    constants:
      (targets as readonly JsonObject[] | null | undefined)?.map(({ expression }) => expression) ??
      [],
    data: (settings?.['data'] ?? {}) as JsonObject,
    includeErrors: settings?.['include_errors'] !== false,
    preExpression,
    postExpression,
  };
}
