import type { Database } from './database.js';
import { hashSecret, randomSecret } from './secrets.js';
import { sql } from './sql.js';

/**
 * How long a sign-in is valid. A link can be used once; the command line prints it, and using it starts a session. A session belongs to the
 * cookie of a browser and gives access only to the authorization page.
 */
const lifetimesMs = { link: 15 * 60_000, session: 8 * 3_600_000 } as const;
type SignInKind = keyof typeof lifetimesMs;

/** Sign-ins, which are links and sessions. Only hashes of their secrets are stored. */
interface SignInTable {
  /** Creates a sign-in and returns its secret. */
  create(kind: SignInKind, userId: number, key: Uint8Array, now?: number): Promise<string>;
  /** Returns the id of the user of a sign-in; undefined if the secret is unknown or has expired. */
  find(
    kind: SignInKind,
    secret: string,
    key: Uint8Array,
    now?: number,
  ): Promise<number | undefined>;
  /** Ends a sign-in and returns whether it existed: of several calls with the same secret, one returns true. */
  end(secret: string, key: Uint8Array): Promise<boolean>;
}

/** Returns access to the table of sign-ins. */
export function signInTable(db: Database): SignInTable {
  return {
    create: (kind, userId, key, now = Date.now()) =>
      db.atomic(async (tx) => {
        const secret = randomSecret(40);
        const expiresAt = now + lifetimesMs[kind];
        await tx.run(sql`DELETE FROM sign_ins WHERE expires_at <= ${now}`);
        await tx.run(sql`INSERT INTO sign_ins (hash, user_id, kind, expires_at)
          VALUES (${hashSecret('sign-in', secret, key)}, ${userId}, ${kind}, ${expiresAt})`);
        return secret;
      }),
    find: async (kind, secret, key, now = Date.now()) => {
      const row = await db.get(sql`SELECT user_id FROM sign_ins
        WHERE hash = ${hashSecret('sign-in', secret, key)} AND kind = ${kind} AND expires_at > ${now}`);
      return row?.['user_id'] as number | undefined;
    },
    end: async (secret, key) => {
      const hash = hashSecret('sign-in', secret, key);
      return (await db.run(sql`DELETE FROM sign_ins WHERE hash = ${hash}`)) > 0;
    },
  };
}
