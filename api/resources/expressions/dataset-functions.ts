import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { runQuery, streamQuery } from '../../../engine/query/plan/query.js';
import type { QueryAnswer } from '../../../engine/query/results/answer.js';
import { indexFields, unknownField } from '../../../engine/query/request/fields.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/request.js';
import type { HostAnswer, HostCall } from '../../../scheduler/expressions/protocol.js';
import type { VisibleData } from '../../../scheduler/jobs/visible-data.js';
import { answerTo } from '../../http/errors.filter.js';
import { requireResource } from '../../http/require-resource.js';
import { logLine } from '../../http/log.js';
import { datasetByIdOrPath } from '../records/dataset-by-path.js';
import { readableData, unlessDeleted } from '../records/query-records.js';
import { beacon } from './beacon-function.js';
import type { FunctionScope } from './function-scope.js';

/** A dataset function: arguments in the order of its declaration, null where not given. */
type DatasetFunction = (scope: FunctionScope, args: readonly unknown[]) => Promise<HostAnswer>;

/** The most records or values that one call returns. */
const maxRecords = 100_000;
/** The most records of a request over HTTP, which `parseQuery` holds to. */
const pageRecords = 10_000;
/** The longest answer, in characters of JSON: more would exceed the memory of an evaluation. */
const maxAnswerLength = 16_000_000;

/**
 * Answers the dataset functions of expressions (specification of expressions, section 8.2) with the rights of a caller. Throws an
 * `AppError` whose message is for users: for a dataset that is missing or that the caller may not read, the same.
 */
export async function answerHostCall(scope: FunctionScope, call: HostCall): Promise<HostAnswer> {
  const args = parseJson(call.args) as readonly unknown[];
  try {
    const work = functions[call.name];
    if (work === undefined) throw new Error(`no function ${call.name}`);
    const answer = await work(scope, args);
    refuseLarge(answer.json.length);
    return answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found')
      throw new AppError('not-found', `there is no ${missingThing(call.name, args[0])}`); // prettier-ignore
    if (!answerTo(error).isBug) throw error;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scope.context.log(logLine('error', { function: call.name, error: text }));
    throw new AppError('internal', 'Internal server error');
  }
}

function missingThing(name: string, first: unknown): string {
  if (name === 'beacon') return 'such beacon set';
  return `${name === 'template' ? 'template' : 'dataset'} ${shown(first)}`;
}

