import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { exchangeRefreshToken } from '../../../engine/catalog/grant-exchange.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, idOf, listOf, sendRequest, type Answer, type Client } from '../server.js';
import { FormBrowser } from './browser.js';

/*
 * Tests OAuth2 section by section against RFC 6749, 7636 (PKCE), 7009 (revocation), 8414 (metadata), 9207 (issuer) and 9700 (security), as
 * threat A10 requires.
 */

const { server, ann } = await startServerFixture();
const passphrase = 'correct horse battery';
const callbackUrl = 'https://apps.example.org/callback?x=1';

interface RegisteredApp {
  readonly id: string;
  readonly secret: string;
}
let confidentialApp: RegisteredApp;
let publicApp: RegisteredApp;
let bob: Client;
let eve: Client;

beforeAll(async () => {
  bob = await server.user('bob');
  eve = await server.user('eve', { domain: 'other' });
  await bob.put('/v1/user/password', { password: passphrase });
  confidentialApp = await registerApp({ scopes: 'read write' });
  publicApp = await registerApp({ client_type: 'public' });
});

async function registerApp(more: object = {}): Promise<RegisteredApp> {
  const body = { name: 'Browser', redirect_uris: `${callbackUrl} http://127.0.0.1:9/cb`, ...more };
  const id = String(idOf(await ann.post('/v2/applications', body)));
  const secret = String((await ann.get(`/v2/applications/${id}/secret`)).json['client_secret']);
  return { id, secret };
}

const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');
const pkceParameters = { code_challenge: challenge, code_challenge_method: 'S256' };

type FormFields = Readonly<Record<string, string>>;

function authorizationUrl(app: RegisteredApp, more: FormFields = {}): string {
  const fields = { response_type: 'code', client_id: app.id, redirect_uri: callbackUrl, state: 's t&=', ...more }; // prettier-ignore
  return `/authorize?${new URLSearchParams(fields)}`;
}

/** Returns a browser in which a user has signed in, at the page that asks for consent. */
async function openBrowserAtConsent(
  app: RegisteredApp,
  more: FormFields = {},
  user = bob,
): Promise<FormBrowser> {
  const session = await server.catalog.signIns.create('session', user.user.id, server.key);
  const browser = new FormBrowser(server.url, `strandlake=${session}`);
  await browser.openPage(authorizationUrl(app, more));
  return browser;
}

/** Returns the target and the parameters of a redirection. */
function redirectionOf(answer: Answer): { readonly to: string; readonly query: URLSearchParams } {
  const location = answer.headers.get('location') ?? '';
  expect([answer.status, answer.text]).toEqual([303, '']);
  return { to: location, query: new URL(location).searchParams };
}

async function obtainAuthorizationCode(app: RegisteredApp, more: FormFields = {}): Promise<string> {
  const { query } = redirectionOf(
    await (await openBrowserAtConsent(app, more)).submitForm({ action: 'allow' }),
  );
  return String(query.get('code'));
}

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' };
function postForm(path: string, fields: FormFields, headers: FormFields = {}): Promise<Answer> {
  const body = new URLSearchParams(fields).toString();
  return sendRequest(server.url, 'POST', path, body, { ...formHeaders, ...headers });
}
const credentialsOf = (app: RegisteredApp): FormFields => ({
  client_id: app.id,
  client_secret: app.secret,
});
const exchangeCode = (fields: FormFields): Promise<Answer> =>
  postForm('/v1/oauth2/token', {
    grant_type: 'authorization_code',
    redirect_uri: callbackUrl,
    ...fields,
  });
const refreshTokens = (fields: FormFields): Promise<Answer> =>
  postForm('/v1/oauth2/token', { grant_type: 'refresh_token', ...fields });
const fetchTokenStatus = async (token: unknown): Promise<number> =>
  (await clientFor(server.url, bob.user, String(token)).get('/v1/user')).status;

/** Returns the status and the error in a refusal of the token or the revocation endpoint. */
function tokenErrorOf({ status: code, json }: Answer): unknown {
  expect(Object.keys(json)).toEqual(['error', 'error_description']);
  return [code, json['error']];
}

