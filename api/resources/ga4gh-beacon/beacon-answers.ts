import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { requireBeaconDataset, type AccountBeacon, type BeaconDataset } from './account-beacon.js';
import { queryDatasets, readPageOfMatches, type DatasetMatches } from './ask-datasets.js';
import { informationalMeta, responseMeta } from './beacon-frame.js';
import {
  answerGranularities,
  type AnswerGranularity,
  type BeaconRequest,
} from './beacon-request.js';

/** A request to a beacon, with the beacon and the services that answer it. */
export interface BeaconQueryContext {
  readonly context: AppContext;
  readonly beacon: AccountBeacon;
  readonly request: BeaconRequest;
  readonly origin: string;
  readonly signal: AbortSignal;
}

/** Returns the rank of a granularity: an answer of a higher rank tells more. */
function granularityLevel(granularity: AnswerGranularity): number {
  return answerGranularities.indexOf(granularity);
}

/**
 * Answers a request for variants: whether any dataset has some, how many the datasets have, or the records. The answer has the requested
 * granularity, or that of the most open of the asked datasets if that is coarser (not in test mode), and at most the granularity count
 * if `includeResultsetResponses` is NONE. Each dataset contributes only what its own granularity allows.
 * Choice: an answer of a GA4GH beacon with records has a set of results for each dataset. For a dataset with the granularity boolean,
 * `resultsCount` is always 0; for one with the granularity count, the set has no results. Pages run through the records of all datasets,
 * one dataset after the other.
 */
export async function answerVariants(
  queryContext: BeaconQueryContext,
  datasets: readonly BeaconDataset[] = queryContext.beacon.datasets,
): Promise<object> {
  const { context, request, signal, beacon } = queryContext;
  const warnings: string[] = [];
  const askedDatasets = request.isTest ? [] : datasetsByIds(datasets, request.datasetIds, warnings);
  const answers = await queryDatasets(context, askedDatasets, request, signal);
  const matches = answers.filter((one): one is DatasetMatches => 'total' in one);
  for (const one of answers)
    if ('problem' in one) warnings.push(datasetMessage(one.dataset, one.problem));
  if (matches.length === 0 && answers.length > 0) throw new AppError('invalid', warnings.join(' '));
  const granularity = returnedGranularity(request, matches);
  const countableMatches = matches.filter(
    (one) => granularityLevel(one.dataset.granularity) >= granularityLevel('count'),
  );
  const numTotalResults = countableMatches.reduce((sum, { total }) => sum + total, 0);
  if (granularity !== 'boolean')
    for (const { dataset } of matches.filter((one) => !countableMatches.includes(one)))
      warnings.push(datasetMessage(dataset, 'The dataset tells only whether it has matches; they are not counted.')); // prettier-ignore
  const meta = responseMeta(queryContext.origin, beacon.account.domain, request, granularity, 'genomicVariant'); // prettier-ignore
  const answer = {
    meta,
    responseSummary: {
      exists: matches.some(({ total }) => total > 0),
      ...(granularity !== 'boolean' && { numTotalResults }),
    },
  };
  const response = granularity === 'record' ? await readResultSets(matches, request, warnings) : undefined; // prettier-ignore
  return {
    ...answer,
    ...(warnings.length > 0 && { info: { warnings } }),
    ...(response && { response }),
  };
}

/**
 * Returns the granularity of an answer: the coarsest of the requested one, that of the dataset that shows most, and, if
 * `includeResultsetResponses` is NONE, `count`. In test mode, datasets do not limit it.
 */
function returnedGranularity(
  { granularity, include, isTest }: BeaconRequest,
  matches: readonly DatasetMatches[],
): AnswerGranularity {
  const mostOpenLevel = Math.max(
    0,
    ...matches.map(({ dataset }) => granularityLevel(dataset.granularity)),
  );
  const shownLevel = isTest ? granularityLevel('record') : mostOpenLevel;
  const includeLevel = include === 'NONE' ? granularityLevel('count') : granularityLevel('record');
  return answerGranularities[Math.min(granularityLevel(granularity), includeLevel, shownLevel)]!;
}

/**
 * Returns the datasets that a request names, all if it names none. A dataset that the caller cannot see is treated as one that does not
 * exist: both cause a warning.
 */
function datasetsByIds(
  datasets: readonly BeaconDataset[],
  ids: readonly string[] | null,
  warnings: string[],
): readonly BeaconDataset[] {
  if (ids === null) return datasets;
  const knownIds = new Set(datasets.map(({ row }) => String(row.id)));
  for (const id of new Set(ids))
    if (!knownIds.has(id)) warnings.push(`There is no dataset ${JSON.stringify(id.slice(0, 100))} here.`); // prettier-ignore
  return datasets.filter(({ row }) => ids.includes(String(row.id)));
}

function datasetMessage({ row }: BeaconDataset, message: string): string {
  return `${row.id}: ${message}`;
}

