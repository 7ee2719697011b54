import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { hashSecret, randomSecret } from './secrets.js';
import { sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';
import type { TokenRow } from './tokens.js';

/** The time for which an authorization code works (RFC 6749, section 4.1.2, recommends ten minutes at most). */
const codeLifetimeMs = 60_000;

/** What a user has granted to an application by one authorization: the code, and the tokens for which it was exchanged. */
export interface GrantRow {
  readonly id: number;
  readonly userId: number;
  readonly applicationId: number;
  readonly scope: TokenRow['scope'];
  readonly redirectUri: string;
  /** The S256 code challenge of the authorization request (RFC 7636, section 4.2); null if it had none. */
  readonly codeChallenge: string | null;
  readonly codeUsedAt: Millis | null;
  readonly createdAt: Millis;
  /** When the code expires; after its exchange, when the refresh token expires. */
  readonly expiresAt: Millis;
}

type NewGrant = Pick<
  GrantRow,
  'userId' | 'applicationId' | 'scope' | 'redirectUri' | 'codeChallenge'
>;

/** Grants. Only hashes of codes and refresh tokens are stored. A grant that is revoked is deleted, with its tokens. */
interface GrantTable {
  get(id: number): Promise<GrantRow | undefined>;
  /** Creates a grant and returns its authorization code. */
  create(grant: NewGrant, key: Uint8Array, now?: number): Promise<string>;
  byCode(code: string, key: Uint8Array): Promise<GrantRow | undefined>;
  byRefreshToken(
    token: string,
    key: Uint8Array,
  ): Promise<{ readonly grant: GrantRow; readonly isUsed: boolean } | undefined>;
  /** Marks the code, and all earlier refresh tokens of the grant, as used; returns a new refresh token. */
  nextRefreshToken(id: number, expiresAt: Millis, key: Uint8Array, now?: number): Promise<string>;
  revoke(id: number): Promise<void>;
}

const grants = tableCodec<GrantRow, { codeHash: string }>(
  'grants',
  {
    id: 'plain',
    userId: 'plain',
    applicationId: 'plain',
    scope: 'plain',
    redirectUri: 'plain',
    codeChallenge: 'plain',
    codeUsedAt: 'plain',
    createdAt: 'plain',
    expiresAt: 'plain',
  },
  { codeHash: 'plain' },
);

/** Returns access to the table of grants. */
export function grantTable(db: Database): GrantTable {
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${grants.columns} FROM grants WHERE id = ${id}`);
      return row && grants.parse(row);
    },
    create: (grant, key, now = Date.now()) =>
      db.atomic(async (tx) => {
        const code = randomSecret(40);
        const codeHash = hashSecret('authorization code', code, key);
        const id = await nextSmallId(tx, 'grant');
        const grantTimes = { codeUsedAt: null, createdAt: now, expiresAt: now + codeLifetimeMs };
        await tx.run(sql`DELETE FROM grants WHERE expires_at <= ${now}`);
        await tx.run(grants.insert({ ...grant, ...grantTimes, id, codeHash }));
        return code;
      }),
    byCode: async (code, key) => {
      const hash = hashSecret('authorization code', code, key);
      const row = await db.get(sql`SELECT ${grants.columns} FROM grants WHERE code_hash = ${hash}`);
      return row && grants.parse(row);
    },
    byRefreshToken: async (token, key) => {
      const hash = hashSecret('refresh token', token, key);
      const row = await db.get(sql`SELECT ${grants.columns}, refresh_tokens.used_at AS used_at
        FROM refresh_tokens JOIN grants ON grants.id = refresh_tokens.grant_id
        WHERE refresh_tokens.hash = ${hash}`);
      return row && { grant: grants.parse(row), isUsed: row['used_at'] !== null };
    },
    nextRefreshToken: (id, expiresAt, key, now = Date.now()) =>
      db.atomic(async (tx) => {
        const token = randomSecret(40);
        const hash = hashSecret('refresh token', token, key);
        await tx.run(sql`UPDATE refresh_tokens SET used_at = ${now}
          WHERE grant_id = ${id} AND used_at IS NULL`);
        await tx.run(
          sql`INSERT INTO refresh_tokens (hash, grant_id, used_at) VALUES (${hash}, ${id}, ${null})`,
        );
        await tx.run(sql`UPDATE grants SET expires_at = ${expiresAt},
          code_used_at = coalesce(code_used_at, ${now}) WHERE id = ${id}`);
        // The newest token of a grant stays until the grant ends, even after it has expired, because it represents the grant in the list of
        // the user's tokens.
        await tx.run(sql`DELETE FROM tokens WHERE grant_id = ${id} AND expires_at <= ${now}`);
        return token;
      }),
    revoke: async (id) => {
      await db.run(sql`DELETE FROM grants WHERE id = ${id}`);
    },
  };
}
