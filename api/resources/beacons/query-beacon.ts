import { loadPrincipal } from '../../../engine/catalog/access.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { entityTypes } from '../../../engine/core/types.js';
import { genomicNotation } from '../../../engine/query/request/genomic-notation.js';
import { errorAnswerOf } from '../../http/errors.filter.js';
import type { Form } from '../../http/form.js';
import { anyType, bodySchema, enumOf, nullable, withReader } from '../../http/json-schema.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { formatLogLine } from '../../../engine/core/server-log.js';
import type { AppContext } from '../../http/app-context.js';
import { runDatasetQuery } from '../queries/query-records.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';

/** The answer of one beacon to a query. */
export interface BeaconAnswer {
  readonly status: 'found' | 'not_found' | 'failed';
  /** Number of matching records; null if the query failed. */
  readonly total: number | null;
  /** Duration in milliseconds. */
  readonly took: number;
  readonly error: string | null;
  /** The first ten records, as the JSON text of a list; none if the query failed or the caller may not read the dataset. */
  readonly results: string;
}

type BeaconTerm = string | number;

/** Reads the key `query` of a query of beacons: an entity, a list of entities or a query string. The value is returned unchanged. */
function readTerms(form: Form, key: string): BeaconTerm | readonly BeaconTerm[] | undefined {
  const rawQuery = form.raw(key) as BeaconTerm | readonly BeaconTerm[] | undefined;
  const terms: readonly unknown[] = [rawQuery].flat();
  const isValid = terms.every(
    (term) => typeof term === 'number' || (typeof term === 'string' && term.trim() !== ''),
  );
  if (isValid && terms.length > 0) return rawQuery;
  return form.fail(key, 'Must be an entity, a list of entities or a query string.');
}

/** The body of a query of beacons. */
export const beaconQueryBody = bodySchema('BeaconQuery', 'A query of beacons.', {
  query: {
    type: withReader(anyType, readTerms),
    description: 'An entity, a list of entities, or a query string.',
    example: 'MYH7',
    required: true,
  },
  entity_type: {
    type: nullable(enumOf(...entityTypes)),
    initial: null,
    description: 'The type of the entities. Without it, all string and text fields are searched.',
    example: 'gene',
  },
});

/** A query of beacons (contract 14.3). */
export type BeaconQuery = ReturnType<typeof beaconQueryBody.parse>;

/**
 * Queries a visible beacon. A caller who may read its dataset gets the first records as well. Any other user with whom the beacon is shared
 * gets only the count, as long as the beacon's owner may read the dataset. An error becomes an answer with the status `failed`, unless the
 * request was aborted.
 */
export async function queryBeacon(
  context: AppContext,
  caller: Caller,
  beacon: BeaconRow,
  query: BeaconQuery,
  signal: AbortSignal,
): Promise<BeaconAnswer> {
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  let mayRead = true;
  try {
    const callerDataset = await findDatasetOfCaller(context, caller, beacon);
    mayRead = callerDataset !== undefined;
    const dataset = callerDataset ?? (await findDatasetOfOwner(context, beacon));
    const body = datasetQuery(beacon, query, mayRead ? maxShownRecords : 0);
    const { total, results } = await runDatasetQuery(context, dataset, body, signal);
    return {
      status: total > 0 ? 'found' : 'not_found',
      total,
      took: elapsedMs(),
      error: null,
      results,
    };
  } catch (error) {
    if (signal.aborted) throw error;
    const { isServerFault, body } = errorAnswerOf(error);
    if (isServerFault)
      context.log(
        formatLogLine('error', { beacon: beacon.id, error: String((error as Error).stack) }),
      );
    const text = mayRead ? errorText(body) : errorText(publicErrorBody(body));
    return { status: 'failed', total: null, took: elapsedMs(), error: text, results: '[]' };
  }
}

/** Maximum number of records in the answer of one beacon. */
const maxShownRecords = 10;

/** Returns the dataset of a beacon if the caller may read it. */
async function findDatasetOfCaller(
  { catalog }: AppContext,
  caller: Caller,
  { datasetId }: BeaconRow,
): Promise<DatasetRow | undefined> {
  try {
    return await requireResource(catalog, caller, 'dataset', datasetId, 'read');
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/** Returns the dataset of a shared beacon, with the rights of the beacon's owner; throws 404 if the owner may no longer read it. */
async function findDatasetOfOwner(
  { catalog }: AppContext,
  { datasetId, userId }: BeaconRow,
): Promise<DatasetRow> {
  const owner = await loadPrincipal(catalog, userId);
  if (owner === undefined) throw notFoundError();
  return requireResource(catalog, owner, 'dataset', datasetId, 'read');
}

/** Returns the part of an error body that users without read access to the dataset may see: nothing about its fields or the filters. */
function publicErrorBody(
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { query, entities, detail } = body;
  const queryParts = { ...(query !== undefined && { query }), ...(entities !== undefined && { entities }) }; // prettier-ignore
  if (Object.keys(queryParts).length > 0) return queryParts;
  return { detail: detail ?? 'The beacon cannot be queried; ask its owner.' };
}

/** Queries beacons concurrently; the answers are in the order of `beacons`. */
export async function queryBeacons(
  context: AppContext,
  caller: Caller,
  beacons: readonly BeaconRow[],
  query: BeaconQuery,
  signal: AbortSignal,
): Promise<readonly BeaconAnswer[]> {
  return mapConcurrent(beacons, (beacon) => queryBeacon(context, caller, beacon, query, signal));
}

/**
 * Returns the query for the beacon's dataset.
 * Choice: if a query of a beacon names no entity type and consists only of regions, variants and rs ids in genomic notation, these are
 * taken as entities. Any other query without an entity type is a query string if it is a single value; several values are phrases, of
 * which at least one must match.
 */
function datasetQuery(
  { params }: BeaconRow,
  { entityType, query }: BeaconQuery,
  limit: number,
): object {
  const values = [query].flat().map(String);
  const filters = beaconFilters(params);
  const beaconQueryString =
    typeof filters['query'] === 'string' && filters['query'].trim() !== ''
      ? filters['query']
      : null;
  const areInNotation = values.every((value) => genomicNotation(value.trim()) !== undefined);
  const type = entityType ?? (areInNotation ? 'variant' : null);
  if (type !== null) return { ...filters, entities: [[type, values]], limit };
  const requestedQueryString =
    values.length === 1
      ? values[0]!
      : values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(' OR ');
  return {
    ...filters,
    query:
      beaconQueryString === null
        ? requestedQueryString
        : `(${beaconQueryString}) AND (${requestedQueryString})`,
    limit,
  };
}

/** Returns the conditions that a beacon adds to every query, as keys of a query; `params` is a list of filters or has such keys. */
function beaconFilters(params: BeaconRow['params']): Readonly<Record<string, unknown>> {
  if (params === null) return {};
  if (Array.isArray(params)) return { filters: params };
  const { filters, query, genome_build } = params as Readonly<Record<string, unknown>>;
  return { filters, query, genome_build };
}

function errorText(body: Readonly<Record<string, unknown>>): string {
  return Object.values(body)
    .flatMap((messages) => (Array.isArray(messages) ? (messages as unknown[]) : [messages]))
    .map(String)
    .join(' ');
}

/** Throws a 400 for a failed answer: the failure of a single beacon is an error of the request (contract 14.3). */
export function requireAnswer(answer: BeaconAnswer): void {
  if (answer.status === 'failed')
    throw new AppError('invalid', answer.error ?? 'The beacon failed.');
}
