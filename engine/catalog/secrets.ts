import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** What a secret is for. It is part of the hash, so that no secret serves another purpose than its own. */
export type SecretPurpose = 'access token' | 'invitation';

/** Random letters and digits, 5.95 bits of entropy each: 178 bits in 30. */
export function randomSecret(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** The HMAC-SHA-256 of a secret under the server's key, in hexadecimal: the only form in which a secret is stored (threat A7). */
export function hashSecret(purpose: SecretPurpose, secret: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(`${purpose}\n`).update(secret).digest('hex');
}

/** Compares two texts in a time that depends on their lengths alone. */
export function isSameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
