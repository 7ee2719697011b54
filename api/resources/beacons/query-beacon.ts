import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import { AppError } from '../../../engine/core/errors.js';
import { entityTypes, type EntityType } from '../../../engine/core/types.js';
import { answerTo } from '../../http/errors.filter.js';
import { Form } from '../../http/form.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { logLine } from '../../http/log.js';
import type { AppContext } from '../../http/app-context.js';
import { runDatasetQuery } from '../records/query-records.js';
import type { Caller } from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';

/** A query of beacons (contract 14.3). */
export interface BeaconQuery {
  /** The key `query` of the request, unchanged. */
  readonly query: unknown;
  readonly entityType: EntityType | null;
  readonly values: readonly string[];
}

/** The answer of one beacon. */
export interface BeaconAnswer {
  readonly status: 'found' | 'not_found' | 'failed';
  /** Number of matching records; null if the query failed. */
  readonly total: number | null;
  /** Milliseconds. */
  readonly took: number;
  readonly error: string | null;
  /** The first ten records, as the JSON text of a list. */
  readonly results: string;
}

/** Reads the body of a query of beacons: an entity, a list of entities or a query string. Throws a 400. */
export function readBeaconQuery(body: unknown): BeaconQuery {
  const form = new Form(body);
  const query = form.raw('query');
  const entityType = form.choice<EntityType>('entity_type', entityTypes) ?? null;
  const values = (Array.isArray(query) ? (query as readonly unknown[]) : [query]).map((value) =>
    typeof value === 'number' ? String(value) : value,
  );
  const isValid =
    values.length > 0 && values.every((value) => typeof value === 'string' && value.trim() !== '');
  if (!isValid) form.fail('query', 'Must be an entity, a list of entities or a query string.');
  form.done();
  return { query, entityType, values: values as readonly string[] };
}

/**
 * Queries a beacon with the rights of the caller, not of its owner (threats E4). An error becomes an answer with the status
 * `failed`, unless the request was aborted.
 */
export async function queryBeacon(
  context: AppContext,
  caller: Caller,
  beacon: BeaconRow,
  query: BeaconQuery,
  signal: AbortSignal,
): Promise<BeaconAnswer> {
  const started = performance.now();
  const took = (): number => Math.round(performance.now() - started);
  try {
    const dataset = await requireResource(
      context.catalog,
      caller,
      'dataset',
      beacon.datasetId,
      'read',
    );
    const { total, results } = await runDatasetQuery(
      context,
      dataset,
      datasetQuery(beacon, query),
      signal,
    );
    return { status: total > 0 ? 'found' : 'not_found', total, took: took(), error: null, results };
  } catch (error) {
    if (signal.aborted) throw error;
    const { isBug, body } = answerTo(error);
    if (isBug)
      context.log(logLine('error', { beacon: beacon.id, error: String((error as Error).stack) }));
    return { status: 'failed', total: null, took: took(), error: textOf(body), results: '[]' };
  }
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
 * The query of the beacon's dataset. Choice: without an entity type, a single string is a query string with its grammar; the
 * members of a list are phrases, one of which must match.
 */
function datasetQuery({ params }: BeaconRow, { entityType, values }: BeaconQuery): object {
  const filters = beaconFilters(params);
  const restriction =
    typeof filters['query'] === 'string' && filters['query'].trim() !== ''
      ? filters['query']
      : null;
  if (entityType !== null) return { ...filters, entities: [[entityType, values]], limit: 10 };
  const requested =
    values.length === 1
      ? values[0]!
      : values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(' OR ');
  return {
    ...filters,
    query: restriction === null ? requested : `(${restriction}) AND (${requested})`,
    limit: 10,
  };
}

/** The conditions that a beacon adds to every query: a list of filters, or an object with keys of a query. */
function beaconFilters(params: BeaconRow['params']): Readonly<Record<string, unknown>> {
  if (params === null) return {};
  if (Array.isArray(params)) return { filters: params };
  const { filters, query, genome_build } = params as Readonly<Record<string, unknown>>;
  return { filters, query, genome_build };
}

function textOf(body: Readonly<Record<string, unknown>>): string {
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
