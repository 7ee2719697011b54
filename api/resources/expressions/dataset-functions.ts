import { AppError, invalidError } from '../../../engine/core/errors.js';
import { unpackStrings } from '../../../engine/core/packed-strings.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type {
  HostCallResult,
  HostCall,
  HostReply,
  HostRequest,
} from '../../../scheduler/expressions/host-call-protocol.js';
import { packAnswers } from '../../../scheduler/expressions/packed-answers.js';
import { errorAnswerOf } from '../../http/errors.filter.js';
import { requireResource } from '../../http/require-resource.js';
import { formatLogLine } from '../../../engine/core/server-log.js';
import { answerBeaconCall } from './beacon-function.js';
import { answerHostBatch } from './call-batches.js';
import { answerTemplateBatch } from './template-batches.js';
import type { FunctionScope } from './function-scope.js';
import { floatPaths, isFloat, limitArgument, nonEmptyValuesAt } from './function-values.js';
import {
  openDataset,
  refuseLargeAnswer,
  valueForMessage,
  type QueryBody,
} from './opened-dataset.js';

/** A dataset function: it takes its arguments in the order of the declaration, null for an argument that is not given. */
type DatasetFunction = (scope: FunctionScope, args: readonly unknown[]) => Promise<HostCallResult>;

/**
 * Answers a dataset function of expressions (specification of expressions, section 8.2) with the rights of the caller. Throws an `AppError`
 * whose message is for users; it is the same for a dataset that does not exist and for one that the caller may not read.
 */
async function answerHostCall(scope: FunctionScope, call: HostCall): Promise<HostCallResult> {
  const args = parseJson(call.args) as readonly unknown[];
  return hideInternalErrors(scope, call.name, async () => {
    try {
      const datasetFunction = datasetFunctions[call.name];
      if (datasetFunction === undefined) throw new Error(`no function ${call.name}`);
      const answer = await datasetFunction(scope, args);
      refuseLargeAnswer(answer.json.length);
      return answer;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not-found')
        throw new AppError('not-found', `there is no ${missingResourceText(call.name, args[0])}`); // prettier-ignore
      throw error;
    }
  });
}

/** Answers the request of an expression thread: one call, or those calls of a batch that a few queries can answer together. */
export function answerHostRequest(scope: FunctionScope, request: HostRequest): Promise<HostReply> {
  if (!('batch' in request)) return answerHostCall(scope, request);
  const { batch, template } = request;
  return hideInternalErrors(scope, 'a batch of calls', async () =>
    template === undefined
      ? packAnswers(await answerHostBatch(scope, unpackStrings(batch)))
      : answerTemplateBatch(scope, template, batch),
  );
}

/** Runs work for an expression. An error that is the server's fault is logged, and the user gets a general message instead. */
async function hideInternalErrors<T>(
  scope: FunctionScope,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!errorAnswerOf(error).isServerFault) throw error;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scope.context.log(formatLogLine('error', { function: name, error: text }));
    throw new AppError('internal', 'Internal server error');
  }
}

function missingResourceText(name: string, firstArgument: unknown): string {
  if (name === 'beacon') return 'such beacon set';
  return `${name === 'template' ? 'template' : 'dataset'} ${valueForMessage(firstArgument)}`;
}

