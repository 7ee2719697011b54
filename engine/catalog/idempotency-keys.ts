import { AsyncLocalStorage } from 'node:async_hooks';
import { budgets } from '../core/budgets.js';
import type { Database } from './database.js';
import { sql } from './sql.js';

/** A create that its client may send again: the same key from the same user means the same create. */
export interface IdempotentRequest {
  readonly userId: number;
  readonly key: string;
  /** Which create it is, and a digest of its body. */
  readonly operation: string;
  readonly hash: string;
  /** Which process works on it: one that has died will not finish. */
  readonly owner: string;
}

/** What is known of a create that has come. */
export type KeyState =
  /** Nothing: it is to be carried out now. */
  | { readonly kind: 'new' }
  /** It has been carried out, and made this. */
  | { readonly kind: 'made'; readonly id: number }
  /** Another request with the key is being carried out at this moment. */
  | { readonly kind: 'busy' }
  /** The key was used for something else. */
  | { readonly kind: 'other' };

/** The keys of creates, for as long as their clients may come again (threats C8). */
export interface IdempotencyKeyTable {
  begin(request: IdempotentRequest, now?: number): Promise<KeyState>;
  /** Nothing was made: the key is free again. One that made something stays. */
  forget(request: Pick<IdempotentRequest, 'userId' | 'key'>): Promise<void>;
  /** Forgets the keys whose time is over. */
  sweep(now?: number): Promise<void>;
}

/** The keys of a catalogue. */
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
        const known = await tx.get(sql`SELECT operation, hash, owner, made_id
          FROM request_keys WHERE user_id = ${userId} AND request_key = ${key}`);
        if (known === undefined) {
          await tx.run(sql`INSERT INTO request_keys
            (user_id, request_key, operation, hash, owner, made_id, created_at)
            VALUES (${userId}, ${key}, ${operation}, ${hash}, ${owner}, NULL, ${now})`);
          return { kind: 'new' };
        }
        if (known['operation'] !== operation || known['hash'] !== hash) return { kind: 'other' };
        const id = known['made_id'] as number | null;
        if (id !== null) return { kind: 'made', id };
        if (known['owner'] === owner) return { kind: 'busy' };
        // Its process died before it made anything, or the two would stand in one transaction.
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

const current = new AsyncLocalStorage<Pick<IdempotentRequest, 'userId' | 'key'>>();

/** Carries out the create of a key: the first thing that `work` makes is what the key stands for. */
export function withIdempotencyKey<T>(
  request: Pick<IdempotentRequest, 'userId' | 'key'>,
  work: () => Promise<T>,
): Promise<T> {
  return current.run(request, work);
}

/**
 * Called by every create in its own transaction, so that after a kill at any moment either both the thing and its key are
 * there or neither is. Most creates come without a key: then nothing happens.
 */
export async function recordCreated(tx: Database, id: number): Promise<void> {
  const request = current.getStore();
  if (request === undefined) return;
  const { userId, key } = request;
  await tx.run(sql`UPDATE request_keys SET made_id = ${id}
    WHERE user_id = ${userId} AND request_key = ${key} AND made_id IS NULL`);
}
