import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Position, Walk } from '../../../engine/query/plan/position.js';
import { invalid } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { isObject } from '../../http/form.js';

/** A walk over the pages of one query: what its cursor says. */
export interface CursorState extends Walk {
  readonly datasetId: number;
  /** The version of the dataset that all its pages come from. */
  readonly version: number;
  /** Of the query that it belongs to. */
  readonly query: string;
}

/** What a request says with `cursor`: nothing, the beginning of a walk, or where it goes on. */
export type CursorAsked = null | 'begin' | CursorState;

/**
 * Reads `cursor`: `true` or `*` begins a walk, what an answer gave goes on with it. The rest of the request must stay the
 * same but for `limit`. Throws a 400 under the key `cursor`.
 */
export function readCursor(body: unknown, datasetId: number, key: Uint8Array): CursorAsked {
  const given = isObject(body) ? body['cursor'] : undefined;
  if (given === undefined || given === null || given === '' || given === false) return null;
  if (isObject(body) && Number(body['offset'] ?? 0) !== 0)
    throw invalid('offset', 'A walk with a cursor has no offset.');
  if (given === true || given === '*') return 'begin';
  const state = typeof given === 'string' ? decoded(given, key) : undefined;
  if (!state)
    throw invalid('cursor', 'Not a cursor: begin with true, then send what the last answer gave.');
  if (state.datasetId !== datasetId)
    throw invalid('cursor', 'This cursor belongs to another dataset.');
  if (state.query !== queryHash(body))
    throw invalid('cursor', 'This cursor belongs to another query; only the limit may change.');
  return state;
}

/** The text of a cursor: signed, so that nobody can make one up. */
export function writeCursor(state: CursorState, key: Uint8Array): string {
  const { after } = state;
  const text = stringifyJson({ ...state, after: after && { ...after, keys: after.keys.map(tagged), row: tagged(after.row) } }); // prettier-ignore
  const payload = Buffer.from(text).toString('base64url');
  return `${payload}.${signature(payload, key)}`;
}

/** What stays the same over a walk. */
export function queryHash(body: unknown): string {
  const { cursor: _, limit: __, facets: ___, explain: ____, ...query } = isObject(body) ? body : {};
  return createHash('sha256')
    .update(stringifyJson(sorted(query)))
    .digest('base64url')
    .slice(0, 22);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

function signature(payload: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(`cursor ${payload}`).digest('base64url');
}

function decoded(text: string, key: Uint8Array): CursorState | undefined {
  const [payload = '', given = ''] = text.split('.');
  const expected = Buffer.from(signature(payload, key));
  const found = Buffer.from(given);
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) return undefined;
  // It is what this server wrote.
  const state = parseJson(Buffer.from(payload, 'base64url').toString()) as unknown as Omit<
    CursorState,
    'after'
  > & {
    readonly after: null | {
      readonly keys: readonly Tagged[];
      readonly file: number;
      readonly row: Tagged;
    };
  };
  const { after } = state;
  return {
    ...state,
    after: after && {
      file: after.file,
      row: untagged(after.row) as Position['row'],
      keys: after.keys.map(untagged),
    },
  };
}

/** A value with its type: JSON alone would take a whole double for a long. */
type Tagged = null | readonly ['b' | 's' | 'i' | 'd', string];

function tagged(value: Position['keys'][number]): Tagged {
  if (value === null) return null;
  if (typeof value === 'boolean') return ['b', String(value)];
  if (typeof value === 'string') return ['s', value];
  return typeof value === 'bigint'
    ? ['i', String(value)]
    : ['d', Object.is(value, -0) ? '-0' : String(value)];
}

function untagged(value: Tagged): Position['keys'][number] {
  if (value === null) return null;
  const [type, text] = value;
  if (type === 'b') return text === 'true';
  if (type === 's') return text;
  return type === 'i' ? BigInt(text) : Number(text);
}
