import type { DatasetField } from '../../core/dataset-field.js';
import { budgets } from '../../core/budgets.js';
import { AppError, invalidError, type FieldErrors } from '../../core/errors.js';
import { genomeBuildNamed, knownBuildsText, buildSuggestionText } from '../../core/build-names.js';
import { parseEntities, type GeneNames } from './entities.js';
import { explainTree, type ExplainedRequest } from './condition-tree.js';
import { parseFacets, type Facet } from './facet-request.js';
import { fieldRef, indexFields, unknownFieldMessage, type FieldIndex } from './field-index.js';
import { parseFilters, type FilterRules } from './filter.js';
import {
  all,
  and,
  freezePredicate,
  or,
  type FieldRef,
  type Predicate,
  type ScoreClause,
} from '../predicate/predicate.js';
import { Problem, errorOfProblem, valueForMessage } from './problem.js';
import type { CursorProgress } from './position.js';
import { scoreClausesOf } from '../text/relevance.js';
import { parseQueryString } from './query-string.js';

/** A parsed query. All its parts have been checked against the fields of the dataset. */
export interface QueryRequest {
  readonly predicate: Predicate;
  /** The clauses that rank the records; used if there is no ordering. */
  readonly scoreClauses: readonly ScoreClause[];
  /** The paths of the fields to return, in the order of the request; null: all fields, with `_id` and `_commit`. */
  readonly fields: readonly (readonly string[])[] | null;
  readonly excludeFields: readonly (readonly string[])[];
  readonly ordering: readonly OrderKey[];
  readonly limit: number;
  readonly offset: number;
  /** How far the client has read with a cursor; absent for a single page. */
  readonly cursor?: CursorProgress;
  /** The facets; null if the request has none. */
  readonly facets: readonly Facet[] | null;
  /** The conditions as the request writes them; present if the answer is to be explained. */
  readonly explain?: ExplainedRequest;
}

/** A key of an ordering; records without a value come last in both directions. */
export interface OrderKey {
  readonly field: FieldRef;
  readonly descending: boolean;
}

/**
 * Parses the body of a query (contract 8.1), whose keys have been checked. All mistakes are reported together in one `invalid` or `budget`
 * error, with one key per part of the request.
 */
export function parseQuery(
  body: unknown,
  fields: readonly DatasetField[],
  genes?: GeneNames,
): QueryRequest {
  return parseRequest(body, fields, genes, pageLimitRule);
}

/** The parts of a request that a query of a file does not support (contract 6.7). */
const keysRefusedForFiles = ['query', 'entities', 'facets', 'cursor'] as const;

/** The delimiter of the lines in which the results of a query of a file are written; undefined for JSON. */
type OutputDelimiter = ',' | '\t' | undefined;

/** The output formats of queries of files, with their delimiters. */
export const outputDelimiters: ReadonlyMap<string, OutputDelimiter> = new Map([
  ['json', undefined],
  ['csv', ','],
  ['tsv', '\t'],
] as const);

/** Parses the output format of a query of a file, and rejects the parts of the request that such a query does not support. */
export function parseOutput(input: unknown): OutputDelimiter {
  const body = requireBody(input);
  const refusedKeys = keysRefusedForFiles.filter((key) => isNonEmpty(body[key]));
  if (refusedKeys.length > 0) {
    const messages = refusedKeys.map(
      (key) => [key, ['Not supported in a query of a file']] as const,
    );
    throw new AppError(
      'invalid',
      `Not supported in a query of a file: ${refusedKeys.join(', ')}`,
      Object.fromEntries(messages),
    );
  }
  const format = body['output_format'];
  if (!isNonEmpty(format)) return undefined;
  if (!outputDelimiters.has(format as string))
    throw invalidError('output_format', `Expected json, csv or tsv, not ${valueForMessage(format)}`); // prettier-ignore
  return outputDelimiters.get(format as string);
}

/**
 * Parses the body of a query of a file: a dataset query without the parts that `parseOutput` rejects, regular expressions, and the reserved
 * fields. Choice: if all values of the file are strings, the actions on numbers (such as `gt` and `range`) compare the numbers that the
 * strings spell, and a cell that is not a number satisfies none of them. `ordering` works as for a dataset.
 */
export function parseFileQuery(
  body: unknown,
  fields: readonly DatasetField[],
  isAllText: boolean,
): QueryRequest {
  const refusedActions = new Set(['regexp', 'regex']);
  const request = parseRequest(body, fields, undefined, pageLimitRule, {
    refused: refusedActions,
    isAllText,
  });
  return { ...request, excludeFields: [...request.excludeFields, ['_id'], ['_commit']] };
}

const pageLimitRule = { defaultValue: 100, smallest: 0, largest: 'pageLimit' } as const;

/**
 * Parses the body of a search of the catalogue. `entities`, `genome_build` and `explain` are ignored, because they concern the records of
 * datasets.
 */
export function parseDocumentQuery(body: unknown, index: FieldIndex): QueryRequest {
  const givenBody = { ...requireBody(body), entities: null, genome_build: null, explain: null };
  return parseWithIndex(givenBody, index, undefined, pageLimitRule);
}