describe('the authorization endpoint (RFC 6749, 4.1.1 and 4.1.2)', () => {
  test('signs in, asks for consent and returns a code and the state', async () => {
    const browser = new FormBrowser(server.url);
    const signInPage = await browser.openPage(authorizationUrl(confidentialApp));
    expect(signInPage.text).toContain('<title>Sign in: Strandlake</title>');
    const wrongPasswordAnswer = await browser.submitForm({
      action: 'sign_in',
      email: 'bob@acme.org',
      password: 'x',
    });
    expect([wrongPasswordAnswer.status, wrongPasswordAnswer.text]).toEqual([
      400,
      expect.stringContaining('No user has this'),
    ]);
    const unknownUserAnswer = await browser.submitForm({
      action: 'sign_in',
      email: 'x@acme.org',
      password: 'x',
    });
    expect(unknownUserAnswer.text).toBe(wrongPasswordAnswer.text);
    const rightAnswer = await browser.submitForm({ action: 'sign_in', email: 'bob@acme.org', password: passphrase }); // prettier-ignore
    expect(rightAnswer.headers.get('location')).toBe(authorizationUrl(confidentialApp));
    const page = await browser.openPage(authorizationUrl(confidentialApp));
    for (const text of ['Browser', 'ann', 'read, change and delete', 'bob@acme.org'])
      expect(page.text).toContain(text);
    const { to, query } = redirectionOf(await browser.submitForm({ action: 'allow' }));
    expect(to.startsWith(`${callbackUrl}&code=`)).toBe(true);
    expect(query.get('state')).toBe('s t&=');
    expect(query.get('code')).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(server.logs.join('\n')).not.toContain(String(query.get('code')));
  });

  test('returns no state where the request has none', async () => {
    const { query } = redirectionOf(await (await openBrowserAtConsent(confidentialApp, { state: '' })).submitForm({ action: 'allow' })); // prettier-ignore
    expect([...query.keys()]).toEqual(['x', 'code', 'iss']);
  });

  test('returns access_denied when the user denies', async () => {
    const { query } = redirectionOf(
      await (await openBrowserAtConsent(confidentialApp)).submitForm({ action: 'deny' }),
    );
    expect(Object.fromEntries(query)).toEqual({ x: '1', error: 'access_denied', state: 's t&=', iss: server.url }); // prettier-ignore
  });

  test.each(['/authorize/', '/v1/oauth2/authorize'])('is also served at %s', async (path) => {
    const answer = await sendRequest(
      server.url,
      'GET',
      authorizationUrl(publicApp, pkceParameters).replace('/authorize', path),
    );
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Sign in')]);
  });

  test('is only for users of the account, unless the application is public', async () => {
    const browser = await openBrowserAtConsent(confidentialApp, {}, eve);
    const refusedAnswer = await browser.submitForm({ action: 'allow' });
    expect([refusedAnswer.status, refusedAnswer.headers.get('location')]).toEqual([403, null]);
    const openApp = await registerApp({ is_public: true });
    const { query } = redirectionOf(await (await openBrowserAtConsent(openApp, {}, eve)).submitForm({ action: 'allow' })); // prettier-ignore
    expect(query.get('code')).not.toBeNull();
  });

  test('escapes what the owner of an application has written', async () => {
    const app = await registerApp({
      name: '<script>alert(1)</script>',
      description: `"'><img src=x>`,
    });
    const page = await (await openBrowserAtConsent(app)).openPage(authorizationUrl(app));
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/<script|<img/);
    expect(page.text).toContain('&#60;script&#62;');
  });
});

