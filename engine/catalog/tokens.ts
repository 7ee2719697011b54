import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { invalid } from '../core/errors.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { listPage, type Listed, type Page } from './list-page.js';
import { sql } from './sql.js';
import { table, type Millis } from './table.js';

/** Characters of a secret; one client rejects any other length (contract 2.1). */
const tokenLength = 30;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretPattern = /^[A-Za-z0-9_-]{30}$/;
const touchEveryMs = 60_000;

/** A personal access token. The secret is not stored, only its keyed hash. */
export interface TokenRow {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  /** The first 4 characters of the secret, which identify the token in lists. */
  readonly prefix: string;
  readonly scope: 'read' | 'read write';
  readonly createdAt: Millis;
  readonly expiresAt: Millis | null;
  readonly revokedAt: Millis | null;
  readonly lastUsedAt: Millis | null;
}

export interface NewToken {
  readonly userId: number;
  readonly name?: string;
  readonly scope?: TokenRow['scope'];
  readonly expiresAt?: number | null;
  /** Random if absent. */
  readonly secret?: string;
}

/** Personal access tokens. Only `create` returns the secret; stored is its HMAC under the server's key (threats A7). */
export interface TokenTable {
  get(id: number): Promise<TokenRow | undefined>;
  /** Newest first. */
  list(filter: { readonly userId?: number }, page: Page): Promise<Listed<TokenRow>>;
  create(
    token: NewToken,
    key: Uint8Array,
  ): Promise<{ readonly row: TokenRow; readonly secret: string }>;
  /** The token with this secret; undefined if there is none or it is revoked or expired. */
  authenticate(secret: string, key: Uint8Array, now?: number): Promise<TokenRow | undefined>;
  /** Records the time of use, at most once a minute. */
  touch(token: TokenRow, now?: number): Promise<void>;
  revoke(id: number): Promise<TokenRow | undefined>;
  /** Revokes all tokens of a user. */
  revokeAll(userId: number): Promise<void>;
}

const tokens = table<TokenRow, { hash: string }>(
  'tokens',
  {
    id: 'plain',
    userId: 'plain',
    name: 'plain',
    prefix: 'plain',
    scope: 'plain',
    createdAt: 'plain',
    expiresAt: 'plain',
    revokedAt: 'plain',
    lastUsedAt: 'plain',
  },
  { hash: 'plain' },
);

/** Statements over tokens. */
export function tokenTable(db: Database): TokenTable {
  const get = async (id: number): Promise<TokenRow | undefined> => {
    const row = await db.get(sql`SELECT ${tokens.columns} FROM tokens WHERE id = ${id}`);
    return row && tokens.parse(row);
  };
  const cache = new RowCache<string, TokenRow>(db);
  return {
    get,
    list: async ({ userId }, page) => {
      const where = userId === undefined ? sql`1 = 1` : sql`tokens.user_id = ${userId}`;
      return listPage(db, tokens, { from: sql`tokens`, where, orderBy: sql`tokens.id DESC` }, page);
    },
    create: async (token, key) => {
      const secret = token.secret ?? randomSecret();
      if (!secretPattern.test(secret)) {
        throw invalid(
          'token',
          `A token consists of exactly ${tokenLength} letters, digits, _ or -.`,
        );
      }
      const hash = hashSecret(secret, key);
      if ((await db.get(sql`SELECT id FROM tokens WHERE hash = ${hash}`)) !== undefined) {
        throw invalid('token', 'This token exists already; choose another.');
      }
      const row: TokenRow = {
        id: await nextSmallId(db, 'token'),
        userId: token.userId,
        name: token.name ?? '',
        prefix: secret.slice(0, 4),
        scope: token.scope ?? 'read write',
        createdAt: Date.now(),
        expiresAt: token.expiresAt ?? null,
        revokedAt: null,
        lastUsedAt: null,
      };
      await db.run(tokens.insert({ ...row, hash }));
      return { row, secret };
    },
    authenticate: async (secret, key, now = Date.now()) => {
      // The index lookup compares HMACs, which cannot be chosen without the key; the final comparison is constant-time.
      const hash = hashSecret(secret, key);
      const token = await cache.get(hash, async () => {
        const row = await db.get(
          sql`SELECT ${tokens.columns}, tokens.hash FROM tokens WHERE hash = ${hash}`,
        );
        if (row === undefined) return undefined;
        const isSame = timingSafeEqual(Buffer.from(row['hash'] as string), Buffer.from(hash));
        return isSame ? tokens.parse(row) : undefined;
      });
      if (token === undefined) return undefined;
      const isExpired = token.expiresAt !== null && token.expiresAt <= now;
      return token.revokedAt !== null || isExpired ? undefined : token;
    },
    touch: async (token, now = Date.now()) => {
      if (token.lastUsedAt !== null && now - token.lastUsedAt < touchEveryMs) return;
      await db.run(sql`UPDATE tokens SET last_used_at = ${now} WHERE id = ${token.id}`);
    },
    revoke: async (id) => {
      await db.run(
        sql`UPDATE tokens SET revoked_at = ${Date.now()} WHERE id = ${id} AND revoked_at IS NULL`,
      );
      return get(id);
    },
    revokeAll: async (userId) => {
      await db.run(
        sql`UPDATE tokens SET revoked_at = ${Date.now()}
          WHERE user_id = ${userId} AND revoked_at IS NULL`,
      );
    },
  };
}

/** 30 characters out of 62: 178 bits of entropy. */
export function randomSecret(): string {
  return Array.from({ length: tokenLength }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** HMAC of a secret. The purpose is part of the input, because the same key also signs URLs. */
export function hashSecret(
  secret: string,
  key: Uint8Array,
  purpose: 'access token' | 'invitation' = 'access token',
): string {
  return createHmac('sha256', key).update(`${purpose}\n`).update(secret).digest('hex');
}
