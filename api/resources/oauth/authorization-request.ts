import type { ApplicationRow } from '../../../engine/catalog/applications.js';
import type { Catalog } from '../../../engine/catalog/catalog.js';
import { isScopeWithin } from '../../../engine/catalog/grant-exchange.js';
import type { TokenRow } from '../../../engine/catalog/tokens.js';
import { readId } from '../../http/form.js';
import type { QueryParams } from '../../http/page.js';

/** A valid authorization request (RFC 6749, section 4.1.1; RFC 7636, section 4.3). */
export interface AuthorizationRequest {
  readonly kind: 'valid';
  readonly application: ApplicationRow;
  readonly redirectUri: string;
  readonly scope: TokenRow['scope'];
  readonly state: string | undefined;
  /** The issuer identifier of this server (RFC 9207, section 2). */
  readonly issuer: string;
  readonly codeChallenge: string | null;
}

/**
 * A refused authorization request. `returnTo` leads back to the application with the error (RFC 6749, section 4.1.2.1); null if the
 * application or its redirection URI is not verified.
 * Choice: the page of an invalid request has a link back to the application, which the user may follow. A redirection without consent would
 * make the server an open redirector for whoever registers an application (RFC 9700, section 4.11.2).
 */
interface RefusedRequest {
  readonly kind: 'refused';
  readonly message: string;
  readonly returnTo: string | null;
}

/** Reads and checks the query string of an authorization request to the server that `issuer` names. */
export async function readAuthorizationRequest(
  { applications }: Pick<Catalog, 'applications'>,
  query: QueryParams,
  issuer: string,
): Promise<AuthorizationRequest | RefusedRequest> {
  const clientId = singleParam(query, 'client_id');
  if (clientId === undefined)
    return refusedRequest('client_id is missing, or given more than once.');
  const id = /^[1-9]\d*$/.test(clientId) ? readId(clientId) : undefined;
  const application = id === undefined ? undefined : await applications.get(id);
  if (application === undefined) return refusedRequest('No application has this client_id.');
  const redirectUri = singleParam(query, 'redirect_uri');
  if (redirectUri === undefined)
    return refusedRequest('redirect_uri is missing, or given more than once.');
  // The redirect URI must equal a registered one byte by byte, without normalisation (RFC 9700, section 2.1).
  if (!application.redirectUris.split(' ').includes(redirectUri)) {
    return refusedRequest('The application has not registered this redirect_uri.');
  }
  const state = singleParam(query, 'state');
  const refuse = (error: string, reason: string): RefusedRequest => ({
    kind: 'refused',
    message: reason,
    returnTo: authorizationResponseUrl(
      { redirectUri, state, issuer },
      { error, error_description: reason },
    ),
  });
  const repeatedName = Object.keys(query).find((name) => Array.isArray(query[name]));
  if (repeatedName !== undefined) {
    return refuse('invalid_request', 'A parameter is given more than once.');
  }
  const responseType = singleParam(query, 'response_type');
  if (responseType === undefined) return refuse('invalid_request', 'response_type is missing.');
  if (responseType !== 'code') {
    return refuse('unsupported_response_type', 'The only response_type is code.');
  }
  const scope = scopeOf(singleParam(query, 'scope')) ?? null;
  const requestedScope = singleParam(query, 'scope') === undefined ? application.scopes : scope;
  if (requestedScope === null || !isScopeWithin(requestedScope, application.scopes)) {
    return refuse('invalid_scope', `The application may only have ${application.scopes}.`);
  }
  const codeChallenge = singleParam(query, 'code_challenge') ?? null;
  if (codeChallenge === null) {
    if (application.clientType === 'public') {
      return refuse('invalid_request', 'code_challenge is missing: a public client uses PKCE.');
    }
    if (singleParam(query, 'code_challenge_method') !== undefined) {
      return refuse('invalid_request', 'code_challenge_method without code_challenge.');
    }
  } else if (singleParam(query, 'code_challenge_method') !== 'S256') {
    return refuse('invalid_request', 'code_challenge_method must be S256.');
  } else if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) {
    return refuse('invalid_request', 'code_challenge must be base64url of a SHA-256.');
  }
  return {
    kind: 'valid',
    application,
    redirectUri,
    scope: requestedScope,
    state,
    issuer,
    codeChallenge,
  };
}

/**
 * Returns the scope that a text of scopes separated by spaces names (RFC 6749, section 3.3); undefined if one is unknown or if there is
 * none. `write` includes `read`.
 */
export function scopeOf(text: string | undefined): TokenRow['scope'] | undefined {
  const names = (text ?? '').split(' ').filter(Boolean);
  if (names.length === 0 || !names.every((name) => name === 'read' || name === 'write')) {
    return undefined;
  }
  return names.includes('write') ? 'read write' : 'read';
}

/**
 * Returns the address by which an authorization response or an error returns to the application: its redirection URI, unchanged, with these
 * parameters, the state of the request and the issuer (RFC 6749, section 4.1.2; RFC 9207, section 2).
 */
export function authorizationResponseUrl(
  { redirectUri, state, issuer }: Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'issuer'>,
  parameters: Readonly<Record<string, string>>,
): string {
  const responseParameters = new URLSearchParams(parameters);
  if (state !== undefined) responseParameters.set('state', state);
  responseParameters.set('iss', issuer);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${responseParameters}`;
}

/** Returns the value of a parameter; undefined if the parameter is missing, empty or given more than once (RFC 6749, section 3.1). */
function singleParam(query: QueryParams, name: string): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function refusedRequest(message: string): RefusedRequest {
  return { kind: 'refused', message, returnTo: null };
}
