import { AppError, invalid } from '../../../engine/core/errors.js';
import { unpackTexts } from '../../../engine/core/packed-texts.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type {
  HostAnswer,
  HostCall,
  HostReply,
  HostRequest,
} from '../../../scheduler/expressions/protocol.js';
import { packAnswers } from '../../../scheduler/expressions/packed.js';
import { answerTo } from '../../http/errors.filter.js';
import { requireResource } from '../../http/require-resource.js';
import { logLine } from '../../http/log.js';
import { beaconAnswer } from './beacon-function.js';
import { answerHostBatch } from './call-batches.js';
import { answerFormBatch } from './form-batches.js';
import type { FunctionScope } from './function-scope.js';
import { floatPaths, isFloat, numberOf, valuesAt } from './function-values.js';
import { openDataset, refuseLarge, shownValue, type QueryKeys } from './opened-dataset.js';

/** A dataset function: arguments in the order of its declaration, null where not given. */
type DatasetFunction = (scope: FunctionScope, args: readonly unknown[]) => Promise<HostAnswer>;

/**
 * Answers a dataset function of expressions (specification of expressions, section 8.2) with the rights of a caller. Throws an
 * `AppError` whose message is for users: for a dataset that is missing or that the caller may not read, the same.
 */
async function answerHostCall(scope: FunctionScope, call: HostCall): Promise<HostAnswer> {
  const args = parseJson(call.args) as readonly unknown[];
  return forUsers(scope, call.name, async () => {
    try {
      const work = functions[call.name];
      if (work === undefined) throw new Error(`no function ${call.name}`);
      const answer = await work(scope, args);
      refuseLarge(answer.json.length);
      return answer;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not-found')
        throw new AppError('not-found', `there is no ${missingThing(call.name, args[0])}`); // prettier-ignore
      throw error;
    }
  });
}

/** Answers what a thread asks: a call, or the calls of a batch as far as few queries answer them. */
export function answerHostRequest(scope: FunctionScope, request: HostRequest): Promise<HostReply> {
  if (!('batch' in request)) return answerHostCall(scope, request);
  const { batch, form } = request;
  return forUsers(scope, 'a batch of calls', async () =>
    form === undefined
      ? packAnswers(await answerHostBatch(scope, unpackTexts(batch)))
      : answerFormBatch(scope, form, batch),
  );
}

/** Runs work for an expression. An error that is a bug of ours is logged, and users get another one. */
async function forUsers<T>(scope: FunctionScope, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!answerTo(error).isBug) throw error;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scope.context.log(logLine('error', { function: name, error: text }));
    throw new AppError('internal', 'Internal server error');
  }
}

function missingThing(name: string, first: unknown): string {
  if (name === 'beacon') return 'such beacon set';
  return `${name === 'template' ? 'template' : 'dataset'} ${shownValue(first)}`;
}