/** Parses the `params` of an export: a query without facets, offset and explanation, which by default returns every record. */
export function parseExportParams(
  params: unknown,
  fields: readonly DatasetField[],
  genes?: GeneNames,
): QueryRequest {
  const rule = { ...everyRecordLimitRule, largest: 'exportLimit' } as const;
  refuseFacetsAndOffset(params, 'an export');
  const request = parseRequest(params, fields, genes, rule);
  refuseExplanation(request, 'an export');
  const isSafe = (params as RequestBody | null)?.['csv_safe'] ?? false;
  if (typeof isSafe !== 'boolean')
    throw invalidError('csv_safe', `Expected true or false, not ${valueForMessage(isSafe)}`);
  return request;
}

/** Parses the `source_params` of a migration: the same as the params of an export, with any limit. */
export function parseMigrationParams(
  params: unknown,
  fields: readonly DatasetField[],
  genes?: GeneNames,
): QueryRequest {
  refuseFacetsAndOffset(params, 'a migration');
  const request = parseRequest(params, fields, genes, everyRecordLimitRule);
  refuseExplanation(request, 'a migration');
  return request;
}

const everyRecordLimitRule = { defaultValue: Number.MAX_SAFE_INTEGER, smallest: 1 } as const;

function refuseExplanation({ explain }: QueryRequest, where: string): void {
  if (explain) throw invalidError('explain', `Not supported in ${where}`);
}

function refuseFacetsAndOffset(params: unknown, where: string): void {
  const givenParams = params as RequestBody | null;
  const refusedKeys = (['facets', 'offset'] as const).filter((key) =>
    isNonEmpty(givenParams?.[key]),
  );
  if (refusedKeys.length === 0) return;
  const messages = refusedKeys.map((key) => [key, [`Not supported in ${where}`]] as const);
  throw new AppError(
    'invalid',
    `Not supported in ${where}: ${refusedKeys.join(', ')}`,
    Object.fromEntries(messages),
  );
}

type RequestBody = Readonly<Record<string, unknown>>;
interface LimitRule {
  readonly defaultValue: number;
  readonly smallest: number;
  /** The budget that is the maximum of the given number; absent if there is no maximum. */
  readonly largest?: 'pageLimit' | 'exportLimit';
}

function parseRequest(
  input: unknown,
  rows: readonly DatasetField[],
  genes: GeneNames | undefined,
  rule: LimitRule,
  filterRules?: FilterRules,
): QueryRequest {
  const index = indexFields(rows, filterRules === undefined);
  return parseWithIndex(input, index, genes, rule, filterRules);
}

function parseWithIndex(
  input: unknown,
  index: FieldIndex,
  genes: GeneNames | undefined,
  rule: LimitRule,
  filterRules?: FilterRules,
): QueryRequest {
  const startedAt = performance.now();
  const body = requireBody(input);
  const errors: AppError[] = [];
  // Every part is parsed even after an error, so that one answer reports all errors.
  const part = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      errors.push(error);
      return undefined as T;
    }
  };
  part(() => refuseAnnotation(body));
  const filters = part(() => parseFilters(body['filters'], index, filterRules));
  const query = part(() => parseQueryString(body['query'], index));
  const wantedBuild = typeof body['genome_build'] === 'string' ? body['genome_build'].toUpperCase() : ''; // prettier-ignore
  const names = { genes, build: wantedBuild === '' ? null : wantedBuild };
  const entities = part(() => parseEntities(body['entities'], index, names));
  const build = part(() => genomeBuildPredicate(body['genome_build'], index));
  const isExplained = part(() => readFlag('explain', body['explain']));
  const request: QueryRequest = {
    predicate: and([filters ?? all, query?.predicate ?? all, entities ?? all, build ?? all]),
    scoreClauses: [...scoreClausesOf(filters ?? all), ...(query?.scores ?? [])],
    fields: part(() => fieldPaths('fields', body['fields'], index)),
    excludeFields: part(() => excludedPaths(body['exclude_fields'], index)),
    ordering: part(() => parseOrdering(body['ordering'], index)),
    limit: part(() => readCount('limit', body['limit'], rule)),
    offset: part(() => readCount('offset', body['offset'], { defaultValue: 0, smallest: 0 })),
    facets: part(() => parseFacets(body['facets'], index)),
  };
  if (errors.length > 0) throw mergeErrors(errors);
  if (!isExplained) return request;
  const context = { index, names, rules: filterRules };
  const givenBuild = isNonEmpty(body['genome_build'])
    ? { value: body['genome_build'] as string, predicate: build }
    : null;
  const { filters: list, query: text, entities: pairs } = body;
  const root = explainTree(
    { filters: list, query: text, entities: pairs, build: givenBuild },
    context,
  );
  return { ...request, explain: { ...context, root, parseMs: performance.now() - startedAt } };
}

/** Parses a boolean, also given as the string `true` or `false`; false if absent. */
function readFlag(key: string, input: unknown): boolean {
  if (input === undefined || input === null || input === '') return false;
  const word = typeof input === 'string' ? input.toLowerCase() : input;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw invalidError(key, `Expected true or false, not ${valueForMessage(input)}`);
}

