import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { runQuery } from '../../../engine/query/plan/query.js';
import { Form, isObject } from '../../http/form.js';
import { JsonText } from '../../http/reply.js';
import type { FunctionScope } from '../expressions/function-scope.js';
import { readComputedFields } from '../expressions/read-requests.js';
import { runExpressions } from '../expressions/run-expressions.js';
import { annotatorParams } from '../imports/import-params.js';
import {
  planAnnotation,
  type AnnotationSettings,
} from '../../../scheduler/expressions/plan-annotation.js';
import { computedQuery } from '../../../scheduler/jobs/computed/computed-query.js';
import { computedConditions } from './computed-conditions.js';
import { queryPage, requestedData } from './query-records.js';

/** Whether a query, or an export, computes fields or records of those that it finds. */
export function isAnnotated(body: unknown): body is JsonObject {
  if (!isObject(body)) return false;
  const { target_fields: fields, annotator_params: params } = body;
  if (Array.isArray(fields) ? fields.length > 0 : isAsked(fields)) return true;
  return isObject(params) && recordExpressions.some((key) => isAsked(params[key]));
}

const recordExpressions = ['pre_annotation_expression', 'post_annotation_expression'] as const;

function isAsked(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** The JSON answer of such a query (contract 8.1, 19.5); `total`, `limit` and `offset` count the records before expressions change their number. */
export async function annotatedAnswer(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: JsonObject,
): Promise<JsonText> {
  const { head, results, tail } = await annotated(scope, dataset, body, ',');
  return new JsonText(`${head}[${results}]${tail}`);
}

/** The records of such a query as JSON lines. */
export async function annotatedLines(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: JsonObject,
): Promise<string> {
  const { results } = await annotated(scope, dataset, body, '\n');
  return results === '' ? '' : `${results}\n`;
}

async function annotated(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: JsonObject,
  separator: ',' | '\n',
) {
  const { context, signal } = scope;
  const { fields } = await requestedData(context, dataset, body);
  const { target_fields: targets, annotator_params: params, ...rest } = body;
  const settings = readAnnotation(targets, params);
  const { query, task } = planAnnotation(settings, rest, fields);
  const asked = computedQuery(settings, query, fields);
  const conditions = asked && computedConditions(scope, dataset, asked);
  const { page, run } = conditions ?? { page: query, run: runQuery };
  const { head, results, tail } = await queryPage(context, dataset, page, signal, run, body);
  const annotatedResults = await runExpressions(scope, 'page', {
    ...task,
    records: results,
    separator,
    sourceDataset: String(dataset.id),
  });
  return { head, results: annotatedResults, tail };
}

/** Reads the keys of a query or an export that compute fields. Throws a 400. */
export function readAnnotation(targets: unknown, params: unknown): AnnotationSettings {
  const form = new Form({ target_fields: targets ?? [], annotator_params: params ?? {} });
  const fields = readComputedFields(form, 'target_fields');
  const { pre_annotation_expression: pre, post_annotation_expression: post, ...others } = form.object('annotator_params') ?? {}; // prettier-ignore
  const own = new Form({ annotator_params: others });
  const settings = annotatorParams.type.read?.(own, 'annotator_params') as JsonObject | undefined;
  const expressions = new Form({ pre, post });
  const preExpression = expressions.text('pre') ?? '';
  const postExpression = expressions.text('post') ?? '';
  for (const one of [own, expressions])
    form.absorbInto('annotator_params', one, (name, messages) => `${name}: ${messages}`);
  form.done();
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
