import { loadPrincipal, type Principal } from '../../../engine/catalog/access.js';
import { hashSecret, isSameSecret, randomSecret } from '../../../engine/catalog/secrets.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';

/** The session of a browser that visits the authorization page, before or after a sign-in. */
export interface BrowserSession {
  /** The value of its cookie; after a sign-in, the secret of the session. */
  readonly cookie: string;
  /** The user who has signed in; undefined if nobody has. */
  readonly principal: Principal | undefined;
  /** The value that the forms on its pages contain; no other site can read or compute it. */
  readonly csrfToken: string;
}

/** Returns the session of the browser that sends a request, recognised by its cookie; a browser without a cookie gets a new one. */
export async function ensureBrowserSession(
  { catalog, signingKey }: AppContext,
  request: ApiRequest,
  reply: ApiReply,
): Promise<BrowserSession> {
  const existingCookie = sessionCookieOf(request);
  const cookie = existingCookie ?? randomSecret(40);
  if (existingCookie === undefined) setCookie(request, reply, cookie);
  const userId =
    existingCookie === undefined
      ? undefined
      : await catalog.signIns.find('session', existingCookie, signingKey);
  return {
    cookie,
    principal: userId === undefined ? undefined : await loadPrincipal(catalog, userId),
    csrfToken: hashSecret('anti-forgery token', cookie, signingKey),
  };
}

/** Returns whether a form was sent by a page that this server gave to this browser. */
export function hasValidCsrfToken({ csrfToken }: BrowserSession, body: unknown): boolean {
  const givenToken = (body as { csrf_token?: unknown } | null)?.csrf_token;
  return typeof givenToken === 'string' && isSameSecret(givenToken, csrfToken);
}

/** Starts a session of the user under a new cookie, so that nobody can choose the secret of the session beforehand. */
export async function signIn(
  { catalog, signingKey }: AppContext,
  request: ApiRequest,
  reply: ApiReply,
  userId: number,
): Promise<void> {
  await signOut({ catalog, signingKey }, request, reply);
  setCookie(request, reply, await catalog.signIns.create('session', userId, signingKey));
}

/** Ends the session of the browser and sets a new cookie. */
export async function signOut(
  { catalog, signingKey }: Pick<AppContext, 'catalog' | 'signingKey'>,
  request: ApiRequest,
  reply: ApiReply,
): Promise<void> {
  const existingCookie = sessionCookieOf(request);
  if (existingCookie !== undefined) await catalog.signIns.end(existingCookie, signingKey);
  setCookie(request, reply, randomSecret(40));
}

/**
 * Returns the name of the cookie. With TLS, the prefix `__Host-` keeps other hosts of the domain from setting the cookie (RFC 6265bis,
 * section 4.1.3.2).
 * Choice: below a path prefix, the cookie is limited to that path, so that it is not sent to other programs on the host. Its name then
 * begins with `__Secure-`, because `__Host-` requires the path `/`; other hosts of the domain that use TLS can set such a cookie.
 */
function cookieNameFor({ origin, pathPrefix }: ApiRequest): string {
  if (!origin.startsWith('https:')) return 'strandlake';
  return pathPrefix === '' ? '__Host-strandlake' : '__Secure-strandlake';
}

function sessionCookieOf(request: ApiRequest): string | undefined {
  const cookieName = cookieNameFor(request);
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const value = pairs.find(([name]) => name === cookieName)?.[1] ?? '';
  return /^[A-Za-z0-9]{40}$/.test(value) ? value : undefined;
}

/**
 * Sets the cookie of a browser session. It is `SameSite=Lax`, because users come from the pages of applications; a CSRF token protects the
 * forms as well.
 */
function setCookie(request: ApiRequest, reply: ApiReply, value: string): void {
  const secureAttribute = request.origin.startsWith('https:') ? '; Secure' : '';
  reply.header(
    'Set-Cookie',
    `${cookieNameFor(request)}=${value}; Path=${request.pathPrefix || '/'}; HttpOnly; SameSite=Lax${secureAttribute}`,
  );
}
