import { invalidError } from '../core/errors.js';
import type { AuditSubject } from './audit-log.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { hashSecret, isSameSecret, randomSecret } from './secrets.js';
import { conjunctionOf, sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The number of characters of a token; one client rejects a token of any other length (contract 2.1). */
const tokenLength = 30;
const lengthByKind = { token: tokenLength, api_key: 40 } as const;
const secretPattern = /^[A-Za-z0-9_-]{30}$/;
const lastUsedIntervalMs = 60_000;
const expiredRetentionMs = 30 * 86_400_000;

/** A personal access token, an API key, or an access token of an application. The secret is not stored, only its keyed hash. */
export interface TokenRow {
  readonly id: number;
  readonly userId: number;
  readonly kind: keyof typeof lengthByKind;
  /** The grant by which an application got the token; null for the user's own tokens. */
  readonly grantId: number | null;
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
  readonly kind?: TokenRow['kind'];
  readonly grantId?: number;
  readonly name?: string;
  readonly scope?: TokenRow['scope'];
  readonly expiresAt?: number | null;
  /** The secret; random by default. */
  readonly secret?: string;
}

export interface TokenFilter {
  readonly userId?: number;
  readonly name?: string;
  readonly isRevoked?: boolean;
}

/** Tokens and API keys. Only `create` returns the secret; the catalogue stores its HMAC under the server's key (threat A7). */
interface TokenTable {
  get(id: number): Promise<TokenRow | undefined>;
  /** Lists the tokens, newest first. */
  list(filter: TokenFilter, page: Page): Promise<ListedRows<TokenRow>>;
  create(
    token: NewToken,
    key: Uint8Array,
  ): Promise<{ readonly row: TokenRow; readonly secret: string }>;
  /** The token with this secret; undefined if there is none or it is revoked or expired. */
  authenticate(secret: string, key: Uint8Array, now?: number): Promise<TokenRow | undefined>;
  /** The token whose secret has this hash (`hashSecret`); undefined as for `authenticate`. */
  find(hash: string, now?: number): Promise<TokenRow | undefined>;
  /** Records the time of use, at most once a minute. A power failure may lose the time. */
  touch(token: TokenRow, now?: number): Promise<void>;
  update(id: number, patch: Pick<Partial<TokenRow>, 'name'>): Promise<TokenRow | undefined>;
  /**
   * Revokes a token, which is refused from now on. Revoking the token of an application also revokes its grant, and with it the refresh
   * token.
   */
  revoke(id: number): Promise<TokenRow | undefined>;
  /** Revokes all tokens of a user, and deletes the grants and sign-ins of the user. */
  revokeAll(userId: number): Promise<void>;
}

const tokens = tableCodec<TokenRow, { hash: string }>(
  'tokens',
  {
    id: 'plain',
    userId: 'plain',
    kind: 'plain',
    grantId: 'plain',
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

/** A token in the audit log of its user's account: by its name, or its first characters. */
export function tokenSubject({ id, name, prefix }: TokenRow, accountId: number): AuditSubject {
  return { type: 'token', id, name: name || `${prefix}…`, accountId };
}

/** Returns access to the table of tokens. */
export function tokenTable(db: Database): TokenTable {
  const get = async (id: number): Promise<TokenRow | undefined> => {
    const row = await db.get(sql`SELECT ${tokens.columns} FROM tokens WHERE id = ${id}`);
    return row && tokens.parse(row);
  };
  const cache = new RowCache<string, TokenRow>(db);
  const find: TokenTable['find'] = async (hash, now = Date.now()) => {
    // The index lookup compares HMACs, which cannot be chosen without the key; the final comparison is constant-time.
    const token = await cache.get(hash, async () => {
      const row = await db.get(
        sql`SELECT ${tokens.columns}, tokens.hash FROM tokens WHERE hash = ${hash}`,
      );
      if (row === undefined) return undefined;
      return isSameSecret(row['hash'] as string, hash) ? tokens.parse(row) : undefined;
    });
    if (token === undefined) return undefined;
    const isExpired = token.expiresAt !== null && token.expiresAt <= now;
    return token.revokedAt !== null || isExpired ? undefined : token;
  };
  return {
    get,
    list: async ({ userId, name, isRevoked }, page) => {
      const where = conjunctionOf([
        ...(userId === undefined ? [] : [sql`tokens.user_id = ${userId}`]),
        ...(name === undefined ? [] : [sql`tokens.name = ${name}`]),
        ...(isRevoked === undefined ? [] : [sql`(tokens.revoked_at IS NOT NULL) = ${isRevoked}`]),
      ]);
      return listPage(db, tokens, { from: sql`tokens`, where, orderBy: sql`tokens.id DESC` }, page);
    },
    create: async (token, key) => {
      const kind = token.kind ?? 'token';
      const secret = token.secret ?? randomSecret(lengthByKind[kind]);
      if (token.secret !== undefined && !secretPattern.test(secret)) {
        throw invalidError(
          'token',
          `A token consists of exactly ${tokenLength} letters, digits, _ or -.`,
        );
      }
      const hash = hashSecret('access token', secret, key);
      return db.atomic(async (tx) => {
        if ((await tx.get(sql`SELECT id FROM tokens WHERE hash = ${hash}`)) !== undefined) {
          throw invalidError('token', 'This token exists already; choose another.');
        }
        const row: TokenRow = {
          id: await nextSmallId(tx, 'token'),
          userId: token.userId,
          kind,
          grantId: token.grantId ?? null,
          name: token.name ?? '',
          prefix: secret.slice(0, 4),
          scope: token.scope ?? 'read write',
          createdAt: Date.now(),
          expiresAt: token.expiresAt ?? null,
          revokedAt: null,
          lastUsedAt: null,
        };
        // Choice: when a user gets a token, those of the user's tokens that expired more than 30 days ago are deleted.
        await tx.run(sql`DELETE FROM tokens
          WHERE user_id = ${row.userId} AND expires_at < ${row.createdAt - expiredRetentionMs}`);
        await tx.run(tokens.insert({ ...row, hash }));
        await recordCreatedId(tx, row.id);
        return { row, secret };
      });
    },
    authenticate: (secret, key, now) => find(hashSecret('access token', secret, key), now),
    find,
    touch: async (token, now = Date.now()) => {
      if (token.lastUsedAt !== null && now - token.lastUsedAt < lastUsedIntervalMs) return;
      await db.atomic(async (tx) => {
        await tx.run(sql`UPDATE tokens SET last_used_at = ${now} WHERE id = ${token.id}`);
      }, 'unflushed');
    },
    update: async (id, patch) => {
      const change = tokens.update(id, patch);
      if (change !== undefined) await db.run(change);
      return get(id);
    },
    revoke: (id) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        await tx.run(
          sql`UPDATE tokens SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`,
        );
        const row = await tx.get(sql`SELECT ${tokens.columns} FROM tokens WHERE id = ${id}`);
        const token = row && tokens.parse(row);
        if (token?.grantId) await tx.run(sql`DELETE FROM grants WHERE id = ${token.grantId}`);
        return token;
      }),
    revokeAll: (userId) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        await tx.run(
          sql`UPDATE tokens SET revoked_at = ${now} WHERE user_id = ${userId} AND revoked_at IS NULL`,
        );
        // If grants and sign-ins stayed, the user's refresh tokens and sessions would be valid again once the user is restored.
        await tx.run(sql`DELETE FROM grants WHERE user_id = ${userId}`);
        await tx.run(sql`DELETE FROM sign_ins WHERE user_id = ${userId}`);
      }),
  };
}