describe('the metadata of the server (RFC 8414)', () => {
  const fetchMetadata = () =>
    sendRequest(server.url, 'GET', '/.well-known/oauth-authorization-server');

  test('is public JSON with the address of the server as its issuer (3.2, 3.3)', async () => {
    const { status: code, headers, json } = await fetchMetadata();
    expect([code, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(json['issuer']).toBe(server.url);
    expect(json['response_types_supported']).toEqual(['code']);
    // Claims without values are left out (RFC 8414, section 3.2).
    for (const claim of Object.values(json)) expect(claim).not.toEqual([]);
  });

  test('names endpoints and methods that work (2)', async () => {
    const { json } = await fetchMetadata();
    const pathOf = (key: string): string => String(json[key]).replace(server.url, '');
    expect(json['code_challenge_methods_supported']).toEqual(['S256']);
    expect(json['scopes_supported']).toEqual(['read', 'write']);
    const shownPage = await sendRequest(server.url, 'GET', `${pathOf('authorization_endpoint')}?${authorizationUrl(publicApp, pkceParameters).split('?')[1]}`); // prettier-ignore
    expect(shownPage.text).toContain('<title>Sign in: Strandlake</title>');
    const basicCredentials = `Basic ${Buffer.from(`${confidentialApp.id}:${confidentialApp.secret}`).toString('base64')}`;
    const methods: Record<string, [RegisteredApp, FormFields, FormFields]> = {
      client_secret_basic: [confidentialApp, {}, { authorization: basicCredentials }],
      client_secret_post: [confidentialApp, credentialsOf(confidentialApp), {}],
      none: [publicApp, { client_id: publicApp.id }, {}],
    };
    expect(json['token_endpoint_auth_methods_supported']).toEqual(Object.keys(methods));
    expect(json['revocation_endpoint_auth_methods_supported']).toEqual(Object.keys(methods));
    for (const [app, fields, headers] of Object.values(methods)) {
      let grantFields: FormFields = { code: await obtainAuthorizationCode(app, pkceParameters), redirect_uri: callbackUrl, code_verifier: verifier }; // prettier-ignore
      expect(json['grant_types_supported']).toEqual(['authorization_code', 'refresh_token']);
      for (const grant_type of json['grant_types_supported'] as string[]) {
        const tokenAnswer = await postForm(pathOf('token_endpoint'), { grant_type, ...grantFields, ...fields }, headers); // prettier-ignore
        expect(tokenAnswer.status).toBe(200);
        grantFields = { refresh_token: String(tokenAnswer.json['refresh_token']) };
      }
      const token = { token: grantFields['refresh_token']! };
      expect((await postForm(pathOf('revocation_endpoint'), { ...token, ...fields }, headers)).status).toBe(200); // prettier-ignore
    }
  });
});

describe('the issuer in authorization responses (RFC 9207)', () => {
  test('is that of the metadata, with a code and with an error (2, 2.4)', async () => {
    const { json } = await sendRequest(
      server.url,
      'GET',
      '/.well-known/oauth-authorization-server',
    );
    expect(json['authorization_response_iss_parameter_supported']).toBe(true);
    for (const action of ['allow', 'deny']) {
      const { query } = redirectionOf(
        await (await openBrowserAtConsent(confidentialApp)).submitForm({ action }),
      );
      expect(query.getAll('iss')).toEqual([json['issuer']]);
    }
    const refusedAnswer = await sendRequest(
      server.url,
      'GET',
      authorizationUrl(confidentialApp, { response_type: 'token' }),
    );
    expect(refusedAnswer.text).toContain(`iss=${encodeURIComponent(String(json['issuer']))}`);
  });
});

describe('a redirect_uri that is not registered, letter for letter (RFC 9700, 2.1)', () => {
  test.each([
    'https://APPS.example.org/callback?x=1',
    'https://apps.example.org:443/callback?x=1',
    'https://apps.example.org/callback/?x=1',
    'https://apps.example.org/callback?x=2',
    'https://apps.example.org/callback?x=1&y=2',
    'https://apps.example.org/callback?x=1#a',
    'https://apps.example.org/callback',
    'https://apps.example.org/other/../callback?x=1',
    'https://apps.example.org/callback%2f?x=1',
    'https://ann@apps.example.org/callback?x=1',
    'https://apps.example.org.evil.example/callback?x=1',
    'http://apps.example.org/callback?x=1',
    'http://127.0.0.1:10/cb',
    `${callbackUrl} http://127.0.0.1:9/cb`,
    '//apps.example.org/callback?x=1',
    '',
  ])('%s is shown to the user, without a redirection', async (redirect_uri) => {
    const answer = await sendRequest(
      server.url,
      'GET',
      authorizationUrl(confidentialApp, { redirect_uri }),
    );
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(answer.text).not.toContain('href');
    const browser = await openBrowserAtConsent(confidentialApp);
    await browser.openPage(authorizationUrl(confidentialApp, { redirect_uri }));
    expect((await browser.submitForm({ action: 'allow' })).status).toBe(400);
  });

  test('nor is one that is given twice, or that belongs to an unknown application', async () => {
    const repeatedParameter = `${authorizationUrl(confidentialApp)}&redirect_uri=${encodeURIComponent(callbackUrl)}`;
    const unknownAppUrl = authorizationUrl({ id: '999', secret: '' });
    for (const path of [
      repeatedParameter,
      unknownAppUrl,
      authorizationUrl({ id: '', secret: '' }),
      `${authorizationUrl(confidentialApp)}&client_id=1`,
    ]) {
      // prettier-ignore
      const answer = await sendRequest(server.url, 'GET', path);
      expect([path, answer.status, answer.text.includes('href')]).toEqual([path, 400, false]);
    }
  });
});

describe('a request that is not valid (RFC 6749, 4.1.2.1; RFC 9700, 4.11.2)', () => {
  // prettier-ignore
  test.each<[string, FormFields, string, string]>([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type', 'The only response_type is code.'],
    ['no response type', { response_type: '' }, 'invalid_request', 'response_type is missing.'],
    ['an unknown scope', { scope: 'read admin' }, 'invalid_scope', 'The application may only have read write.'],
    ['the challenge method plain', { ...pkceParameters, code_challenge_method: 'plain' }, 'invalid_request', 'code_challenge_method must be S256.'],
    ['no challenge method, which means plain', { code_challenge: challenge }, 'invalid_request', 'code_challenge_method must be S256.'],
    ['a challenge that is none', { ...pkceParameters, code_challenge: 'x' }, 'invalid_request', 'code_challenge must be base64url of a SHA-256.'],
    ['a method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request', 'code_challenge_method without code_challenge.'],
  ])(
    '%s leads back to the application only when the user follows the link',
    async (_, more, error, reason) => {
      const answer = await sendRequest(server.url, 'GET', authorizationUrl(confidentialApp, more));
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      const link = /href="([^"]*)"/.exec(answer.text)?.[1]?.replaceAll('&#38;', '&') ?? '';
      const query = new URL(link).searchParams;
      expect([link.startsWith(callbackUrl), query.get('error'), query.get('state')]).toEqual([true, error, 's t&=']); // prettier-ignore
      expect([query.get('error_description'), answer.text.includes(reason)]).toEqual([reason, true]); // prettier-ignore
    },
  );

  test('a public application has to send a challenge (RFC 9700, 2.1.1)', async () => {
    const answer = await sendRequest(server.url, 'GET', authorizationUrl(publicApp));
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('code_challenge is missing')]); // prettier-ignore
  });

  test('an application gets no more than its scopes', async () => {
    const answer = await sendRequest(
      server.url,
      'GET',
      authorizationUrl(publicApp, { ...pkceParameters, scope: 'read write' }),
    );
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('error=invalid_scope')]); // prettier-ignore
  });

  test('a parameter that is repeated is refused (RFC 6749, 3.1)', async () => {
    const answer = await sendRequest(
      server.url,
      'GET',
      `${authorizationUrl(confidentialApp)}&scope=read&scope=read`,
    );
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('more than once')]);
  });
});