const functions: Readonly<Record<string, DatasetFunction>> = {
  dataset_query: async (scope, [dataset, fields, limit, entities, filters, query, ordering]) => {
    const opened = await openDataset(scope, dataset);
    const body = { fields, entities, filters, query, ordering };
    const json = await opened.records(body, numberOf('limit', limit, 1));
    const isFloat = ({ dataType }: FieldRow): boolean => floats.has(dataType);
    return { json, floats: opened.fields.filter(isFloat).map(({ path }) => path) };
  },

  dataset_count: async (scope, [dataset, entities, filters, query]) => {
    const opened = await openDataset(scope, dataset);
    const { total } = await opened.run({ entities, filters, query }, { limit: 0 });
    return { json: String(total), floats: [] };
  },

  dataset_field_values: async (scope, [dataset, name, limit, ...selection]) => {
    const opened = await openDataset(scope, dataset);
    const field = opened.field(name);
    const wanted = numberOf('limit', limit, 10);
    const values: unknown[] = [];
    const body = { ...selectionOf(selection), fields: [field.name] };
    for (let offset = 0; values.length < wanted;) {
      // Many records may be without a value.
      const page = Math.max(wanted - values.length, 1000);
      // The order of the records, not that of relevance.
      const answer = await opened.run(body, { limit: page, offset, scores: [] });
      for (const record of parseJson(answer.results) as readonly unknown[])
        values.push(...valuesAt(record, field.path));
      if (answer.offset === null) break;
      offset = answer.offset;
    }
    const isFloat = floats.has(field.dataType);
    return { json: stringifyJson(values.slice(0, wanted)), floats: isFloat ? [[]] : [] };
  },

  dataset_field_top_terms: async (scope, [dataset, name, limit, ...selection]) => {
    const opened = await openDataset(scope, dataset);
    const field = opened.field(name);
    const wanted = numberOf('limit', limit, 10);
    const options = { facet_type: 'terms', limit: Math.max(1, wanted) };
    const terms = (await opened.facet(field, options, selectionOf(selection))) as Terms;
    const items = terms.slice(0, wanted).map(([term, count]) => ({ term, count }));
    return { json: stringifyJson(items), floats: floats.has(field.dataType) ? [['term']] : [] };
  },

  dataset_field_terms_count: async (scope, [dataset, name, ...selection]) => {
    const opened = await openDataset(scope, dataset);
    const count = await opened.facet(
      opened.field(name),
      { facet_type: 'count' },
      selectionOf(selection),
    );
    return { json: stringifyJson(count), floats: [] };
  },

  dataset_entity_top_terms: async (scope, [dataset, entity, limit, filters, query]) => {
    const opened = await openDataset(scope, dataset);
    const type = String(entity).toLowerCase();
    const fields = opened.fields.filter(({ entityType }) => entityType === type);
    if (fields.length === 0) return { json: 'null', floats: [] };
    const wanted = numberOf('limit', limit, 1000);
    const counts = new Map<unknown, number>();
    for (const field of fields) {
      // The counts of several fields are added, so each has to give all of its terms.
      const options = { facet_type: 'terms', limit: fields.length > 1 ? 0 : Math.max(1, wanted) };
      const terms = (await opened.facet(field, options, { filters, query })) as Terms;
      for (const [term, count] of terms) counts.set(term, (counts.get(term) ?? 0) + count);
    }
    const sorted = [...counts].toSorted(
      ([a, m], [b, n]) => n - m || (String(a) < String(b) ? -1 : 1),
    );
    return { json: stringifyJson(sorted.slice(0, wanted).map(([term]) => term)), floats: [] };
  },

  dataset_field_stats: async (scope, [dataset, name, ...selection]) => {
    const opened = await openDataset(scope, dataset);
    const field = opened.field(name);
    const options = { facet_type: 'stats' };
    const stats = (await opened.facet(field, options, selectionOf(selection))) as StatsAnswer;
    const { count, min, max, avg, sum } = stats;
    const isEmpty = count === 0;
    const json = stringifyJson({ count, min, max, avg, sum: isEmpty ? null : sum });
    const own = floats.has(field.dataType) ? [['min'], ['max'], ['sum']] : [];
    return { json, floats: [['avg'], ...own] };
  },

  dataset_field_percentiles: async (scope, [dataset, name, percents, ...selection]) => {
    const opened = await openDataset(scope, dataset);
    const options = { facet_type: 'percentiles', percents };
    const field = opened.field(name);
    const found = (await opened.facet(field, options, selectionOf(selection))) as object;
    return { json: stringifyJson(found), floats: Object.keys(found).map((key) => [key]) };
  },

  prevalence: async (scope, [dataset, entity, name, filters]) => {
    const opened = await openDataset(scope, dataset);
    const field = opened.field(name, 'sample_field');
    if (!Array.isArray(entity) || entity.length !== 2)
      throw invalid('entity', 'entity must be a pair of an entity type and a value');
    const options = { facet_type: 'count' };
    const all = (await opened.facet(field, options, { filters })) as number;
    if (all === 0) return { json: 'null', floats: [] };
    const own = (await opened.facet(field, options, { filters, entities: [entity] })) as number;
    return { json: String(own / all), floats: [[]] };
  },

  beacon: (scope, args) => beacon(scope, args),

  template: async ({ context, caller }, [id]) => {
    const { fields } = await requireResource(context.catalog, caller, 'template', Number(id), 'read'); // prettier-ignore
    return { json: stringifyJson(fields), floats: [] };
  },
};

/** The keys of a query. */
type QueryKeys = Readonly<Record<string, unknown>>;
/** What replaces parts of a parsed query; the limit may be larger than that of a request over HTTP. */
type Replaced = Partial<QueryRequest> & { readonly limit: number };