/** Rejects computed fields and annotation expressions, which would be ignored: callers that support them remove them before. */
function refuseAnnotation(body: RequestBody): void {
  const why = 'has no effect inside these parameters: send it beside them';
  if (isNonEmpty(body['target_fields']))
    throw invalidError('target_fields', `target_fields ${why}`);
  const params = body['annotator_params'];
  if (typeof params !== 'object' || params === null) return;
  for (const key of ['pre_annotation_expression', 'post_annotation_expression'])
    if (isNonEmpty((params as RequestBody)[key]))
      throw invalidError('annotator_params', `${key} ${why}`);
}

/** Returns false for undefined, null, and an empty string, list or object, which clients send for optional parts that they do not use. */
function isNonEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  if (typeof value === 'object') return Object.keys(value).length > 0;
  return true;
}

function requireBody(input: unknown): RequestBody {
  if (input === undefined || input === null) return {};
  if (typeof input !== 'object' || Array.isArray(input)) {
    throw new AppError('invalid', 'The query must be a JSON object', {
      non_field_errors: ['The query must be a JSON object'],
    });
  }
  return input as RequestBody;
}

function mergeErrors(errors: readonly AppError[]): AppError {
  const fields: FieldErrors = Object.fromEntries(
    errors.flatMap((error) => Object.entries(error.fields ?? {})),
  );
  return new AppError(errors[0]!.code, errors.map((error) => error.message).join('; '), fields);
}

/** Parses a list of names; a single name stands for a list of one. Returns null if absent. */
function readNames(key: string, input: unknown): readonly string[] | null {
  if (!isNonEmpty(input)) return null;
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (list.length > budgets.filterNodes)
    throw errorOfProblem(
      key,
      key,
      new Problem(
        `A list of field names takes at most ${budgets.filterNodes}, not ${list.length}: name fewer, or send several requests`,
        true,
      ),
    );
  return list.map((name) => {
    if (typeof name !== 'string')
      throw invalidError(key, `Expected field names, not ${valueForMessage(name)}`);
    return name;
  });
}

function fieldPaths(
  key: string,
  input: unknown,
  index: FieldIndex,
): readonly (readonly string[])[] | null {
  const wantedNames = readNames(key, input);
  if (!wantedNames) return null;
  return wantedNames.map((name) => {
    const field = index.find(name);
    if (!field) throw invalidError(key, unknownFieldMessage(name, index));
    return field.path;
  });
}

/** Returns the paths of the excluded fields; unknown names are ignored. */
function excludedPaths(input: unknown, index: FieldIndex): readonly (readonly string[])[] {
  return (readNames('exclude_fields', input) ?? []).flatMap((name) => {
    const field = index.find(name);
    return field ? [field.path] : [];
  });
}

function parseOrdering(input: unknown, index: FieldIndex): readonly OrderKey[] {
  return (readNames('ordering', input) ?? []).map((name) => {
    // A field whose name starts with a minus sign takes precedence over descending order.
    const descending = !index.find(name) && name.startsWith('-');
    const field = index.find(descending ? name.slice(1) : name);
    if (!field) {
      throw invalidError('ordering', unknownFieldMessage(descending ? name.slice(1) : name, index));
    }
    if (unorderableTypes.has(field.dataType)) {
      throw invalidError(
        'ordering',
        `Cannot order by ${field.name}, which is of type ${field.dataType}`,
      );
    }
    return { field: fieldRef(field), descending };
  });
}

const unorderableTypes: ReadonlySet<string> = new Set(['text', 'blob', 'object']);

function readCount(key: string, input: unknown, rule: LimitRule): number {
  if (input === undefined || input === null) return rule.defaultValue;
  const text = typeof input === 'object' ? '' : String(input as string | number).trim();
  const number = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < rule.smallest) {
    throw invalidError(
      key,
      `Expected a whole number from ${rule.smallest}, not ${valueForMessage(input)}`,
    );
  }
  const { largest } = rule;
  if (largest !== undefined && number > budgets[largest])
    throw invalidError(
      key,
      `A ${key} is at most ${budgets[largest]}, not ${number}: ${largest === 'pageLimit' ? 'read the other records as further pages, with cursor or offset' : 'leave it out to export all records'}`,
    );
  return number;
}

/** Excludes records of another genome build. Records and datasets without a build are not restricted. */
function genomeBuildPredicate(input: unknown, index: FieldIndex): Predicate {
  if (!isNonEmpty(input)) return all;
  const build = genomeBuildNamed(input)?.toUpperCase();
  if (build === undefined)
    throw invalidError('genome_build', `Expected ${knownBuildsText}, not ${valueForMessage(input)}.${buildSuggestionText(input)}`); // prettier-ignore
  const row = index.find('genomic_coordinates.build');
  if (row?.dataType !== 'string') return all;
  const field = fieldRef(row);
  const equal = freezePredicate({ kind: 'in', field, values: [build], ignoreCase: true });
  return or([freezePredicate({ kind: 'missing', field }), equal]);
}