const datasetFunctions: Readonly<Record<string, DatasetFunction>> = {
  dataset_query: async (scope, [idOrPath, fields, limit, entities, filters, query, ordering]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const body = { fields, entities, filters, query, ordering };
    const json = await openedDataset.queryRecordsJson(body, limitArgument('limit', limit, 1));
    return { json, floats: floatPaths(openedDataset.fields) };
  },

  dataset_count: async (scope, [idOrPath, entities, filters, query]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const { total } = await openedDataset.executeQuery({ entities, filters, query }, { limit: 0 });
    return { json: String(total), floats: [] };
  },

  dataset_field_values: async (scope, [idOrPath, name, limit, ...selection]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const field = openedDataset.requireField(name);
    const valueLimit = limitArgument('limit', limit, 10);
    const values: unknown[] = [];
    const body = { ...selectionKeysOf(selection), fields: [field.name] };
    for (let offset = 0; values.length < valueLimit;) {
      // Reads at least 1000 records at a time, because many records may have no value in the field.
      const pageSize = Math.max(valueLimit - values.length, 1000);
      // Without scores, the records come in insertion order instead of the order of relevance.
      const answer = await openedDataset.executeQuery(body, {
        limit: pageSize,
        offset,
        scoreClauses: [],
      });
      for (const record of parseJson(answer.results) as readonly unknown[])
        values.push(...nonEmptyValuesAt(record, field.path));
      if (answer.offset === null) break;
      offset = answer.offset;
    }
    return { json: stringifyJson(values.slice(0, valueLimit)), floats: isFloat(field) ? [[]] : [] };
  },

  dataset_field_top_terms: async (scope, [idOrPath, name, limit, ...selection]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const field = openedDataset.requireField(name);
    const valueLimit = limitArgument('limit', limit, 10);
    const options = { facet_type: 'terms', limit: Math.max(1, valueLimit) };
    const terms = (await openedDataset.computeFacet(
      field,
      options,
      selectionKeysOf(selection),
    )) as TermCounts;
    const items = terms.slice(0, valueLimit).map(([term, count]) => ({ term, count }));
    return { json: stringifyJson(items), floats: isFloat(field) ? [['term']] : [] };
  },

  dataset_field_terms_count: async (scope, [idOrPath, name, ...selection]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const count = await openedDataset.computeFacet(
      openedDataset.requireField(name),
      { facet_type: 'count' },
      selectionKeysOf(selection),
    );
    return { json: stringifyJson(count), floats: [] };
  },

  dataset_entity_top_terms: async (scope, [idOrPath, rawType, limit, filters, query]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const type = String(rawType).toLowerCase();
    const fields = openedDataset.fields.filter(({ entityType }) => entityType === type);
    if (fields.length === 0) return { json: 'null', floats: [] };
    const valueLimit = limitArgument('limit', limit, 1000);
    const counts = new Map<unknown, number>();
    for (const field of fields) {
      // The counts of several fields are added, so the facet of each field must return all its terms.
      const options = {
        facet_type: 'terms',
        limit: fields.length > 1 ? 0 : Math.max(1, valueLimit),
      };
      const terms = (await openedDataset.computeFacet(field, options, {
        filters,
        query,
      })) as TermCounts;
      for (const [term, count] of terms) counts.set(term, (counts.get(term) ?? 0) + count);
    }
    const sortedTerms = [...counts].toSorted(
      ([a, m], [b, n]) => n - m || (String(a) < String(b) ? -1 : 1),
    );
    return {
      json: stringifyJson(sortedTerms.slice(0, valueLimit).map(([term]) => term)),
      floats: [],
    };
  },

  dataset_field_stats: async (scope, [idOrPath, name, ...selection]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const field = openedDataset.requireField(name);
    const options = { facet_type: 'stats' };
    const stats = (await openedDataset.computeFacet(
      field,
      options,
      selectionKeysOf(selection),
    )) as StatsAnswer;
    const { count, min, max, avg, sum } = stats;
    const isEmpty = count === 0;
    const json = stringifyJson({ count, min, max, avg, sum: isEmpty ? null : sum });
    const sumStatistics = isFloat(field) ? [['min'], ['max'], ['sum']] : [];
    return { json, floats: [['avg'], ...sumStatistics] };
  },

  dataset_field_percentiles: async (scope, [idOrPath, name, percents, ...selection]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const options = { facet_type: 'percentiles', percents };
    const field = openedDataset.requireField(name);
    const percentiles = (await openedDataset.computeFacet(
      field,
      options,
      selectionKeysOf(selection),
    )) as object;
    return {
      json: stringifyJson(percentiles),
      floats: Object.keys(percentiles).map((key) => [key]),
    };
  },

  prevalence: async (scope, [idOrPath, entity, name, filters]) => {
    const openedDataset = await openDataset(scope, idOrPath);
    const field = openedDataset.requireField(name, 'sample_field');
    if (!Array.isArray(entity) || entity.length !== 2)
      throw invalidError('entity', 'entity must be a pair of an entity type and a value');
    const options = { facet_type: 'count' };
    const sampleCount = (await openedDataset.computeFacet(field, options, { filters })) as number;
    if (sampleCount === 0) return { json: 'null', floats: [] };
    const matchingCount = (await openedDataset.computeFacet(field, options, {
      filters,
      entities: [entity],
    })) as number;
    return { json: String(matchingCount / sampleCount), floats: [[]] };
  },

  beacon: (scope, args) => answerBeaconCall(scope, args),

  template: async ({ context, caller }, [id]) => {
    const { fields } = await requireResource(context.catalog, caller, 'template', Number(id), 'read'); // prettier-ignore
    return { json: stringifyJson(fields), floats: [] };
  },
};

type TermCounts = readonly (readonly [term: unknown, count: number])[];
type StatsAnswer = Readonly<
  Record<'count' | 'min' | 'max' | 'avg' | 'sum', number | bigint | null>
>;

/** Returns the arguments that select records, the last ones of several functions, under their keys in the body of a query. */
function selectionKeysOf([entities, filters, query]: readonly unknown[]): QueryBody {
  return { entities, filters, query };
}
