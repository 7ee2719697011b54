import { beforeAll, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, idOf, listOf, sendRequest, type Client } from '../server.js';

/* Tests the tokens and API keys of a user over HTTP (contract 2.1; threats A2, A7, A9, A11). */

const { server, ann } = await startServerFixture();
let bob: Client;
beforeAll(async () => {
  bob = await server.user('bob');
});

const clientWithSecret = (secret: unknown): Client =>
  clientFor(server.url, ann.user, String(secret));

describe('a token', () => {
  test.each([
    ['token', 30],
    ['api_key', 40],
  ])(
    'of the kind %s has %i characters, shown once, and works in every form',
    async (kind, length) => {
      const createdToken = await ann.post('/v2/tokens', { name: 'laptop', kind });
      const { secret, prefix } = createdToken.json as { secret: string; prefix: string };
      expect([createdToken.status, secret.length, secret.slice(0, 4)]).toEqual([
        201,
        length,
        prefix,
      ]);
      expect((await clientWithSecret(secret).get('/v1/user')).json['id']).toBe(ann.user.id);
      const basicHeader = `Basic ${Buffer.from(`${secret}:`).toString('base64')}`;
      for (const authorization of [`Token ${secret}`, `Bearer ${secret}`, basicHeader]) {
        const answer = await sendRequest(server.url, 'GET', '/v1/user', undefined, {
          authorization,
        });
        expect([authorization.slice(0, 6), answer.status]).toEqual([
          authorization.slice(0, 6),
          200,
        ]);
      }
      const laterAnswer = await ann.get(`/v2/tokens/${idOf(createdToken)}`);
      expect(laterAnswer.json).toMatchObject({
        name: 'laptop',
        kind,
        scope: 'read write',
        secret: null,
      });
      expect(laterAnswer.text).not.toContain(secret);
      expect((await ann.get('/v2/tokens')).text).not.toContain(secret);
    },
  );

  test('may only read, expires, and is renamed', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const createdToken = await ann.post('/v2/tokens', { scope: 'read', expires_at });
    const path = `/v2/tokens/${idOf(createdToken)}`;
    expect(createdToken.json).toMatchObject({ scope: 'read', expires_at });
    const readOnlyClient = clientWithSecret(createdToken.json['secret']);
    expect((await readOnlyClient.get('/v2/tokens')).status).toBe(200);
    // A11: a token with the scope `read` cannot create a token that may write.
    expect((await readOnlyClient.post('/v2/tokens', { scope: 'read write' })).status).toBe(403);
    expect((await readOnlyClient.delete(path)).status).toBe(403);
    const renameAnswer = await ann.patch(path, { ...createdToken.json, name: 'desktop' });
    expect([renameAnswer.status, renameAnswer.json['name'], renameAnswer.json['scope']]).toEqual([200, 'desktop', 'read']); // prettier-ignore
    const widenAnswer = await ann.patch(path, { scope: 'read write', expires_at: '2999-01-01' });
    expect([widenAnswer.status, Object.keys(widenAnswer.json)]).toEqual([
      400,
      ['scope', 'expires_at'],
    ]);
    expect((await ann.get(path)).json).toMatchObject({ scope: 'read', expires_at });
    expect(listOf(await ann.get('/v2/tokens?name=desktop')).map(({ id }) => id)).toEqual([
      idOf(createdToken),
    ]);
  });

  test.each([
    ['expires_at', 'tomorrow'],
    ['expires_at', '2020-01-01T00:00:00Z'],
    ['expires_at', '2030-13-01'],
    ['kind', 'cookie'],
    ['scope', 'write'],
  ])('with the %s %s is refused, and the answer names both', async (key, value) => {
    const { status, json } = await ann.post('/v2/tokens', { [key]: value });
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
    expect(JSON.stringify(json[key])).toContain(value);
  });

  test('is refused from the request after its revocation on (A9)', async () => {
    const createdToken = await ann.post('/v2/tokens', { name: 'lost' });
    const path = `/v2/tokens/${idOf(createdToken)}`;
    const lostClient = clientWithSecret(createdToken.json['secret']);
    expect((await lostClient.get('/v1/user')).status).toBe(200);
    expect((await ann.delete(path)).json).toMatchObject({
      id: idOf(createdToken),
      name: 'lost',
      secret: null,
    });
    expect((await lostClient.get('/v1/user')).status).toBe(401);
    expect((await ann.get(path)).status).toBe(404);
    expect((await ann.delete(path)).status).toBe(404);
    expect(listOf(await ann.get('/v2/tokens?name=lost'))).toEqual([]);
  });

  test('says when it was used last, which no request waits for', async () => {
    const createdToken = await ann.post('/v2/tokens', { name: 'used' });
    const path = `/v2/tokens/${idOf(createdToken)}`;
    expect((await ann.get(path)).json['last_used_at']).toBeNull();
    const startMs = Date.now();
    await clientWithSecret(createdToken.json['secret']).get('/v1/user');
    await pollUntil(async () => (await ann.get(path)).json['last_used_at'] !== null);
    const usedAt = Date.parse(String((await ann.get(path)).json['last_used_at']));
    expect(usedAt).toBeGreaterThanOrEqual(startMs);
    expect(usedAt).toBeLessThanOrEqual(Date.now());
  });

  test('of another user does not exist (A2)', async () => {
    const path = `/v2/tokens/${idOf(await ann.post('/v2/tokens', { name: 'mine' }))}`;
    const answers = [await bob.get(path), await bob.patch(path, { name: 'x' }), await bob.put(path, {}), await bob.delete(path)]; // prettier-ignore
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect((await bob.get('/v2/tokens')).text).not.toContain('mine');
    expect((await ann.get(path)).json['name']).toBe('mine');
  });
});

test('the last use is written once for many requests at once', async () => {
  const createdToken = await ann.post('/v2/tokens', { name: 'busy' });
  const busyClient = clientWithSecret(createdToken.json['secret']);
  const fetchLastUse = async (): Promise<number | null | undefined> =>
    (await server.catalog.tokens.get(idOf(createdToken)))?.lastUsedAt;
  await busyClient.get('/v1/user');
  await pollUntil(async () => (await fetchLastUse()) !== null);
  const firstUse = await fetchLastUse();
  await Promise.all(Array.from({ length: 50 }, () => busyClient.get('/v1/user')));
  expect(await fetchLastUse()).toBe(firstUse);
});
