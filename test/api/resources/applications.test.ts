import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, idOf, listOf, type Answer, type Client } from '../server.js';

/* Tests applications, the clients of OAuth2 (contract 18; threats A10 and A12). oauth.test.ts tests what they can do. */

const { server, ann } = await startServerFixture();
let bob: Client;
let eve: Client;
beforeAll(async () => {
  bob = await server.user('bob');
  eve = await server.user('eve', { domain: 'other' });
});

const callbackUrl = 'https://apps.example.org/callback';
const newApplication = (body: object = {}): Promise<Answer> =>
  ann.post('/v2/applications', { name: 'Browser', redirect_uris: callbackUrl, ...body });

describe('an application', () => {
  test('is created, addressed by its client_id, changed and deleted', async () => {
    const createdApplication = await newApplication({
      tags: ['a'],
      web_url: 'https://apps.example.org',
    });
    const clientId = String(createdApplication.json['client_id']);
    expect([createdApplication.status, clientId]).toEqual([201, String(idOf(createdApplication))]);
    expect(createdApplication.json).toMatchObject({
      class_name: 'Application',
      scopes: 'read',
      client_type: 'confidential',
      redirect_uris: callbackUrl,
      tags: ['a'],
      is_public: false,
      user_id: ann.user.id,
      help_url: null,
    });
    const path = `/v2/applications/${clientId}`;
    const uris = ['https://a.example.org/', 'http://127.0.0.1:8000/cb?x=1', 'org.example.app:/cb'];
    for (const redirect_uris of [uris, uris.join('  \n')]) {
      const changedAnswer = await ann.put(path, { redirect_uris, scopes: 'read write' });
      expect(changedAnswer.json).toMatchObject({
        redirect_uris: uris.join(' '),
        scopes: 'read write',
      });
    }
    expect((await ann.get(path)).text).not.toMatch(/secret/);
    expect((await ann.delete(path)).status).toBe(200);
    expect((await ann.get(path)).status).toBe(404);
  });

  test('has a secret that only its owner sees, and can replace', async () => {
    const path = `/v2/applications/${idOf(await newApplication())}/secret`;
    const firstAnswer = await ann.get(path);
    const { client_secret: secret, ...application } = firstAnswer.json;
    expect(application).toEqual((await ann.get(path.replace(/\/secret$/, ''))).json);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect((await ann.get(path)).json).toEqual(firstAnswer.json);
    expect([(await bob.get(path)).status, (await eve.get(path)).status]).toEqual([403, 404]);
    const readToken = await ann.post('/v2/tokens', { scope: 'read' });
    const readOnlyClient = clientFor(server.url, ann.user, String(readToken.json['secret']));
    expect([(await readOnlyClient.get(path)).status, (await readOnlyClient.post(path)).status]).toEqual([403, 403]); // prettier-ignore
    expect((await bob.post(path)).status).toBe(403);
    const secondAnswer = await ann.post(path);
    expect(secondAnswer.json['client_secret']).not.toBe(secret);
    expect((await ann.get(path)).json).toEqual(secondAnswer.json);
    const otherSecret = await ann.get(`/v2/applications/${idOf(await newApplication())}/secret`);
    expect(otherSecret.json['client_secret']).not.toBe(secret);
  });

  test('is visible to its account, to others if it is public, and changed by its owner (A2)', async () => {
    const path = `/v2/applications/${idOf(await newApplication({ name: 'Ours' }))}`;
    const fetchStatuses = async (): Promise<number[]> => [
      (await bob.get(path)).status,
      (await eve.get(path)).status,
      (await bob.patch(path, { name: 'x' })).status,
      (await eve.patch(path, { name: 'x' })).status,
      (await bob.delete(path)).status,
    ];
    expect(await fetchStatuses()).toEqual([200, 404, 403, 404, 403]);
    await ann.patch(path, { is_public: true });
    expect(await fetchStatuses()).toEqual([200, 200, 403, 403, 403]);
    expect((await ann.get(path)).json['name']).toBe('Ours');
  });

  test('is found by name, text, owner and tags', async () => {
    await newApplication({
      name: 'Panels',
      description: 'shows 100% of genes',
      tags: ['panel', 'gene'],
    });
    const fetchNames = async (query: string): Promise<unknown[]> =>
      listOf(await bob.get(`/v2/applications?${query}`)).map(({ name }) => name);
    expect(await fetchNames('name=Panels')).toEqual(['Panels']);
    expect(await fetchNames('q=PANEL')).toEqual(['Panels']);
    expect(await fetchNames('q=100%25')).toEqual(['Panels']);
    expect(await fetchNames('q=1%25g')).toEqual([]);
    expect(await fetchNames('tags=panel,gene')).toEqual(['Panels']);
    expect(await fetchNames(`user=${bob.user.id}`)).toEqual([]);
    expect(await fetchNames(`user=${ann.user.id}`)).toContain('Panels');
  });
});

test.each([
  ['example.org/cb', 'absolute'],
  ['/cb', 'absolute'],
  ['https://a.example.org/#top', 'fragment'],
  ['https://ann@a.example.org/', 'user information'],
  ['https://a.example.org;script-src/', 'unusual host'],
  ['http://a.example.org/', 'must use https'],
  ['http://localhost.example.org/', 'must use https'],
  ['javascript:alert(1)', 'must use https'],
  ['data:text/html,x', 'must use https'],
  ['https:///cb', 'unusual host'],
  ['https://a.example.org/ä', 'absolute'],
])('the redirection URI %s is refused, and the answer names it', async (uri, reason) => {
  const { status, json } = await newApplication({ redirect_uris: `${callbackUrl} ${uri}` });
  expect([status, Object.keys(json)]).toEqual([400, ['redirect_uris']]);
  expect(json['redirect_uris']).toEqual([expect.stringContaining(JSON.stringify(uri))]);
  expect(json['redirect_uris']).toEqual([expect.stringContaining(reason)]);
});

test.each([
  ['redirect_uris', ''],
  ['redirect_uris', []],
  ['name', ''],
  ['scopes', 'write'],
  ['client_type', 'native'],
  ['web_url', 'javascript:alert(1)'],
])('%s %j is refused', async (key, value) => {
  const { status, json } = await newApplication({ [key]: value });
  expect([status, Object.keys(json)]).toEqual([400, [key]]);
});
