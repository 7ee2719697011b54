import { AppError } from '../../engine/core/errors.js';

/**
 * Why a request is refused with 401. All messages begin with the words that clients look for (contract 2.1). Whether a token is unknown,
 * revoked or expired is not told, so that an answer reveals nothing about tokens.
 */
const refusals = {
  missing: 'provided.',
  malformed: 'understood; send the header Authorization: Bearer <token>.',
  contradicting: 'accepted: the header and access_token differ.',
  wrong: 'accepted: the token is unknown, revoked or expired.',
} as const;

/** The error for missing or refused credentials. */
export function unauthenticatedError(reason: keyof typeof refusals): AppError {
  return new AppError('unauthenticated', `Authentication credentials were not ${refusals[reason]}`);
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
  if (found.size > 1) throw unauthenticatedError('contradicting');
  return [...found][0];
}

function fromHeader(header: string): string {
  const match = /^([A-Za-z]+) +(\S+)$/.exec(header.trim());
  const read = match && schemes.get((match[1] ?? '').toLowerCase());
  if (!read) throw unauthenticatedError('malformed');
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
  if (user === '' || password !== '') throw unauthenticatedError('malformed');
  return user;
}
