import {
  createHmac,
  createSecretKey,
  randomInt,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';

const secretAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The purpose of a secret. It is part of the hash, so that a secret serves one purpose only. */
type SecretPurpose =
  | 'access token'
  | 'anti-forgery token'
  | 'authorization code'
  | 'client secret'
  | 'invitation'
  | 'refresh token'
  | 'sign-in';

/** Random letters and digits, 5.95 bits of entropy each: 178 bits in 30. */
export function randomSecret(length: number): string {
  return Array.from({ length }, () => secretAlphabet[randomInt(secretAlphabet.length)]).join('');
}

/**
 * Returns the HMAC-SHA-256 of a secret under the server's key, in hexadecimal: the only form in which secrets of these purposes are stored
 * (threat A7).
 */
export function hashSecret(purpose: SecretPurpose, secret: string, key: Uint8Array): string {
  let preparedKey = keyObjectByBytes.get(key);
  if (preparedKey === undefined) keyObjectByBytes.set(key, (preparedKey = createSecretKey(key)));
  return createHmac('sha256', preparedKey).update(`${purpose}\n${secret}`).digest('hex');
}

/** Keys prepared for hashing. A prepared key makes a hash a third faster, and every request needs a hash. */
const keyObjectByBytes = new WeakMap<Uint8Array, KeyObject>();

/** Compares two texts in a time that depends only on their lengths. */
export function isSameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
