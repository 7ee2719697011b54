import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import {
  compileFields,
  compileNamed,
  variableNames,
} from '../../../engine/expression/annotate/fields.js';
import type { Expression } from '../../../engine/expression/expression.js';
import { runQuery } from '../../../engine/query/plan/query.js';
import { indexFields } from '../../../engine/query/request/fields.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import { Form, isObject } from '../../http/form.js';
import { JsonText } from '../../http/reply.js';
import type { FunctionScope } from '../expressions/function-scope.js';
import { readComputedFields } from '../expressions/read-requests.js';
import { runExpressions, type RequestedTask } from '../expressions/run-expressions.js';
import { annotatorParams } from '../imports/import-params.js';
import { queryPage, requestedData } from './query-records.js';

type Body = Readonly<Record<string, unknown>>;

/** Whether a query computes fields or records of those that it finds. */
export function isAnnotated(body: unknown): body is Body {
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
  body: Body,
): Promise<JsonText> {
  const { head, results, tail } = await annotated(scope, dataset, body, ',');
  return new JsonText(`${head}[${results}]${tail}`);
}

/** The records of such a query as JSON lines. */
export async function annotatedLines(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: Body,
): Promise<string> {
  const { results } = await annotated(scope, dataset, body, '\n');
  return results === '' ? '' : `${results}\n`;
}

async function annotated(
  scope: FunctionScope,
  dataset: DatasetRow,
  body: Body,
  separator: ',' | '\n',
) {
  const { context, signal } = scope;
  const { fields } = await requestedData(context, dataset, body);
  const { query, task } = readAnnotation(body, fields);
  const { head, results, tail } = await queryPage(context, dataset, query, signal, runQuery, body);
  const annotatedResults = await runExpressions(scope, 'page', {
    ...task,
    records: results,
    separator,
    sourceDataset: String(dataset.id),
  });
  return { head, results: annotatedResults, tail };
}

/** The query that finds what expressions read, and the task that computes. */
interface PageAnnotation {
  readonly query: Body;
  readonly task: Omit<RequestedTask<'page'>, 'records' | 'separator' | 'sourceDataset'>;
}

function readAnnotation(body: Body, fields: readonly FieldRow[]): PageAnnotation {
  const { target_fields: targets, annotator_params: params, ...query } = body;
  const form = new Form({ target_fields: targets ?? [], annotator_params: params ?? {} });
  const computed = readComputedFields(form, 'target_fields');
  const { pre_annotation_expression: pre, post_annotation_expression: post, ...others } = form.object('annotator_params') ?? {}; // prettier-ignore
  const own = new Form({ annotator_params: others });
  const settings = annotatorParams.type.read?.(own, 'annotator_params') as Body | undefined;
  const expressions = new Form({ pre, post });
  const preExpression = expressions.text('pre') ?? '';
  const postExpression = expressions.text('post') ?? '';
  for (const one of [own, expressions])
    form.absorbInto('annotator_params', one, (name, messages) => `${name}: ${messages}`);
  form.done();
  const constants = (Array.isArray(targets) ? targets : []).map((one: Body) => ({ expression: one['expression'] })); // prettier-ignore
  const data = settings?.['data'] ?? {};
  const names = Object.keys(data as object);
  const compiled = compiledExpressions({ fields: computed, preExpression, postExpression }, names);
  refuseComputed(query, new Set(computed.map(({ name }) => name)));
  // Each field may read its own value.
  const reads = [
    ...compiled.flatMap(({ pathsNamed }) => pathsNamed),
    ...computed.map(({ name }) => [name]),
  ];
  const { selection, dropped } = withReads(query, fields, reads, computed);
  return {
    query: { ...query, ...selection },
    task: {
      fields: computed,
      includeErrors: settings?.['include_errors'] !== false,
      preExpression,
      postExpression,
      body: stringifyJson({ fields: constants, data }),
      schema: fields.map(({ path }) => path),
      floats: fields
        .filter(({ dataType }) => dataType === 'double' || dataType === 'float')
        .map(({ path }) => path),
      dropped,
    },
  };
}

/** All expressions, compiled. Throws a 400 that names the field with a mistake. */
function compiledExpressions(
  { fields, preExpression, postExpression }: Pick<RequestedTask<'page'>, 'fields' | 'preExpression' | 'postExpression'>, // prettier-ignore
  dataNames: readonly string[],
): readonly Expression[] {
  const fail = (key: string, work: () => readonly Expression[]): readonly Expression[] => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
      throw invalid(key, error.message);
    }
  };
  const named = fields.map(({ isConstant, ...field }) => ({
    ...field,
    expression: isConstant ? { constant: null } : field.expression,
  }));
  return [
    ...fail('target_fields', () =>
      compileFields(named, dataNames).flatMap(({ expression }) => expression ?? []),
    ),
    ...fail('annotator_params', () =>
      Object.entries({
        pre_annotation_expression: preExpression,
        post_annotation_expression: postExpression,
      })
        .filter(([, text]) => text.trim() !== '')
        .map(([name, text]) => compileNamed(name, text, { variables: variableNames(dataNames) })),
    ),
  ];
}

