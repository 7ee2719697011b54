import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import { AppError } from '../../../engine/core/errors.js';
import { entityTypes, type EntityType } from '../../../engine/core/types.js';
import { answerTo } from '../../http/errors.filter.js';
import { Form } from '../../http/form.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { logLine } from '../../http/log.js';
import type { AppContext } from '../../http/app-context.js';
import { ask } from '../records/query-records.js';
import type { Caller } from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';

/** What beacons are queried for (contract 14.3). */
export interface Question {
  /** As it was sent. */
  readonly query: unknown;
  readonly entityType: EntityType | null;
  readonly values: readonly string[];
}

/** How one beacon answers. */
export interface BeaconAnswer {
  readonly status: 'found' | 'not_found' | 'failed';
  /** Matching records; null if it failed. */
  readonly total: number | null;
  readonly took: number;
  readonly error: string | null;
  /** JSON text of the first ten records. */
  readonly results: string;
}

/** Reads the body of a question: an entity, a list of them, or another query string. */
export function readQuestion(body: unknown): Question {
  const form = new Form(body);
  const query = form.raw('query');
  const entityType = form.choice<EntityType>('entity_type', entityTypes) ?? null;
  const values = (Array.isArray(query) ? (query as readonly unknown[]) : [query]).map((value) =>
    typeof value === 'number' ? String(value) : value,
  );
  const isAsked =
    values.length > 0 && values.every((value) => typeof value === 'string' && value.trim() !== '');
  if (!isAsked) form.fail('query', 'Must be an entity, a list of entities or a query string.');
  form.done();
  return { query, entityType, values: values as readonly string[] };
}

/** Queries a beacon with the rights of the caller, not of its owner (threats E4). An error is part of the answer. */
export async function askBeacon(
  context: AppContext,
  caller: Caller,
  beacon: BeaconRow,
  question: Question,
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
    const { total, results } = await ask(context, dataset, queryOf(beacon, question), signal);
    return { status: total > 0 ? 'found' : 'not_found', total, took: took(), error: null, results };
  } catch (error) {
    if (signal.aborted) throw error;
    const { isBug, body } = answerTo(error);
    if (isBug)
      context.log(logLine('error', { beacon: beacon.id, error: String((error as Error).stack) }));
    return { status: 'failed', total: null, took: took(), error: textOf(body), results: '[]' };
  }
}

/** Queries beacons concurrently; the answers are in their order. */
export async function askBeacons(
  context: AppContext,
  caller: Caller,
  beacons: readonly BeaconRow[],
  question: Question,
  signal: AbortSignal,
): Promise<readonly BeaconAnswer[]> {
  return mapConcurrent(beacons, (beacon) => askBeacon(context, caller, beacon, question, signal));
}

/**
 * The query that a question is to one dataset. Choice: without an entity type, a single string is a query string with its
 * grammar; the members of a list are phrases, one of which must match.
 */
function queryOf({ params }: BeaconRow, { entityType, values }: Question): object {
  const scope = scopeOf(params);
  const own =
    typeof scope['query'] === 'string' && scope['query'].trim() !== '' ? scope['query'] : null;
  if (entityType !== null) return { ...scope, entities: [[entityType, values]], limit: 10 };
  const asked =
    values.length === 1
      ? values[0]!
      : values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(' OR ');
  return { ...scope, query: own === null ? asked : `(${own}) AND (${asked})`, limit: 10 };
}

/** The filters of a beacon: a list, or an object of a query's parts. */
function scopeOf(params: BeaconRow['params']): Readonly<Record<string, unknown>> {
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

/** A failing single beacon is an error of the request (contract 14.3). */
export function requireAnswer(answer: BeaconAnswer): void {
  if (answer.status === 'failed')
    throw new AppError('invalid', answer.error ?? 'The beacon failed.');
}
