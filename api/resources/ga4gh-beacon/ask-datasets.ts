import { budgets } from '../../../engine/core/budgets.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseJson } from '../../../engine/core/json.js';
import type { Row } from '../../../engine/core/types.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { runQuery, type QueryAnswer } from '../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import type { AppContext } from '../../http/app-context.js';
import { errorAnswerOf } from '../../http/errors.filter.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { loadReadableData, runUnlessDeleted } from '../queries/query-records.js';
import type { BeaconDataset } from './account-beacon.js';
import { conditionOfBeaconFilter } from './beacon-filters.js';
import type { BeaconRequest } from './beacon-request.js';
import { variationFormat } from './genomic-variation.js';
import { variantConditions } from './variant-conditions.js';

/** The matches of a dataset for the variants that a request asks for. */
export interface DatasetMatches {
  readonly dataset: BeaconDataset;
  /** Number of matching records. */
  readonly total: number;
  /** Returns a page of genomic variations, and the number of its records that were left out because they have no position. */
  page(offset: number, limit: number): Promise<{ readonly results: readonly object[]; readonly leftOutCount: number }>; // prettier-ignore
}

/** A dataset that cannot answer the request, with the reason. */
interface DatasetProblem {
  readonly dataset: BeaconDataset;
  readonly problem: string;
}

/**
 * Asks datasets concurrently. The answers are in the order of the datasets; datasets deleted meanwhile have none. With `recordId`, only the
 * record with that id is asked for.
 */
export async function queryDatasets(
  context: AppContext,
  datasets: readonly BeaconDataset[],
  request: Pick<BeaconRequest, 'variants' | 'filters'>,
  signal: AbortSignal,
  recordId?: string,
): Promise<readonly (DatasetMatches | DatasetProblem)[]> {
  const answers = await mapConcurrent(datasets, async (dataset) => {
    if (request.filters.length > 0 && !dataset.answersFilters)
      return { dataset, problem: 'The dataset answers filters only to callers with credentials.' };
    try {
      return await queryDataset(context, dataset, request, signal, recordId);
    } catch (error) {
      // An error in the request is reported for this dataset. Any other error fails the whole answer, which would otherwise be wrong.
      if (!(error instanceof AppError) || signal.aborted) throw error;
      if (error.code === 'not-found') return undefined;
      if (error.code !== 'invalid') throw error;
      const { body } = errorAnswerOf(error);
      return { dataset, problem: Object.values(body).flat().map(String).join(' ') };
    }
  });
  return answers.filter((one) => one !== undefined);
}

async function queryDataset(
  context: AppContext,
  dataset: BeaconDataset,
  { variants, filters }: Pick<BeaconRequest, 'variants' | 'filters'>,
  signal: AbortSignal,
  recordId: string | undefined,
): Promise<DatasetMatches> {
  const { row } = dataset;
  // All queries of one answer read one version of the dataset.
  const { snapshot, fields } = await loadReadableData(context, row);
  const conditions = variantConditions(variants, fields);
  const query = {
    entities: conditions.entities,
    filters: [
      // The filters of the request come first, so that messages name them by their index in the request.
      ...filters.map((filter) => conditionOfBeaconFilter(filter, fields)),
      ...conditions.filters,
      ...(recordId === undefined ? [] : [['_id', recordId]]),
    ],
  };
  const genes = await loadGenesForQuery(query);
  const format = variationFormat(row.id, fields);
  const runWith = (pageKeys: object): Promise<QueryAnswer> => {
    const parsedQuery = parseQuery({ ...query, ...pageKeys }, fields, genes);
    return runUnlessDeleted(context, row, () =>
      runQuery(context.queryEngine, snapshot, fields, parsedQuery, { signal }),
    );
  };
  const { total } = await runWith({ limit: 0 });
  return {
    dataset,
    total,
    page: async (offset, limit) => {
      const { results } = await runWith({ offset, limit, fields: format.fields });
      const records = parseJson(results) as unknown as readonly Row[];
      const variations = records.map((record) => format.variationOf(record));
      const locatedVariations = variations.filter((one) => one !== undefined);
      return {
        results: locatedVariations,
        leftOutCount: variations.length - locatedVariations.length,
      };
    },
  };
}

/** The results of a page, by dataset, and the number of its records that were left out because they have no position. */
interface PageOfMatches {
  readonly results: ReadonlyMap<BeaconDataset, readonly object[]>;
  readonly leftOutCount: number;
}

/** Returns one page of the matching records of all datasets, in the order of the datasets. */
export async function readPageOfMatches(
  matches: readonly DatasetMatches[],
  { skip, limit }: Pick<BeaconRequest, 'skip' | 'limit'>,
): Promise<PageOfMatches> {
  const pageSize = limit === 0 ? budgets.pageLimit : limit;
  const results = new Map<BeaconDataset, readonly object[]>();
  let [recordsToSkip, remainingSize, leftOutCount] = [skip * pageSize, pageSize, 0];
  for (const { dataset, total, page } of matches) {
    const datasetLimit = Math.min(remainingSize, Math.max(0, total - recordsToSkip));
    if (datasetLimit > 0) {
      const datasetPage = await page(recordsToSkip, datasetLimit);
      results.set(dataset, datasetPage.results);
      leftOutCount += datasetPage.leftOutCount;
    }
    recordsToSkip = Math.max(0, recordsToSkip - total);
    remainingSize -= datasetLimit;
  }
  return { results, leftOutCount };
}