describe('the pages', () => {
  test('have no script, cannot be framed, and are not kept (RFC 9700, 4.16)', async () => {
    const browser = new FormBrowser(server.url);
    const pages = [await browser.openPage(authorizationUrl(confidentialApp)), await (await openBrowserAtConsent(confidentialApp)).openPage(authorizationUrl(confidentialApp))]; // prettier-ignore
    for (const { headers, text } of pages) {
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('script-src');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(text).not.toMatch(/<script|javascript:/);
    }
    const [signInPolicy, consentPolicy] = pages.map(({ headers }) =>
      headers.get('content-security-policy'),
    );
    expect(signInPolicy).toMatch(/form-action 'self';/);
    expect(consentPolicy).toMatch(/form-action 'self' https:\/\/apps\.example\.org;/);
  });

  test('have a cookie that scripts and other sites do not get, and that authorizes no other request (A13)', async () => {
    const freshPage = await sendRequest(server.url, 'GET', authorizationUrl(confidentialApp));
    expect(freshPage.headers.get('set-cookie')).toMatch(/^strandlake=\w{40}; Path=\/; HttpOnly; SameSite=Lax$/); // prettier-ignore
    const { cookie } = await openBrowserAtConsent(confidentialApp);
    for (const path of ['/v1/user', '/v2/tokens', '/v2/vaults']) {
      const answer = await sendRequest(server.url, 'GET', path, undefined, { cookie });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  test('refuse a form without the token of their browser', async () => {
    const victim = await openBrowserAtConsent(confidentialApp);
    const otherBrowser = await openBrowserAtConsent(confidentialApp);
    const foreignToken = /name="csrf_token" value="(\w+)"/.exec((await otherBrowser.openPage(authorizationUrl(confidentialApp))).text)?.[1]; // prettier-ignore
    for (const csrf_token of ['', 'x'.repeat(64), String(foreignToken)]) {
      const answer = await victim.submitForm({ action: 'allow', csrf_token });
      expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
    }
    const strangerBrowser = new FormBrowser(server.url);
    await strangerBrowser.openPage(authorizationUrl(confidentialApp));
    const signIn = { action: 'sign_in', email: 'bob@acme.org', password: passphrase };
    expect(
      (await strangerBrowser.submitForm({ ...signIn, csrf_token: String(foreignToken) })).status,
    ).toBe(403);
  });

  test('change the cookie at sign-in, and end the session at sign-out and with the password', async () => {
    const browser = new FormBrowser(server.url);
    await browser.openPage(authorizationUrl(confidentialApp));
    const cookieBefore = browser.cookie;
    await browser.submitForm({ action: 'sign_in', email: 'bob@acme.org', password: passphrase });
    const signedInCookie = browser.cookie;
    expect(signedInCookie).not.toBe(cookieBefore);
    const asksForConsent = async (cookie: string): Promise<boolean> =>
      (await sendRequest(server.url, 'GET', authorizationUrl(confidentialApp), undefined, { cookie })).text.includes('Allow'); // prettier-ignore
    expect([await asksForConsent(cookieBefore), await asksForConsent(signedInCookie)]).toEqual([
      false,
      true,
    ]);
    await browser.openPage(authorizationUrl(confidentialApp));
    expect((await browser.submitForm({ action: 'sign_out' })).status).toBe(303);
    expect([await asksForConsent(signedInCookie), await asksForConsent(browser.cookie)]).toEqual([
      false,
      false,
    ]);
    const dan = await server.user('dan');
    const { cookie } = await openBrowserAtConsent(confidentialApp, {}, dan);
    expect(await asksForConsent(cookie)).toBe(true);
    await dan.put('/v1/user/password', { password: passphrase });
    expect(await asksForConsent(cookie)).toBe(false);
  });

  test('take a link of the command line once', async () => {
    const code = await server.catalog.signIns.create('link', bob.user.id, server.key);
    const browser = new FormBrowser(server.url);
    const path = `/v1/oauth2/sign_in?code=${code}`;
    for (let i = 0; i < 2; i += 1)
      expect((await browser.openPage(path)).text).toContain('Sign in as bob@acme.org');
    expect((await browser.submitForm({ csrf_token: '' })).status).toBe(403);
    await browser.openPage(path);
    expect((await browser.submitForm({ action: 'sign_in' })).text).toContain('You are signed in as bob@acme.org'); // prettier-ignore
    expect((await browser.openPage(authorizationUrl(confidentialApp))).text).toContain('Allow');
    expect((await browser.openPage(path)).status).toBe(400);
    expect(server.logs.join('\n')).not.toContain(code);
    const lateCode = await server.catalog.signIns.create('link', bob.user.id, server.key, Date.now() - 900_001); // prettier-ignore
    expect((await browser.openPage(`/v1/oauth2/sign_in?code=${lateCode}`)).status).toBe(400);
  });
});

describe('the exchange of a code (RFC 6749, 4.1.3 and 5.1)', () => {
  test('gives tokens of the granted scope, form-encoded, as JSON and with HTTP Basic', async () => {
    const code = await obtainAuthorizationCode(confidentialApp, { scope: 'read' });
    const answer = await exchangeCode({ code, ...credentialsOf(confidentialApp) });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^[A-Za-z0-9]{30}$/),
      token_type: 'Bearer',
      expires_in: 36_000,
      refresh_token: expect.stringMatching(/^[A-Za-z0-9]{40}$/),
      scope: 'read',
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    const app = clientFor(server.url, bob.user, String(answer.json['access_token']));
    expect((await app.get('/v1/user')).json['id']).toBe(bob.user.id);
    expect((await app.post('/v2/vaults', { name: 'x' })).status).toBe(403);
    const json = {
      grant_type: 'authorization_code',
      redirect_uri: callbackUrl,
      ...credentialsOf(confidentialApp),
    };
    const jsonAnswer = await sendRequest(server.url, 'POST', '/v1/oauth2/token', { ...json, code: await obtainAuthorizationCode(confidentialApp) }); // prettier-ignore
    expect([jsonAnswer.status, jsonAnswer.json['scope']]).toEqual([200, 'read write']);
    const basicHeaders = { authorization: `Basic ${Buffer.from(`${confidentialApp.id}:${confidentialApp.secret}`).toString('base64')}` }; // prettier-ignore
    const body = { grant_type: 'authorization_code', redirect_uri: callbackUrl };
    const basicAnswer = await postForm('/v1/oauth2/token', { ...body, code: await obtainAuthorizationCode(confidentialApp) }, basicHeaders); // prettier-ignore
    expect(basicAnswer.status).toBe(200);
  });

  test('works once; using a code again revokes what it was exchanged for (4.1.2)', async () => {
    const code = await obtainAuthorizationCode(confidentialApp);
    const firstAnswer = await exchangeCode({ code, ...credentialsOf(confidentialApp) });
    expect(await fetchTokenStatus(firstAnswer.json['access_token'])).toBe(200);
    expect(tokenErrorOf(await exchangeCode({ code, ...credentialsOf(confidentialApp) }))).toEqual([
      400,
      'invalid_grant',
    ]);
    expect(await fetchTokenStatus(firstAnswer.json['access_token'])).toBe(401);
    const refresh_token = String(firstAnswer.json['refresh_token']);
    expect(tokenErrorOf(await refreshTokens({ refresh_token, ...credentialsOf(confidentialApp) }))).toEqual([400, 'invalid_grant']); // prettier-ignore
  });

  test('gives tokens to one of several requests at once, and revokes them', async () => {
    const code = await obtainAuthorizationCode(confidentialApp);
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchangeCode({ code, ...credentialsOf(confidentialApp) }))); // prettier-ignore
    const tokens = answers.flatMap(({ json }) => json['access_token'] ?? []);
    expect(tokens).toHaveLength(1);
    expect(await fetchTokenStatus(tokens[0])).toBe(401);
  });

  test('is refused 60 seconds after the consent', async () => {
    const grant = { userId: bob.user.id, applicationId: Number(confidentialApp.id), redirectUri: callbackUrl, scope: 'read', codeChallenge: null } as const; // prettier-ignore
    const createCode = (age: number): Promise<string> =>
      server.catalog.grants.create(grant, server.key, Date.now() - age);
    const lateCode = await createCode(60_000);
    expect(tokenErrorOf(await exchangeCode({ code: lateCode, ...credentialsOf(confidentialApp) }))).toEqual([400, 'invalid_grant']); // prettier-ignore
    const timelyCode = await createCode(30_000);
    expect(
      (await exchangeCode({ code: timelyCode, ...credentialsOf(confidentialApp) })).status,
    ).toBe(200);
  });

  test('is bound to application, redirection URI and client', async () => {
    const code = await obtainAuthorizationCode(confidentialApp);
    const otherApp = await registerApp();
    const refusedCases: readonly (readonly [FormFields, unknown])[] = [
      [{ code, ...credentialsOf(otherApp) }, [400, 'invalid_grant']],
      [
        { code, ...credentialsOf(confidentialApp), redirect_uri: 'http://127.0.0.1:9/cb' },
        [400, 'invalid_grant'],
      ],
      [{ code, ...credentialsOf(confidentialApp), redirect_uri: '' }, [400, 'invalid_request']],
      [{ code: 'x'.repeat(40), ...credentialsOf(confidentialApp) }, [400, 'invalid_grant']],
      [{ ...credentialsOf(confidentialApp) }, [400, 'invalid_request']],
      [
        { code, ...credentialsOf(confidentialApp), grant_type: 'password' },
        [400, 'unsupported_grant_type'],
      ],
      [{ code, client_id: confidentialApp.id }, [400, 'invalid_client']],
      [
        { code, client_id: confidentialApp.id, client_secret: otherApp.secret },
        [400, 'invalid_client'],
      ],
      [{ code, client_id: '999', client_secret: otherApp.secret }, [400, 'invalid_client']],
      [{ code, client_secret: confidentialApp.secret }, [400, 'invalid_client']],
    ];
    for (const [fields, expected] of refusedCases)
      expect([fields, tokenErrorOf(await exchangeCode(fields))]).toEqual([fields, expected]);
    expect((await exchangeCode({ code, ...credentialsOf(confidentialApp) })).status).toBe(200);
  });

  test('takes no secret from the address, none twice, and no repeated parameter (2.3.1, 3.2)', async () => {
    const code = await obtainAuthorizationCode(confidentialApp);
    const fields = { grant_type: 'authorization_code', redirect_uri: callbackUrl, code };
    const addressAnswer = await postForm(`/v1/oauth2/token?${new URLSearchParams(credentialsOf(confidentialApp))}`, fields); // prettier-ignore
    expect(tokenErrorOf(addressAnswer)).toEqual([400, 'invalid_client']);
    const basicHeaders = (secret: string): FormFields => ({ authorization: `Basic ${Buffer.from(`${confidentialApp.id}:${secret}`).toString('base64')}` }); // prettier-ignore
    const doubleCredentials = await postForm('/v1/oauth2/token', { ...fields, ...credentialsOf(confidentialApp) }, basicHeaders(confidentialApp.secret)); // prettier-ignore
    expect(tokenErrorOf(doubleCredentials)).toEqual([400, 'invalid_request']);
    const wrongSecretAnswer = await postForm('/v1/oauth2/token', fields, basicHeaders('wrong'));
    expect(tokenErrorOf(wrongSecretAnswer)).toEqual([401, 'invalid_client']);
    expect(wrongSecretAnswer.headers.get('www-authenticate')).toBe('Basic realm="oauth2"');
    const body = `${new URLSearchParams({ ...fields, ...credentialsOf(confidentialApp) })}&code=${code}`;
    const repeatedField = await sendRequest(
      server.url,
      'POST',
      '/v1/oauth2/token',
      body,
      formHeaders,
    );
    expect(tokenErrorOf(repeatedField)).toEqual([400, 'invalid_request']);
    expect((await exchangeCode({ code, ...credentialsOf(confidentialApp) })).status).toBe(200);
  });

  test('needs the present secret of the application', async () => {
    const app = await registerApp();
    const code = await obtainAuthorizationCode(app);
    await ann.post(`/v2/applications/${app.id}/secret`);
    expect(tokenErrorOf(await exchangeCode({ code, ...credentialsOf(app) }))).toEqual([
      400,
      'invalid_client',
    ]);
  });

  test('is refused for a user who was removed meanwhile', async () => {
    const goneUser = await server.user('gone');
    const browser = await openBrowserAtConsent(confidentialApp, {}, goneUser);
    const { query } = redirectionOf(await browser.submitForm({ action: 'allow' }));
    await server.catalog.users.update(goneUser.user.id, { isActive: false });
    const answer = await exchangeCode({
      code: String(query.get('code')),
      ...credentialsOf(confidentialApp),
    });
    expect(tokenErrorOf(answer)).toEqual([400, 'invalid_grant']);
    expect((await browser.openPage(authorizationUrl(confidentialApp))).text).toContain('Sign in');
  });
});