type Terms = readonly (readonly [term: unknown, count: number])[];
type StatsAnswer = Readonly<
  Record<'count' | 'min' | 'max' | 'avg' | 'sum', number | bigint | null>
>;

const floats: ReadonlySet<string> = new Set(['float', 'double']);

/** A dataset at one version, as functions read it. */
class OpenedDataset {
  readonly #scope: FunctionScope;
  readonly #dataset: DatasetRow;
  readonly #data: VisibleData;

  constructor(scope: FunctionScope, dataset: DatasetRow, data: VisibleData) {
    this.#scope = scope;
    this.#dataset = dataset;
    this.#data = data;
  }

  get fields(): readonly FieldRow[] {
    return this.#data.fields;
  }

  field(name: unknown, argument = 'field'): FieldRow {
    const index = indexFields(this.fields);
    const field = typeof name === 'string' ? index.find(name) : undefined;
    if (field !== undefined) return field as FieldRow;
    throw invalid(argument, unknownField(typeof name === 'string' ? name : shown(name), index));
  }

  /** Runs a query; `more` replaces parts of it after it is parsed. */
  async run(body: QueryKeys, more: Replaced): Promise<QueryAnswer> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.#parsed(body, more);
    return unlessDeleted(context, this.#dataset, () =>
      runQuery(context.queryEngine, snapshot, fields, request, { signal }),
    );
  }

  /** The records that a query finds, as a JSON list. They are made in pieces, so that a list that is too long ends early. */
  async records(body: QueryKeys, limit: number): Promise<string> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.#parsed(body, { limit });
    return unlessDeleted(context, this.#dataset, async () => {
      const { queryEngine } = context;
      const { results } = await streamQuery(queryEngine, snapshot, fields, request, { signal });
      if (typeof results === 'string') return results;
      const pieces: Uint8Array[] = [];
      let length = 0;
      for await (const piece of results) {
        length += piece.length;
        refuseLarge(length);
        pieces.push(piece);
      }
      return Buffer.concat(pieces).toString('utf8');
    });
  }

  async #parsed(body: QueryKeys, more: Replaced): Promise<QueryRequest> {
    const limit = Math.min(more.limit, pageRecords);
    const genes = await genesForQuery(body);
    return { ...parseQuery({ ...body, limit }, this.fields, genes), ...more };
  }

  /** The answer of one facet. */
  async facet(field: FieldRow, options: object, selection: QueryKeys): Promise<unknown> {
    const facets = { [field.name]: options };
    const answer = await this.run({ ...selection, facets }, { limit: 0 });
    return (parseJson(answer.facets!) as Readonly<Record<string, unknown>>)[field.name];
  }
}

function refuseLarge(length: number): void {
  if (length <= maxAnswerLength) return;
  throw new AppError('budget', 'the answer is larger than 16 MB: ask for fewer records or fields');
}

async function openDataset(scope: FunctionScope, idOrPath: unknown): Promise<OpenedDataset> {
  const { context, caller, signal } = scope;
  signal.throwIfAborted();
  const dataset = await datasetByIdOrPath(context, caller, idOrPath);
  return new OpenedDataset(scope, dataset, await readableData(context, dataset));
}

/** The arguments that select records, which stand last in most functions. */
function selectionOf([entities, filters, query]: readonly unknown[]): QueryKeys {
  return { entities, filters, query };
}

/** A number of records or values: at most 100,000 are returned. */
function numberOf(name: string, value: unknown, initial: number): number {
  if (value === null || value === undefined) return initial;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalid(name, `${name} must be a whole number from 0, not ${shown(value)}`);
  return Math.min(value, maxRecords);
}

/** The values of a record at a path that are not empty, those of lists one by one. */
function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path));
  if (path.length === 0) return [value];
  const [name, ...rest] = path;
  return valuesAt((value as Readonly<Record<string, unknown>>)[name!], rest);
}

function shown(value: unknown): string {
  return stringifyJson(value).slice(0, 200);
}
