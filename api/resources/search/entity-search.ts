import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { parseJson } from '../../../engine/core/json.js';
import type { EntityCondition } from '../../../engine/query/request/entities.js';
import type { SearchRequest } from '../../../engine/search/search-request.js';
import { errorAnswerOf } from '../../http/errors.filter.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { formatLogLine } from '../../../engine/core/server-log.js';
import type { AppContext } from '../../http/app-context.js';
import { runDatasetQuery } from '../queries/query-records.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';

/** The matches of a dataset in a search for entities. */
interface EntityAnswer {
  readonly datasetId: number;
  readonly isFound: boolean;
  /** The distinct samples of the records with a searched entity; empty unless `isFound`, and unless the request asks for samples. */
  readonly subjects: readonly string[];
}

/**
 * Asks datasets for the entities of a search, with the rights of the caller.
 * Choice: a dataset has an entity if any of its records has it; several entities may be in different records. A dataset that cannot be
 * queried, for example because it is archived, has no entity, and one without a field of an entity type has no entity of this type.
 */
export function searchDatasets(
  context: AppContext,
  caller: Caller,
  datasetIds: readonly number[],
  request: SearchRequest,
  signal: AbortSignal,
): Promise<readonly EntityAnswer[]> {
  return mapConcurrent(datasetIds, async (datasetId) => {
    try {
      const dataset = await requireResource(context.catalog, caller, 'dataset', datasetId, 'read');
      return await searchDataset(context, dataset, request, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      if (errorAnswerOf(error).isServerFault)
        context.log(
          formatLogLine('error', { search: datasetId, error: String((error as Error).stack) }),
        );
      return { datasetId, isFound: false, subjects: [] };
    }
  });
}

async function searchDataset(
  context: AppContext,
  dataset: DatasetRow,
  { entities, entitiesMatch, includeSubjects }: SearchRequest,
  signal: AbortSignal,
): Promise<EntityAnswer> {
  const wantsSubjects = includeSubjects !== 'none';
  const fields = wantsSubjects ? await readSampleFields(context, dataset.id) : [];
  const facets = Object.fromEntries(
    fields.map((name) => [name, { facet_type: 'terms', limit: 0 }]),
  );
  const subjects = new Set<string>();
  let foundCount = 0;
  for (const [i, entity] of entities.entries()) {
    const answer = await searchEntity(context, dataset, entity, facets, signal);
    if (answer.total > 0) foundCount += 1;
    for (const subject of answer.subjects) subjects.add(subject);
    const isDecided = entitiesMatch === 'all' ? foundCount <= i : foundCount > 0 && !wantsSubjects;
    if (isDecided) break;
  }
  const isFound = entitiesMatch === 'all' ? foundCount === entities.length : foundCount > 0;
  return { datasetId: dataset.id, isFound, subjects: isFound ? [...subjects] : [] };
}

async function searchEntity(
  context: AppContext,
  dataset: DatasetRow,
  { type, values }: EntityCondition,
  facets: object,
  signal: AbortSignal,
): Promise<{ readonly total: number; readonly subjects: readonly string[] }> {
  const body = { entities: [[type, values]], limit: 0, facets };
  try {
    const answer = await runDatasetQuery(context, dataset, body, signal);
    const terms = Object.values(parseJson(answer.facets ?? '{}') as Readonly<Record<string, [unknown, number][]>>); // prettier-ignore
    return { total: answer.total, subjects: terms.flat().map(([term]) => String(term)) };
  } catch (error) {
    // If the error is about the entity type, the dataset has no match for this entity; it may still have a match for the next entity.
    if (!signal.aborted && errorAnswerOf(error).status === 400) return { total: 0, subjects: [] };
    throw error;
  }
}

/** Returns the names of the string fields with the entity type `sample`, whose values are the subjects of a search. */
async function readSampleFields(
  { catalog }: AppContext,
  datasetId: number,
): Promise<readonly string[]> {
  const fields = await catalog.fields.all(datasetId);
  return fields
    .filter(({ entityType, dataType }) => entityType === 'sample' && dataType === 'string')
    .map(({ name }) => name);
}