describe('the code verifier (RFC 7636, 4.6; RFC 9700, 4.8.2)', () => {
  test('lets a public application exchange a code without a secret', async () => {
    const code = await obtainAuthorizationCode(publicApp, pkceParameters);
    const answer = await exchangeCode({ code, client_id: publicApp.id, code_verifier: verifier });
    expect([answer.status, answer.json['scope']]).toEqual([200, 'read']);
  });

  test('of the example of RFC 7636, appendix B, belongs to its challenge', async () => {
    const example = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }; // prettier-ignore
    const code = await obtainAuthorizationCode(publicApp, example);
    const code_verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    expect((await exchangeCode({ code, client_id: publicApp.id, code_verifier })).status).toBe(200);
  });

  test.each<[string, FormFields]>([
    ['another one', { code_verifier: 'x'.repeat(43) }],
    ['the challenge itself', { code_verifier: challenge }],
    ['none', {}],
    ['one that is too short', { code_verifier: verifier.slice(0, 42) }],
  ])('%s is refused, also with a secret', async (_, more) => {
    for (const app of [publicApp, confidentialApp]) {
      const code = await obtainAuthorizationCode(app, pkceParameters);
      expect(tokenErrorOf(await exchangeCode({ code, ...credentialsOf(app), ...more }))).toEqual([
        400,
        'invalid_grant',
      ]);
      const rightAnswer = await exchangeCode({
        code,
        ...credentialsOf(app),
        code_verifier: verifier,
      });
      expect(rightAnswer.status).toBe(200);
    }
  });

  test('is refused for a code that was asked for without a challenge', async () => {
    const code = await obtainAuthorizationCode(confidentialApp);
    const answer = await exchangeCode({
      code,
      ...credentialsOf(confidentialApp),
      code_verifier: verifier,
    });
    expect(tokenErrorOf(answer)).toEqual([400, 'invalid_grant']);
  });
});

