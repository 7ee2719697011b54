import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Position, CursorProgress } from '../../../engine/query/request/position.js';
import { invalidError } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { isObject } from '../../http/form.js';
import { asOfText } from './as-of.js';

/** The content of a cursor: the position at which the next page of a query begins. */
interface CursorState extends CursorProgress {
  readonly datasetId: number;
  /** The version of the dataset that all pages are read from. */
  readonly version: number;
  /** For a query with `as_of`: its value in the request for the first page (`asOfText`), and the id of the commit that it named then. */
  readonly asOf?: { readonly given: string; readonly commitId: number | null };
  /** The hash of the query, from `queryHash`. */
  readonly query: string;
}

/** The value of the key `cursor` in a request: null if absent, `first` for the first page, or the position of the next page. */
export type RequestedCursor = null | 'first' | CursorState;

/**
 * Reads the key `cursor`: `true` or `*` requests the first page, the cursor of an answer the next page. Throws a 400 for an altered
 * cursor, for a cursor of another dataset, query or `as_of`, and for an `offset` other than 0 beside a cursor; only `limit`, `facets`
 * and `explain` may change between pages.
 */
export function readCursor(body: unknown, datasetId: number, key: Uint8Array): RequestedCursor {
  const cursor = isObject(body) ? body['cursor'] : undefined;
  if (cursor === undefined || cursor === null || cursor === '' || cursor === false) return null;
  if (isObject(body) && Number(body['offset'] ?? 0) !== 0)
    throw invalidError('offset', 'A query with a cursor cannot have an offset.');
  if (cursor === true || cursor === '*') return 'first';
  const state = typeof cursor === 'string' ? decodeCursor(cursor, key) : undefined;
  if (!state)
    throw invalidError(
      'cursor',
      'Not a cursor: send true for the first page, then the cursor of the previous answer.',
    );
  if (state.datasetId !== datasetId)
    throw invalidError('cursor', 'This cursor belongs to another dataset.');
  if (state.query !== queryHash(body))
    throw invalidError(
      'cursor',
      'This cursor belongs to another query; only the limit may change.',
    );
  const asOf = isObject(body) ? asOfText(body['as_of']) : '';
  if (asOf !== '' && asOf !== state.asOf?.given)
    throw invalidError(
      'as_of',
      'A cursor stays on the version on which it began: leave as_of as it was for the first page, or begin again with "cursor": true.',
    );
  return state;
}

/** Returns the text of a cursor, signed so that clients cannot forge one. */
export function writeCursor(state: CursorState, key: Uint8Array): string {
  const { after } = state;
  const encodedState = { ...state, after: after && { ...after, keys: after.keys.map(encodeValue), row: encodeValue(after.row) } }; // prettier-ignore
  return signState(encodedState, 'cursor', key);
}

/** The kind of a cursor; a cursor of another kind is not accepted. */
type CursorKind = 'cursor' | 'diff';

/** Returns a state as signed text; the kind is part of what is signed. */
export function signState(state: object, kind: CursorKind, key: Uint8Array): string {
  const payload = Buffer.from(stringifyJson(state)).toString('base64url');
  return `${payload}.${cursorSignature(payload, kind, key)}`;
}

/** Returns the state that was passed to `signState`; undefined for any other text. */
export function verifySignedState(text: string, kind: CursorKind, key: Uint8Array): unknown {
  const [payload = '', signature = ''] = text.split('.');
  const expectedSignature = Buffer.from(cursorSignature(payload, kind, key));
  const givenSignature = Buffer.from(signature);
  if (
    givenSignature.length !== expectedSignature.length ||
    !timingSafeEqual(givenSignature, expectedSignature)
  )
    return undefined;
  return parseJson(Buffer.from(payload, 'base64url').toString());
}

/** Returns the hash of the keys of a query that must not change between pages; `as_of` is left out, because the cursor contains it. */
export function queryHash(body: unknown): string {
  const { cursor: _, limit: __, facets: ___, explain: ____, as_of: _____, ...query } = isObject(body) ? body : {}; // prettier-ignore
  return createHash('sha256')
    .update(stringifyJson(withSortedKeys(query)))
    .digest('base64url')
    .slice(0, 22);
}

function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, withSortedKeys(member)]));
}

function cursorSignature(payload: string, kind: CursorKind, key: Uint8Array): string {
  return createHmac('sha256', key).update(`${kind} ${payload}`).digest('base64url');
}

function decodeCursor(text: string, key: Uint8Array): CursorState | undefined {
  const state = verifySignedState(text, 'cursor', key) as EncodedCursor | undefined;
  if (state === undefined) return undefined;
  const { after } = state;
  return {
    ...state,
    after: after && {
      file: after.file,
      row: decodeValue(after.row) as Position['row'],
      keys: after.keys.map(decodeValue),
    },
  };
}

/** A state as `writeCursor` writes it. */
type EncodedCursor = Omit<CursorState, 'after'> & {
  readonly after: null | {
    readonly keys: readonly TypedValue[];
    readonly file: number;
    readonly row: TypedValue;
  };
};

/** A value with its type: JSON does not distinguish a whole double from a long. */
type TypedValue = null | readonly ['b' | 's' | 'i' | 'd', string];

function encodeValue(value: Position['keys'][number]): TypedValue {
  if (value === null) return null;
  if (typeof value === 'boolean') return ['b', String(value)];
  if (typeof value === 'string') return ['s', value];
  return typeof value === 'bigint'
    ? ['i', String(value)]
    : ['d', Object.is(value, -0) ? '-0' : String(value)];
}

function decodeValue(value: TypedValue): Position['keys'][number] {
  if (value === null) return null;
  const [type, text] = value;
  if (type === 'b') return text === 'true';
  if (type === 's') return text;
  return type === 'i' ? BigInt(text) : Number(text);
}
