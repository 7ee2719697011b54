import { randomBytes, scrypt } from 'node:crypto';
import { invalidError } from '../core/errors.js';
import type { Database } from './database.js';
import { isSameSecret } from './secrets.js';
import { sql } from './sql.js';

/**
 * The cost of scrypt (RFC 7914): 32 MiB and three passes, which OWASP's "Password Storage Cheat Sheet" considers equivalent to 128 MiB and
 * one pass. These parameters are stored with every hash, so that a later release can raise them.
 */
const currentCost = { ln: 15, r: 8, p: 3 } as const;
type ScryptCost = { readonly [K in keyof typeof currentCost]: number };
const saltBytes = 16;
const hashBytes = 32;

/**
 * Choice: a password has at least 15 characters, as NIST SP 800-63B-4 requires if it is the only factor, and no rules about kinds of
 * characters.
 */
const minPasswordCharacters = 15;
const maxPasswordCharacters = 256;

/** The passwords of users; each user has at most one. */
interface PasswordTable {
  /** The hash of the user's password; undefined if none is set. */
  get(userId: number): Promise<string | undefined>;
  /** Sets the password of a user and ends their sign-ins, both links and sessions. `hash` comes from `hashPassword`. */
  set(userId: number, hash: string): Promise<void>;
}

/** Returns access to the table of passwords. */
export function passwordTable(db: Database): PasswordTable {
  return {
    get: async (userId) => {
      const row = await db.get(sql`SELECT hash FROM passwords WHERE user_id = ${userId}`);
      return row?.['hash'] as string | undefined;
    },
    set: (userId, hash) =>
      db.atomic(async (tx) => {
        await tx.run(sql`INSERT INTO passwords (user_id, hash, changed_at)
          VALUES (${userId}, ${hash}, ${Date.now()})
          ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at`);
        await tx.run(sql`DELETE FROM sign_ins WHERE user_id = ${userId}`);
      }),
  };
}

/**
 * The salted hash of a password, in PHC string format: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. Throws a validation error of `field` for a
 * password that is too short or too long.
 */
export async function hashPassword(password: string, field = 'password'): Promise<string> {
  const characterCount = [...normalizePassword(password)].length;
  if (characterCount < minPasswordCharacters || characterCount > maxPasswordCharacters) {
    throw invalidError(
      field,
      `A password has ${minPasswordCharacters} to ${maxPasswordCharacters} characters; this one has ${characterCount}.`,
    );
  }
  const salt = randomBytes(saltBytes);
  return phcString(currentCost, salt, await deriveKey(password, salt, currentCost));
}

/**
 * Whether a password has this hash. If there is no hash, the answer is false and takes as long, so that the time does not reveal whether
 * the user exists (threat A9).
 */
export async function isCorrectPassword(
  password: string,
  hash: string | undefined,
): Promise<boolean> {
  const storedHash =
    hash ?? phcString(currentCost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes));
  const match = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$[\w+/]+$/.exec(storedHash);
  if (match === null) throw new Error('a stored password is no hash of scrypt');
  const [ln = 0, r = 0, p = 0] = match.slice(1, 4).map(Number);
  const salt = Buffer.from(match[4] ?? '', 'base64');
  const derived = phcString({ ln, r, p }, salt, await deriveKey(password, salt, { ln, r, p }));
  return isSameSecret(derived, storedHash) && hash !== undefined;
}

/**
 * Normalizes to NFKC, so that a password is the same from every keyboard. NIST SP 800-63B-4 (section 3.1.1.2) recommends NFC; NFKC also makes
 * compatibility characters equal, such as full-width letters.
 */
function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

function deriveKey(password: string, salt: Uint8Array, { ln, r, p }: ScryptCost): Promise<Buffer> {
  const N = 2 ** ln;
  const options = { N, r, p, maxmem: 2 * 128 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(normalizePassword(password), salt, hashBytes, options, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}

function phcString({ ln, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpaddedBase64(salt)}$${unpaddedBase64(hash)}`;
}

function unpaddedBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