describe('a refresh token (RFC 6749, 6; RFC 9700, 4.14.2)', () => {
  async function obtainTokens(app = confidentialApp): Promise<Record<string, unknown>> {
    return (await exchangeCode({ code: await obtainAuthorizationCode(app), ...credentialsOf(app) }))
      .json;
  }

  test('gives new tokens, and is replaced', async () => {
    const firstTokens = await obtainTokens();
    const answer = await refreshTokens({ refresh_token: String(firstTokens['refresh_token']), ...credentialsOf(confidentialApp) }); // prettier-ignore
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, Object.keys(firstTokens)]);
    expect(answer.json['refresh_token']).not.toBe(firstTokens['refresh_token']);
    expect(await fetchTokenStatus(answer.json['access_token'])).toBe(200);
    expect(await fetchTokenStatus(firstTokens['access_token'])).toBe(200);
  });

  test('that was used before revokes the whole grant', async () => {
    const firstTokens = await obtainTokens();
    const refresh_token = String(firstTokens['refresh_token']);
    const secondAnswer = await refreshTokens({ refresh_token, ...credentialsOf(confidentialApp) });
    expect(tokenErrorOf(await refreshTokens({ refresh_token, ...credentialsOf(confidentialApp) }))).toEqual([400, 'invalid_grant']); // prettier-ignore
    for (const token of [firstTokens['access_token'], secondAnswer.json['access_token']])
      expect(await fetchTokenStatus(token)).toBe(401);
    const newestFields = {
      refresh_token: String(secondAnswer.json['refresh_token']),
      ...credentialsOf(confidentialApp),
    };
    expect(tokenErrorOf(await refreshTokens(newestFields))).toEqual([400, 'invalid_grant']);
  });

  test('of another application, or unknown, is refused and changes nothing', async () => {
    const { refresh_token } = await obtainTokens();
    const otherApp = await registerApp();
    const token = { refresh_token: String(refresh_token) };
    expect(tokenErrorOf(await refreshTokens({ ...token, ...credentialsOf(otherApp) }))).toEqual([
      400,
      'invalid_grant',
    ]);
    expect(tokenErrorOf(await refreshTokens({ refresh_token: 'x'.repeat(40), ...credentialsOf(otherApp) }))).toEqual([400, 'invalid_grant']); // prettier-ignore
    expect(tokenErrorOf(await refreshTokens({ ...token, client_id: confidentialApp.id }))).toEqual([400, 'invalid_client']); // prettier-ignore
    expect((await refreshTokens({ ...token, ...credentialsOf(confidentialApp) })).status).toBe(200);
  });

  test('gives less than was granted, and never more', async () => {
    const { refresh_token } = await obtainTokens();
    const narrowAnswer = await refreshTokens({ refresh_token: String(refresh_token), scope: 'read', ...credentialsOf(confidentialApp) }); // prettier-ignore
    expect([narrowAnswer.status, narrowAnswer.json['scope']]).toEqual([200, 'read']);
    const wholeAnswer = await refreshTokens({
      refresh_token: String(narrowAnswer.json['refresh_token']), ...credentialsOf(confidentialApp),
    }); // prettier-ignore
    expect(wholeAnswer.json['scope']).toBe('read write');
    const code = await obtainAuthorizationCode(confidentialApp, { scope: 'read' });
    const readOnlyAnswer = await exchangeCode({ code, ...credentialsOf(confidentialApp) });
    const refreshFields = {
      refresh_token: String(readOnlyAnswer.json['refresh_token']),
      ...credentialsOf(confidentialApp),
    };
    for (const scope of ['read write', 'write', 'admin'])
      expect(tokenErrorOf(await refreshTokens({ ...refreshFields, scope }))).toEqual([
        400,
        'invalid_scope',
      ]);
    expect((await refreshTokens(refreshFields)).status).toBe(200);
  });

  test('gives no more than the application may have by now', async () => {
    const app = await registerApp({ scopes: 'read write' });
    const { json } = await exchangeCode({
      code: await obtainAuthorizationCode(app),
      ...credentialsOf(app),
    });
    await ann.patch(`/v2/applications/${app.id}`, { scopes: 'read' });
    const answer = await refreshTokens({
      refresh_token: String(json['refresh_token']),
      ...credentialsOf(app),
    });
    expect([answer.status, answer.json]).toEqual([
      400,
      { error: 'invalid_scope', error_description: 'The application may only have read.' },
    ]);
  });

  test('ends with the grant', async () => {
    const { refresh_token } = await obtainTokens();
    const application = (await server.catalog.applications.get(Number(confidentialApp.id)))!;
    const later = Date.now() + 10 * 365 * 24 * 3_600_000;
    const refreshRequest = { token: String(refresh_token), scope: undefined };
    const refusal = await server.catalog.transaction((tx) =>
      exchangeRefreshToken(tx, application, refreshRequest, server.key, later),
    );
    expect(refusal).toEqual({ error: 'invalid_grant', reason: 'The refresh token has expired.' });
  });

  test('is not stored, and neither are codes and access tokens (A7)', async () => {
    const { readFile } = await import('node:fs/promises');
    const code = await obtainAuthorizationCode(confidentialApp);
    const { json } = await exchangeCode({ code, ...credentialsOf(confidentialApp) });
    const files = [server.data.catalog, `${server.data.catalog}-wal`];
    const bytes = Buffer.concat(await Promise.all(files.map((path) => readFile(path).catch(() => Buffer.alloc(0))))); // prettier-ignore
    for (const secret of [
      code,
      json['access_token'],
      json['refresh_token'],
      confidentialApp.secret,
      passphrase,
    ]) {
      // prettier-ignore
      expect(bytes.includes(String(secret))).toBe(false);
      expect(server.logs.join('\n')).not.toContain(String(secret));
    }
  });
});

