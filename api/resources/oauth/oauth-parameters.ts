import { clientSecretOf, type ApplicationRow } from '../../../engine/catalog/applications.js';
import { isSameSecret } from '../../../engine/catalog/secrets.js';
import { AppError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { readId } from '../../http/form.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';

/** The parameters of a request to the token or revocation endpoint, each given once and not empty (RFC 6749, section 3.2; RFC 7009). */
export type OauthParameters = ReadonlyMap<string, string>;

/** Returns an error of the token or revocation endpoint (RFC 6749, section 5.2): 400, or 401 for a refused client that used HTTP Basic. */
export function oauthError(error: string, reason: string, isBasic = false): AppError {
  const fields = { error, error_description: reason };
  return new AppError(isBasic ? 'unauthenticated' : 'invalid', reason, fields);
}

/**
 * Reads the parameters from a form-encoded or JSON body. Throws `invalid_request` for a parameter that is repeated, or is neither a text
 * nor a number; empty texts and null are left out.
 */
export function oauthParameters(body: unknown): OauthParameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(body ?? {}) as [string, unknown][]) {
    if (value === '' || value === null) continue;
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string') {
      throw oauthError('invalid_request', 'A parameter is given more than once, or is no text.');
    }
    parameters.set(name, text);
  }
  return parameters;
}

/** Returns the value of a required parameter. Throws `invalid_request` if it is missing. */
export function requiredParameter(parameters: OauthParameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw oauthError('invalid_request', `${name} is missing.`);
  return value;
}

/** The client identifier and the secret that a request presents. */
interface ClientCredentials {
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly isBasic: boolean;
}

/**
 * Returns the application that sends a request, identified by HTTP Basic or by `client_id` and `client_secret` in the body (RFC 6749,
 * section 2.3.1). A confidential application must present its secret; any secret presented must be right.
 */
export async function authenticateClient(
  { catalog, signingKey }: AppContext,
  request: ApiRequest,
  reply: ApiReply,
  parameters: OauthParameters,
): Promise<ApplicationRow> {
  const { clientId, secret, isBasic } = credentialsOf(request.headers.authorization, parameters);
  if (isBasic) reply.header('WWW-Authenticate', 'Basic realm="oauth2"');
  const id = /^[1-9]\d*$/.test(clientId) ? readId(clientId) : undefined;
  const application = id === undefined ? undefined : await catalog.applications.get(id);
  const isAuthenticated =
    application !== undefined &&
    (secret === undefined
      ? application.clientType === 'public'
      : isSameSecret(secret, clientSecretOf(application, signingKey)));
  if (isAuthenticated) return application;
  const reason =
    application !== undefined && secret === undefined
      ? 'client_secret is missing; only an application of the client_type public may leave it out, and has to use PKCE.'
      : 'No application has this client_id and client_secret.';
  throw oauthError('invalid_client', reason, isBasic);
}

function credentialsOf(
  authorization: string | undefined,
  parameters: OauthParameters,
): ClientCredentials {
  const bodyCredentials = {
    clientId: parameters.get('client_id'),
    secret: parameters.get('client_secret'),
  };
  const encodedCredentials = /^basic +(\S+)$/i.exec(authorization?.trim() ?? '')?.[1];
  if (encodedCredentials === undefined) {
    if (bodyCredentials.clientId === undefined)
      throw oauthError('invalid_client', 'client_id is missing.');
    return { clientId: bodyCredentials.clientId, secret: bodyCredentials.secret, isBasic: false };
  }
  const [id = '', ...rest] = Buffer.from(encodedCredentials, 'base64').toString('utf8').split(':');
  const [clientId, secret] = [decodeFormText(id), decodeFormText(rest.join(':'))];
  if (bodyCredentials.secret !== undefined || (bodyCredentials.clientId ?? clientId) !== clientId) {
    const reason = 'The client is authenticated twice; use the header or the body.';
    throw oauthError('invalid_request', reason);
  }
  return { clientId, secret, isBasic: true };
}

/** Decodes the user name or password of HTTP Basic, which the client form-encodes first (RFC 6749, section 2.3.1). */
function decodeFormText(text: string): string {
  return new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? '';
}
