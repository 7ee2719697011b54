import { AppError } from '../../engine/core/errors.js';

/**
 * The ends of the messages that refuse the credentials of a request with 401, by reason. Each message begins with the words that clients
 * look for (contract 2.1). None tells whether a token is unknown, revoked or expired, so that an answer reveals nothing about tokens.
 */
const refusalMessages = {
  missing: 'provided.',
  malformed: 'understood; send the header Authorization: Bearer <token>.',
  contradicting: 'accepted: the header and access_token differ.',
  wrong: 'accepted: the token is unknown, revoked or expired.',
} as const;

/** Returns the error for missing or refused credentials. */
export function unauthenticatedError(reason: keyof typeof refusalMessages): AppError {
  return new AppError(
    'unauthenticated',
    `Authentication credentials were not ${refusalMessages[reason]}`,
  );
}

/**
 * Returns the secret of a request, from `Authorization: Bearer <secret>` or `Token <secret>` (the scheme in any letter case), from HTTP
 * Basic with the secret as user name, or from `?access_token=`. Undefined if there is none. Throws if the header is malformed, or if two
 * different secrets are given (threat A9).
 */
export function secretOf(
  authorization: string | undefined,
  accessToken: unknown,
): string | undefined {
  const secrets = new Set<string>();
  if (authorization !== undefined && authorization.trim() !== '') {
    secrets.add(secretOfHeader(authorization));
  }
  for (const value of Array.isArray(accessToken) ? accessToken : [accessToken]) {
    if (typeof value === 'string' && value !== '') secrets.add(value);
  }
  if (secrets.size > 1) throw unauthenticatedError('contradicting');
  return [...secrets][0];
}

function secretOfHeader(header: string): string {
  const match = /^([A-Za-z]+) +(\S+)$/.exec(header.trim());
  const readSecret = match && secretReaderByScheme.get((match[1] ?? '').toLowerCase());
  if (!readSecret) throw unauthenticatedError('malformed');
  return readSecret(match[2] ?? '');
}

const secretReaderByScheme = new Map<string, (rest: string) => string>([
  ['bearer', (rest) => rest],
  ['token', (rest) => rest],
  ['basic', basicAuthUser],
]);

function basicAuthUser(encoded: string): string {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = colon === -1 ? text : text.slice(0, colon);
  const password = colon === -1 ? '' : text.slice(colon + 1);
  // The token is the user name; a password is refused, because it would be a second secret.
  if (user === '' || password !== '') throw unauthenticatedError('malformed');
  return user;
}