const functions: Readonly<Record<string, DatasetFunction>> = {
  dataset_query: async (scope, [dataset, fields, limit, entities, filters, query, ordering]) => {
    const openedDataset = await openDataset(scope, dataset);
    const body = { fields, entities, filters, query, ordering };
    const json = await openedDataset.records(body, numberOf('limit', limit, 1));
    return { json, floats: floatPaths(openedDataset.fields) };
  },

  dataset_count: async (scope, [dataset, entities, filters, query]) => {
    const openedDataset = await openDataset(scope, dataset);
    const { total } = await openedDataset.run({ entities, filters, query }, { limit: 0 });
    return { json: String(total), floats: [] };
  },

  dataset_field_values: async (scope, [dataset, name, limit, ...selection]) => {
    const openedDataset = await openDataset(scope, dataset);
    const field = openedDataset.field(name);
    const valueLimit = numberOf('limit', limit, 10);
    const values: unknown[] = [];
    const body = { ...selectionOf(selection), fields: [field.name] };
    for (let offset = 0; values.length < valueLimit;) {
      // Reads at least this many records, because many of them may have no value.
      const page = Math.max(valueLimit - values.length, 1000);
      // The records are in insertion order, not in order of relevance.
      const answer = await openedDataset.run(body, { limit: page, offset, scores: [] });
      for (const record of parseJson(answer.results) as readonly unknown[])
        values.push(...valuesAt(record, field.path));
      if (answer.offset === null) break;
      offset = answer.offset;
    }
    return { json: stringifyJson(values.slice(0, valueLimit)), floats: isFloat(field) ? [[]] : [] };
  },

  dataset_field_top_terms: async (scope, [dataset, name, limit, ...selection]) => {
    const openedDataset = await openDataset(scope, dataset);
    const field = openedDataset.field(name);
    const valueLimit = numberOf('limit', limit, 10);
    const options = { facet_type: 'terms', limit: Math.max(1, valueLimit) };
    const terms = (await openedDataset.facet(field, options, selectionOf(selection))) as Terms;
    const items = terms.slice(0, valueLimit).map(([term, count]) => ({ term, count }));
    return { json: stringifyJson(items), floats: isFloat(field) ? [['term']] : [] };
  },

  dataset_field_terms_count: async (scope, [dataset, name, ...selection]) => {
    const openedDataset = await openDataset(scope, dataset);
    const count = await openedDataset.facet(
      openedDataset.field(name),
      { facet_type: 'count' },
      selectionOf(selection),
    );
    return { json: stringifyJson(count), floats: [] };
  },

  dataset_entity_top_terms: async (scope, [dataset, entity, limit, filters, query]) => {
    const openedDataset = await openDataset(scope, dataset);
    const type = String(entity).toLowerCase();
    const fields = openedDataset.fields.filter(({ entityType }) => entityType === type);
    if (fields.length === 0) return { json: 'null', floats: [] };
    const valueLimit = numberOf('limit', limit, 1000);
    const counts = new Map<unknown, number>();
    for (const field of fields) {
      // The counts of several fields are added, so each has to give all of its terms.
      const options = {
        facet_type: 'terms',
        limit: fields.length > 1 ? 0 : Math.max(1, valueLimit),
      };
      const terms = (await openedDataset.facet(field, options, { filters, query })) as Terms;
      for (const [term, count] of terms) counts.set(term, (counts.get(term) ?? 0) + count);
    }
    const sorted = [...counts].toSorted(
      ([a, m], [b, n]) => n - m || (String(a) < String(b) ? -1 : 1),
    );
    return { json: stringifyJson(sorted.slice(0, valueLimit).map(([term]) => term)), floats: [] };
  },

  dataset_field_stats: async (scope, [dataset, name, ...selection]) => {
    const openedDataset = await openDataset(scope, dataset);
    const field = openedDataset.field(name);
    const options = { facet_type: 'stats' };
    const stats = (await openedDataset.facet(
      field,
      options,
      selectionOf(selection),
    )) as StatsAnswer;
    const { count, min, max, avg, sum } = stats;
    const isEmpty = count === 0;
    const json = stringifyJson({ count, min, max, avg, sum: isEmpty ? null : sum });
    const sumStatistics = isFloat(field) ? [['min'], ['max'], ['sum']] : [];
    return { json, floats: [['avg'], ...sumStatistics] };
  },

  dataset_field_percentiles: async (scope, [dataset, name, percents, ...selection]) => {
    const openedDataset = await openDataset(scope, dataset);
    const options = { facet_type: 'percentiles', percents };
    const field = openedDataset.field(name);
    const found = (await openedDataset.facet(field, options, selectionOf(selection))) as object;
    return { json: stringifyJson(found), floats: Object.keys(found).map((key) => [key]) };
  },

  prevalence: async (scope, [dataset, entity, name, filters]) => {
    const openedDataset = await openDataset(scope, dataset);
    const field = openedDataset.field(name, 'sample_field');
    if (!Array.isArray(entity) || entity.length !== 2)
      throw invalid('entity', 'entity must be a pair of an entity type and a value');
    const options = { facet_type: 'count' };
    const all = (await openedDataset.facet(field, options, { filters })) as number;
    if (all === 0) return { json: 'null', floats: [] };
    const ownCount = (await openedDataset.facet(field, options, {
      filters,
      entities: [entity],
    })) as number;
    return { json: String(ownCount / all), floats: [[]] };
  },

  beacon: (scope, args) => beaconAnswer(scope, args),

  template: async ({ context, caller }, [id]) => {
    const { fields } = await requireResource(context.catalog, caller, 'template', Number(id), 'read'); // prettier-ignore
    return { json: stringifyJson(fields), floats: [] };
  },
};

type Terms = readonly (readonly [term: unknown, count: number])[];
type StatsAnswer = Readonly<
  Record<'count' | 'min' | 'max' | 'avg' | 'sum', number | bigint | null>
>;

/** The arguments that select records, which stand last in most functions. */
function selectionOf([entities, filters, query]: readonly unknown[]): QueryKeys {
  return { entities, filters, query };
}
