import { AppError } from '../../engine/core/errors.js';

/** The message that clients expect on a 401 (contract 2.1). */
export const notProvided = 'Authentication credentials were not provided.';

/** The error for missing, wrong or contradicting credentials: the same message for all, so that it reveals nothing. */
export function unauthenticated(): AppError {
  return new AppError('unauthenticated', notProvided);
}

/**
 * The secret that a request carries: `Authorization: Bearer|Token <secret>` in any case, HTTP Basic with the secret as
 * user name, or `?access_token=`. Undefined without any; two that disagree are refused (threat A9).
 */
export function secretOf(
  authorization: string | undefined,
  accessToken: unknown,
): string | undefined {
  const found = new Set<string>();
  if (authorization !== undefined && authorization.trim() !== '') {
    found.add(fromHeader(authorization));
  }
  for (const value of Array.isArray(accessToken) ? accessToken : [accessToken]) {
    if (typeof value === 'string' && value !== '') found.add(value);
  }
  if (found.size > 1) throw unauthenticated();
  return [...found][0];
}

function fromHeader(header: string): string {
  const match = /^([A-Za-z]+) +(\S+)$/.exec(header.trim());
  const read = match && schemes.get((match[1] ?? '').toLowerCase());
  if (!read) throw unauthenticated();
  return read(match[2] ?? '');
}

const schemes = new Map<string, (rest: string) => string>([
  ['bearer', (rest) => rest],
  ['token', (rest) => rest],
  ['basic', basicUser],
]);

function basicUser(encoded: string): string {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = colon === -1 ? text : text.slice(0, colon);
  const password = colon === -1 ? '' : text.slice(colon + 1);
  // The token is the user name; a password is refused, because it would be a second secret.
  if (user === '' || password !== '') throw unauthenticated();
  return user;
}