describe('revocation (RFC 7009, 2.1 and 2.2)', () => {
  test.each(['access_token', 'refresh_token'])('of the %s ends both', async (name) => {
    const { json } = await exchangeCode({
      code: await obtainAuthorizationCode(confidentialApp),
      ...credentialsOf(confidentialApp),
    });
    const token = String(json[name]);
    const otherApp = await registerApp();
    const revoke = (app: RegisteredApp, more: FormFields = {}): Promise<Answer> =>
      postForm('/v1/oauth2/revoke_token', { ...credentialsOf(app), token, ...more });
    expect(tokenErrorOf(await revoke(otherApp))).toEqual([400, 'invalid_grant']);
    expect(tokenErrorOf(await revoke({ ...confidentialApp, secret: 'x' }))).toEqual([
      400,
      'invalid_client',
    ]);
    expect(await fetchTokenStatus(json['access_token'])).toBe(200);
    for (let i = 0; i < 2; i += 1) {
      const { status: code, text } = await revoke(confidentialApp, {
        token_type_hint: 'access_token',
      });
      expect([code, text]).toEqual([200, '{}']);
    }
    expect(await fetchTokenStatus(json['access_token'])).toBe(401);
    const refreshedTokens = await refreshTokens({ refresh_token: String(json['refresh_token']), ...credentialsOf(confidentialApp) }); // prettier-ignore
    expect(tokenErrorOf(refreshedTokens)).toEqual([400, 'invalid_grant']);
  });

  test('leaves the tokens of users alone', async () => {
    const answer = await postForm('/v1/oauth2/revoke_token', {
      ...credentialsOf(confidentialApp),
      token: bob.token,
    });
    expect([answer.status, await fetchTokenStatus(bob.token)]).toEqual([200, 200]);
  });

  test('is also by the user, who sees the application among the tokens', async () => {
    const { json } = await exchangeCode({
      code: await obtainAuthorizationCode(confidentialApp),
      ...credentialsOf(confidentialApp),
    });
    const [shownToken] = listOf(await bob.get('/v2/tokens'));
    expect(shownToken).toMatchObject({
      name: 'Browser',
      client_id: confidentialApp.id,
      secret: null,
    });
    expect((await bob.delete(`/v2/tokens/${String(shownToken?.['id'])}`)).status).toBe(200);
    expect(await fetchTokenStatus(json['access_token'])).toBe(401);
    const refresh_token = String(json['refresh_token']);
    expect(tokenErrorOf(await refreshTokens({ refresh_token, ...credentialsOf(confidentialApp) }))).toEqual([400, 'invalid_grant']); // prettier-ignore
  });

  test('is also by deleting the application', async () => {
    const app = await registerApp();
    const { json } = await exchangeCode({
      code: await obtainAuthorizationCode(app),
      ...credentialsOf(app),
    });
    expect(await fetchTokenStatus(json['access_token'])).toBe(200);
    await ann.delete(`/v2/applications/${app.id}`);
    expect(await fetchTokenStatus(json['access_token'])).toBe(401);
  });
});

