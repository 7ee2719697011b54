import { createHash } from 'node:crypto';
import { loadPrincipal } from './access.js';
import type { ApplicationRow } from './applications.js';
import type { Tables } from './catalog-tables.js';
import type { GrantRow } from './grants.js';
import { isSameSecret } from './secrets.js';
import type { TokenRow } from './tokens.js';

/** The lifetime of an access token (contract 18). */
const accessTokenLifetimeMs = 36_000_000;

/** Choice: a refresh token works for 30 days; the token that it is exchanged for works for another 30. */
const refreshTokenLifetimeMs = 30 * 86_400_000;

/** The tokens of a grant. `expiresIn` is in seconds. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresIn: number;
  readonly scope: TokenRow['scope'];
}

/**
 * The reason why no token is issued (RFC 6749, section 5.2). It is returned and not thrown, because the transaction has to commit what the
 * exchange revoked.
 */
export interface ExchangeRefusal {
  readonly error: 'invalid_grant' | 'invalid_scope';
  readonly reason: string;
}

/** A request to exchange an authorization code. */
interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string;
  readonly codeVerifier: string | undefined;
}

/**
 * Exchanges an authorization code for tokens (RFC 6749, section 4.1.3; RFC 7636, section 4.6). A code that was used before revokes the
 * tokens that it was exchanged for (RFC 6749, section 4.1.2). Must run inside `catalog.transaction`.
 */
export async function exchangeCode(
  tx: Tables,
  application: ApplicationRow,
  { code, redirectUri, codeVerifier }: CodeExchange,
  key: Uint8Array,
  now = Date.now(),
): Promise<IssuedTokens | ExchangeRefusal> {
  const grant = await tx.grants.byCode(code, key);
  if (grant?.applicationId !== application.id) {
    return exchangeRefusal('The code is unknown, or was issued to another application.');
  }
  if (grant.codeUsedAt !== null) {
    await tx.grants.revoke(grant.id);
    return exchangeRefusal('The code was used before; what it was exchanged for is revoked.');
  }
  if (grant.expiresAt <= now) return exchangeRefusal('The code has expired.');
  if (grant.redirectUri !== redirectUri) {
    return exchangeRefusal('redirect_uri is not the one of the authorization request.');
  }
  const mistake = verifierMistake(grant, codeVerifier);
  if (mistake !== undefined) return exchangeRefusal(mistake);
  return issueTokens(tx, application, grant, grant.scope, key, now);
}

/**
 * Exchanges a refresh token for new tokens (RFC 6749, section 6). It works once; if it was used before, the grant is revoked, because
 * either the application or a thief has the newer token (RFC 9700, section 4.14.2). Must run inside `catalog.transaction`.
 */
export async function exchangeRefreshToken(
  tx: Tables,
  application: ApplicationRow,
  { token, scope }: { readonly token: string; readonly scope: TokenRow['scope'] | undefined },
  key: Uint8Array,
  now = Date.now(),
): Promise<IssuedTokens | ExchangeRefusal> {
  const grantOfToken = await tx.grants.byRefreshToken(token, key);
  if (grantOfToken?.grant.applicationId !== application.id) {
    return exchangeRefusal(
      'The refresh token is unknown or revoked, or was issued to another application.',
    );
  }
  const { grant, isUsed } = grantOfToken;
  if (isUsed) {
    await tx.grants.revoke(grant.id);
    return exchangeRefusal('The refresh token was used before; the grant is revoked.');
  }
  if (grant.expiresAt <= now) return exchangeRefusal('The refresh token has expired.');
  if (scope !== undefined && !isScopeWithin(scope, grant.scope)) {
    return { error: 'invalid_scope', reason: `Only the scope ${grant.scope} was granted.` };
  }
  const wantedScope = scope ?? grant.scope;
  if (!isScopeWithin(wantedScope, application.scopes)) {
    return {
      error: 'invalid_scope',
      reason: `The application may only have ${application.scopes}.`,
    };
  }
  return issueTokens(tx, application, grant, wantedScope, key, now);
}

/** Whether a scope allows no more than another. */
export function isScopeWithin(scope: TokenRow['scope'], most: TokenRow['scope']): boolean {
  return scope === 'read' || most === 'read write';
}

async function issueTokens(
  tx: Tables,
  application: ApplicationRow,
  { id: grantId, userId }: GrantRow,
  scope: TokenRow['scope'],
  key: Uint8Array,
  now: number,
): Promise<IssuedTokens | ExchangeRefusal> {
  if ((await loadPrincipal(tx, userId)) === undefined)
    return exchangeRefusal('The user was removed.');
  const refreshToken = await tx.grants.nextRefreshToken(
    grantId,
    now + refreshTokenLifetimeMs,
    key,
    now,
  );
  const expiresAt = now + accessTokenLifetimeMs;
  const token = { userId, grantId, name: application.name, scope, expiresAt };
  const { secret } = await tx.tokens.create(token, key);
  return { accessToken: secret, refreshToken, expiresIn: accessTokenLifetimeMs / 1000, scope };
}

/**
 * Returns what is wrong with a code verifier (RFC 7636, section 4.6; RFC 9700, section 4.8.2, for a code without a challenge); undefined if
 * nothing is.
 */
function verifierMistake(
  { codeChallenge }: GrantRow,
  verifier: string | undefined,
): string | undefined {
  if (codeChallenge === null) {
    return verifier === undefined
      ? undefined
      : 'There is a code_verifier, but the authorization request had no code_challenge.';
  }
  if (verifier === undefined) return 'code_verifier is missing.';
  const isVerifier = /^[A-Za-z0-9._~-]{43,128}$/.test(verifier);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return isVerifier && isSameSecret(challenge, codeChallenge)
    ? undefined
    : 'code_verifier does not belong to the code_challenge.';
}

function exchangeRefusal(reason: string): ExchangeRefusal {
  return { error: 'invalid_grant', reason };
}
