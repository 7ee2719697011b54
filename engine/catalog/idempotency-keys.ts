import { AsyncLocalStorage } from 'node:async_hooks';
import { budgets } from '../core/budgets.js';
import type { Database } from './database.js';
import { sql } from './sql.js';

/** A create request with an idempotency key: the same key from the same user identifies the same create. */
interface IdempotentRequest {
  readonly userId: number;
  readonly key: string;
  readonly operation: string;
  /** A digest of the path, the query and the body of the request. */
  readonly hash: string;
  /** The server process that handles the request; if it died, another may take over the key. */
  readonly owner: string;
}

/** Adds the keys of create requests with an `Idempotency-Key` header; `made_id` is the id of the created resource. */
export const idempotencyKeySchema: readonly string[] = [
  `CREATE TABLE request_keys (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    request_key TEXT NOT NULL,
    operation TEXT NOT NULL,
    hash TEXT NOT NULL,
    owner TEXT NOT NULL,
    made_id BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, request_key))`,
  `CREATE INDEX request_keys_age ON request_keys (created_at)`,
];

/** The state of an idempotency key when a request with it arrives. */
type IdempotencyKeyState =
  /** The create has to be carried out: the key is new, or the server process that handled an earlier request with it has died. */
  | { readonly kind: 'new' }
  /** A create with the key created the resource with this id, which is to be the answer. */
  | { readonly kind: 'replay'; readonly id: number }
  /** Another request with the key is in progress. */
  | { readonly kind: 'busy' }
  /** The key was used for another request. */
  | { readonly kind: 'mismatch' };

/** Idempotency keys, stored for `budgets.idempotencyKeyMs` (threat C8). */
interface IdempotencyKeyTable {
  begin(request: IdempotentRequest, now?: number): Promise<IdempotencyKeyState>;
  /** Deletes a key whose create failed, so that it can be used again; a key whose create succeeded stays. */
  forget(request: RequestKey): Promise<void>;
  /** Deletes expired keys. */
  sweep(now?: number): Promise<void>;
}

/** Returns access to the table of idempotency keys. */
export function idempotencyKeyTable(db: Database): IdempotencyKeyTable {
  const sweep = async (now = Date.now()): Promise<void> => {
    const oldest = now - budgets.idempotencyKeyMs;
    await db.run(sql`DELETE FROM request_keys WHERE created_at < ${oldest}`);
  };
  return {
    begin: (request, now = Date.now()) =>
      db.atomic(async (tx) => {
        const { userId, key, operation, hash, owner } = request;
        await idempotencyKeyTable(tx).sweep(now);
        const knownRequest = await tx.get(sql`SELECT operation, hash, owner, made_id
          FROM request_keys WHERE user_id = ${userId} AND request_key = ${key}`);
        if (knownRequest === undefined) {
          await tx.run(sql`INSERT INTO request_keys
            (user_id, request_key, operation, hash, owner, made_id, created_at)
            VALUES (${userId}, ${key}, ${operation}, ${hash}, ${owner}, NULL, ${now})`);
          return { kind: 'new' };
        }
        if (knownRequest['operation'] !== operation || knownRequest['hash'] !== hash)
          return { kind: 'mismatch' };
        const id = knownRequest['made_id'] as number | null;
        if (id !== null) return { kind: 'replay', id };
        if (knownRequest['owner'] === owner) return { kind: 'busy' };
        // The process `owner` of the key died before its create was committed: resource and key are committed together, and the key has no
        // resource yet.
        await tx.run(sql`UPDATE request_keys SET owner = ${owner}
          WHERE user_id = ${userId} AND request_key = ${key}`);
        return { kind: 'new' };
      }),
    forget: async ({ userId, key }) => {
      await db.run(sql`DELETE FROM request_keys
        WHERE user_id = ${userId} AND request_key = ${key} AND made_id IS NULL`);
    },
    sweep,
  };
}

/** What identifies the request of a create: its user and the user's key. */
type RequestKey = Pick<IdempotentRequest, 'userId' | 'key'>;

const currentRequest = new AsyncLocalStorage<RequestKey>();

/** Runs the create of a request with a key; the first resource that `work` creates is recorded under the key. */
export function withIdempotencyKey<T>(request: RequestKey, work: () => Promise<T>): Promise<T> {
  return currentRequest.run(request, work);
}

/** Returns the idempotency key of the current request; undefined if it has none. */
export function currentIdempotencyKey(): string | undefined {
  return currentRequest.getStore()?.key;
}

/**
 * Records the id of a new resource under the idempotency key of a request, by default the current one, if it has a key and none is recorded
 * yet. To be called in the transaction of the create, so that resource and key are committed together.
 */
export async function recordCreatedId(
  tx: Database,
  id: number,
  request = currentRequest.getStore(),
): Promise<void> {
  if (request === undefined) return;
  const { userId, key } = request;
  await tx.run(sql`UPDATE request_keys SET made_id = ${id}
    WHERE user_id = ${userId} AND request_key = ${key} AND made_id IS NULL`);
}
