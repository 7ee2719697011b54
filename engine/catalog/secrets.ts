import {
  createHmac,
  createSecretKey,
  randomInt,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** What a secret is for. It is part of the hash, so that no secret serves another purpose than its own. */
export type SecretPurpose =
  | 'access token'
  | 'anti-forgery token'
  | 'authorization code'
  | 'client secret'
  | 'invitation'
  | 'refresh token'
  | 'sign-in';

/** Random letters and digits, 5.95 bits of entropy each: 178 bits in 30. */
export function randomSecret(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** The HMAC-SHA-256 of a secret under the server's key, in hexadecimal: the only form in which a secret is stored (threat A7). */
export function hashSecret(purpose: SecretPurpose, secret: string, key: Uint8Array): string {
  let prepared = preparedKeys.get(key);
  if (prepared === undefined) preparedKeys.set(key, (prepared = createSecretKey(key)));
  return createHmac('sha256', prepared).update(`${purpose}\n${secret}`).digest('hex');
}

/** A key that is prepared once makes a hash a third faster; every request needs one. */
const preparedKeys = new WeakMap<Uint8Array, KeyObject>();

/** Compares two texts in a time that depends on their lengths alone. */
export function isSameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
