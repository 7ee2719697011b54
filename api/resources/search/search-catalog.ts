import { viewerOf } from '../../../engine/catalog/access.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { documentFieldByName, type SearchDocument } from '../../../engine/search/document.js';
import { parseJson } from '../../../engine/core/json.js';
import { valueInAnswer } from '../../../engine/search/search-facets.js';
import {
  restrictToDatasets,
  parseSearch,
  type SearchRequest,
} from '../../../engine/search/search-request.js';
import { searchCatalog, runWithinTimeLimit } from '../../../engine/search/search.js';
import { searchDatasets } from './entity-search.js';
import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/api-request.js';

/** Searches the vaults and objects that the caller may read (contract 8.7). */
export async function answerSearch(
  context: AppContext,
  caller: Caller,
  body: unknown,
  signal: AbortSignal,
): Promise<object> {
  const requestedSearch = parseSearch(body, await loadGenesForQuery(body));
  const datasetsWithEntities =
    requestedSearch.entities.length > 0
      ? await findDatasetsWithEntities(context, caller, requestedSearch, signal)
      : null;
  const request =
    datasetsWithEntities === null
      ? requestedSearch
      : restrictToDatasets(requestedSearch, [...datasetsWithEntities.keys()]);
  const answer = await searchCatalog(context.catalog.search, viewerOf(caller), request, { signal });
  const subjects = [...(datasetsWithEntities?.values() ?? [])].flat();
  return {
    took: answer.took,
    total: answer.total,
    offset: answer.offset,
    results: answer.documents.map((document) => documentView(document, request)),
    ...(answer.facets !== undefined && { facets: parseJson(answer.facets) }),
    ...(answer.vaults && {
      vaults: answer.vaults.map(({ vault, count }) => ({
        id: vault.id,
        name: vault.name,
        full_path: vault.fullPath,
        count,
      })),
    }),
    ...(datasetsWithEntities !== null &&
      requestedSearch.includeSubjects !== 'none' && {
        subjects:
          requestedSearch.includeSubjects === 'all' ? subjects : subjects.slice(0, maxSubjects),
      }),
    subjects_count: subjects.length,
  };
}

/** Choice: an answer lists at most this many subjects unless all are requested; `subjects_count` counts all of them. */
const maxSubjects = 1_000;

/**
 * Returns the datasets whose records have the entities of a search, with the subjects in each. Only datasets with a global beacon that
 * satisfy the other conditions of the search are asked.
 */
async function findDatasetsWithEntities(
  context: AppContext,
  caller: Caller,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, readonly object[]>> {
  const { globalBeacons, search: searchTable } = context.catalog;
  const enabledDatasetIds = await globalBeacons.all();
  const wholeRequest = {
    ...restrictToDatasets(request, enabledDatasetIds),
    limit: enabledDatasetIds.length,
    offset: 0,
    ordering: [],
    scoreClauses: [],
    facets: null,
  };
  const { documents } = await searchCatalog(searchTable, viewerOf(caller), wholeRequest, {
    signal,
  });
  const pathByDatasetId = new Map(documents.map((one) => [one.object!.id, fullPathOf(one)]));
  const answers = await runWithinTimeLimit({ signal }, (abort) =>
    searchDatasets(context, caller, [...pathByDatasetId.keys()], request, abort),
  );
  return new Map(
    answers
      .filter(({ isFound }) => isFound)
      .map(({ datasetId, subjects }) => [
        datasetId,
        subjects.map((subject) => ({
          subject,
          access: true,
          dataset_id: datasetId,
          dataset_path: pathByDatasetId.get(datasetId),
        })),
      ]),
  );
}

function fullPathOf(document: SearchDocument): unknown {
  return documentFieldByName.get('full_path')!.read(document);
}

/** Returns a document with the requested fields only. */
function documentView(document: SearchDocument, { fields, excludeFields }: SearchRequest): object {
  const requestedNames = fields ? fields.map(([name]) => name!) : [...documentFieldByName.keys()];
  const excludedNames = new Set(excludeFields.map(([name]) => name!));
  const shownNames = requestedNames.filter((name) => !excludedNames.has(name));
  return Object.fromEntries(
    shownNames.map((name) => {
      const field = documentFieldByName.get(name)!;
      const value = field.read(document);
      const isSingle = value !== null && typeof value !== 'object';
      return [name, isSingle ? valueInAnswer(field, value) : value];
    }),
  );
}