/** Returns the section `response` of an answer with records (Beacon v2, beaconResultsets). */
async function readResultSets(
  matches: readonly DatasetMatches[],
  request: BeaconRequest,
  warnings: string[],
): Promise<object> {
  const shownMatches = matches.filter(({ total }) =>
    request.include === 'ALL' ? true : request.include === 'MISS' ? total === 0 : total > 0,
  );
  const recordMatches = shownMatches.filter(({ dataset }) => dataset.granularity === 'record');
  const page = await readPageOfMatches(recordMatches, request);
  const recordTotal = recordMatches.reduce((sum, { total }) => sum + total, 0);
  if (page.leftOutCount > 0)
    warnings.push(`Records of this page left out because their variants name no place: ${page.leftOutCount}.`); // prettier-ignore
  if (request.limit === 0 && recordTotal > budgets.pageLimit)
    warnings.push(`A page has at most ${budgets.pageLimit} records: read the others with skip and limit.`); // prettier-ignore
  return {
    resultSets: shownMatches.map(({ dataset, total }) => ({
      id: String(dataset.row.id),
      setType: 'dataset',
      exists: total > 0,
      resultsCount: dataset.granularity === 'boolean' ? 0 : total,
      results: page.results.get(dataset) ?? [],
      info: { granularity: dataset.granularity },
    })),
  };
}

/**
 * Answers a request for one variant by its `variantInternalId`. Only the variants of datasets that show records have an id. Any other id is
 * a 404, because ids of records are consecutive and would reveal how many records there are.
 */
export async function answerVariant(queryContext: BeaconQueryContext, id: string): Promise<object> {
  const { context, beacon, request, origin, signal } = queryContext;
  const [, datasetId, recordId] = /^(\d+):(.+)$/s.exec(id) ?? [];
  if (datasetId === undefined || request.isTest) throw notFoundError();
  const dataset = requireBeaconDataset(beacon, datasetId);
  if (dataset.granularity !== 'record') throw notFoundError();
  const [answer] = await queryDatasets(context, [dataset], request, signal, recordId);
  if (answer !== undefined && 'problem' in answer) throw new AppError('invalid', answer.problem);
  const results = answer === undefined ? [] : (await answer.page(0, 1)).results;
  if (results.length === 0) throw notFoundError();
  const granularity = request.include === 'NONE' && request.granularity === 'record' ? 'count' : request.granularity; // prettier-ignore
  return {
    meta: responseMeta(origin, beacon.account.domain, request, granularity, 'genomicVariant'),
    responseSummary: { exists: true, ...(granularity !== 'boolean' && { numTotalResults: 1 }) },
    ...(granularity === 'record' && { response: { resultSets: [resultSetOf(dataset, results)] } }),
  };
}

function resultSetOf({ row }: BeaconDataset, results: readonly object[]): object {
  return {
    id: String(row.id),
    setType: 'dataset',
    exists: true,
    resultsCount: results.length,
    results,
  };
}

/** Answers a request for the datasets: a page of their list (Beacon v2, beaconCollectionsResponse). */
export function datasetsAnswer({ beacon, request, origin }: BeaconQueryContext): object {
  const datasets = request.isTest ? [] : beacon.datasets;
  return {
    meta: responseMeta(origin, beacon.account.domain, request, 'record', 'dataset'),
    responseSummary: { exists: datasets.length > 0, numTotalResults: datasets.length },
    response: { collections: pageOf(datasets, request).map(datasetView) },
  };
}

/** Answers a request for one dataset: a set of results that contains only this dataset. */
export function datasetAnswer({ beacon, request, origin }: BeaconQueryContext, id: string): object {
  if (request.isTest) throw notFoundError();
  const dataset = requireBeaconDataset(beacon, id);
  return {
    meta: responseMeta(origin, beacon.account.domain, request, 'record', 'dataset'),
    responseSummary: { exists: true, numTotalResults: 1 },
    response: { resultSets: [resultSetOf(dataset, [datasetView(dataset)])] },
  };
}

/** Returns a dataset in the model of the Beacon standard. It does not tell how many records the dataset has. */
function datasetView({ row, name, description, granularity }: BeaconDataset): object {
  return {
    id: String(row.id),
    name,
    ...(description !== null && { description }),
    createDateTime: new Date(row.createdAt).toISOString(),
    updateDateTime: new Date(row.updatedAt).toISOString(),
    info: { granularity, assemblies: row.genomeBuilds },
  };
}

/** Answers a request for the fields that filters may name: each name once, in the order of the datasets. */
export async function answerFilteringTerms(
  { context, beacon, request, origin, signal }: BeaconQueryContext,
  datasets: readonly BeaconDataset[] = beacon.datasets,
): Promise<object> {
  const terms = new Map<string, object>();
  const askedDatasets = request.isTest
    ? []
    : datasets.filter(({ answersFilters }) => answersFilters);
  for (const { row } of askedDatasets) {
    signal.throwIfAborted();
    for (const field of await context.catalog.fields.all(row.id)) {
      const { name: id, title: label, dataType } = field;
      const isFilterable = !['object', 'blob', 'auto'].includes(dataType) && !field.isHidden;
      if (isFilterable && !terms.has(id))
        terms.set(id, { type: 'alphanumeric', id, label, scopes: ['genomicVariant'] });
    }
  }
  return {
    meta: informationalMeta(origin, beacon.account.domain, 'genomicVariant'),
    response: { filteringTerms: pageOf([...terms.values()], request), resources: [] },
  };
}

/** Returns one page of a list; the whole list if `limit` is 0. */
function pageOf<T>(list: readonly T[], { skip, limit }: BeaconRequest): readonly T[] {
  return limit === 0 ? list : list.slice(skip * limit, (skip + 1) * limit);
}