test('the token of an application makes no credentials, which would outlive it', async () => {
  const { json } = await exchangeCode({
    code: await obtainAuthorizationCode(confidentialApp),
    ...credentialsOf(confidentialApp),
  });
  const app = clientFor(server.url, bob.user, String(json['access_token']));
  expect((await app.post('/v2/vaults', { name: 'by the application' })).status).toBe(201);
  const [ownToken] = listOf(await bob.get('/v2/tokens?name=test'));
  const redirectParameters = { redirect_uris: 'https://apps.example.org/' };
  const ownApplicationId = idOf(
    await bob.post('/v2/applications', { name: 'Mine', ...redirectParameters }),
  );
  const answers = [
    await app.post('/v2/tokens', {}),
    await app.patch(`/v2/tokens/${String(ownToken?.['id'])}`, { name: 'x' }),
    await app.delete(`/v2/tokens/${String(ownToken?.['id'])}`),
    await app.post('/v2/applications', { name: 'x', ...redirectParameters }),
    await app.patch(`/v2/applications/${ownApplicationId}`, { name: 'x' }),
    await app.get(`/v2/applications/${ownApplicationId}/secret`),
    await app.post(`/v2/applications/${ownApplicationId}/secret`),
    await app.put('/v1/user/password', { password: passphrase, current_password: passphrase }),
  ];
  for (const { status: code, json: body } of answers) {
    expect([code, body['detail']]).toEqual([403, expect.stringContaining('token of an application')]); // prettier-ignore
  }
});