/** Throws a 400 if a query finds, sorts or counts by a field that it computes itself. */
function refuseComputed(query: Body, names: ReadonlySet<string>): void {
  const { filters, ordering, facets } = query;
  const why = (name: string): string =>
    `${name} is computed by target_fields of this query, after the records are found: compute it in the dataset with a migration to find, sort or count by it.`;
  const isComputed = (text: string): string | undefined =>
    [...names].find((name) => text === name || text.startsWith(`${name}__`));
  const inFilters = textsIn(filters).map(isComputed).find(Boolean);
  if (inFilters !== undefined) throw invalid('filters', why(inFilters));
  const inOrdering = textsIn(ordering).map((text) => isComputed(text.replace(/^-/, ''))).find(Boolean); // prettier-ignore
  if (inOrdering !== undefined) throw invalid('ordering', why(inOrdering));
  const asked = isObject(facets) ? Object.keys(facets) : textsIn(facets);
  const inFacets = asked.find((name) => names.has(name));
  if (inFacets !== undefined) throw invalid('facets', why(inFacets));
}

/** The names of fields in a list of filters or of names: the first elements of pairs, and single texts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) {
    const isPair = value.length === 2 && typeof value[0] === 'string' && !isObject(value[1]);
    return isPair ? [String(value[0])] : value.flatMap(textsIn);
  }
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Adds to `fields` of a query what expressions name, and takes it out of `exclude_fields`. Paths that are in the records for expressions
 * alone are dropped afterwards. Choice: an object that an expression needs as a whole is returned as a whole.
 */
function withReads(
  query: Body,
  fields: readonly FieldRow[],
  reads: readonly (readonly string[])[],
  computed: readonly { readonly name: string }[],
): { readonly selection: Body; readonly dropped: readonly (readonly string[])[] } {
  const index = indexFields(fields);
  const isComputed = (name: string): boolean => computed.some((one) => one.name === name);
  const listed = (key: string): readonly string[] | undefined => {
    const value = query[key];
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    return list.filter((name): name is string => typeof name === 'string');
  };
  const readable = [...reservedColumns.map(({ name }) => ({ name, path: [name] })), ...fields];
  const needed = reads.flatMap((path) => fieldAt(readable, path) ?? []);
  const requested = listed('fields');
  const excluded = listed('exclude_fields') ?? [];
  const pathOf = (name: string): readonly string[] => index.find(name)?.path ?? [name];
  const hidden = excluded.filter((name) => needed.some(({ path }) => covers(pathOf(name), path) || covers(path, pathOf(name)))); // prettier-ignore
  const kept = excluded.filter((name) => !hidden.includes(name));
  const stored = requested?.filter((name) => !isComputed(name) || index.find(name) !== undefined);
  const added = stored === undefined ? [] : needed.filter(({ path }) => !stored.some((name) => covers(pathOf(name), path))); // prettier-ignore
  const alone = added.filter(({ path }) => !stored!.some((name) => covers(path, pathOf(name))));
  const isEmpty = stored !== undefined && stored.length + added.length === 0;
  return {
    selection: {
      ...(excluded.length > 0 && { exclude_fields: kept }),
      ...(stored && { fields: isEmpty ? ['_id'] : [...stored, ...added.map(({ name }) => name)] }),
    },
    dropped: [
      // Objects that nothing else is requested of go as a whole.
      ...alone.map(({ path }) => shortest(path, stored!.map(pathOf))),
      ...hidden.map(pathOf),
      ...(isEmpty ? [['_id']] : []),
    ],
  };
}

/** The field that has what is at a path: the one there, or the nearest one around it. */
function fieldAt<F extends Pick<FieldRow, 'path'>>(
  fields: readonly F[],
  path: readonly string[],
): F | undefined {
  for (let length = path.length; length > 0; length--) {
    const found = fields.find((field) => field.path.length === length && covers(field.path, path));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The beginning of a path that leads to none of `others`. */
function shortest(
  path: readonly string[],
  others: readonly (readonly string[])[],
): readonly string[] {
  const end = path.findIndex(
    (_, i) => !others.some((other) => covers(path.slice(0, i + 1), other)),
  );
  return path.slice(0, end + 1);
}

/** Whether a path is another one or leads to it. */
function covers(path: readonly string[], other: readonly string[]): boolean {
  return path.length <= other.length && path.every((name, i) => name === other[i]);
}
