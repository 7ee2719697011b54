import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { scryptSync } from 'node:crypto';
import { hashPassword, isCorrectPassword } from '../../../engine/catalog/passwords.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, sendRequest, startServer, type Answer, type Client, type TestServer } from '../server.js'; // prettier-ignore

/* Tests passwords, and the login by which clients exchange a password for a token (contract 2.1; threats A7, A9, A11). */

const passphrase = 'correct horse battery';
const { server, ann } = await startServerFixture();
let bob: Client;
beforeAll(async () => {
  bob = await server.user('bob');
  expect((await ann.put('/v1/user/password', { password: passphrase })).status).toBe(200);
});

function login(body: object, url = server.url): Promise<Answer> {
  return sendRequest(url, 'POST', '/v1/auth/token', body);
}
const refusedBody = { non_field_errors: ['No user has this email address and password (in this domain).'] }; // prettier-ignore

describe('login', () => {
  test('exchanges email address and password for a token, with and without the domain', async () => {
    for (const domain of ['ACME', null]) {
      const { status, json } = await login({ domain, email: 'Ann@acme.org', password: passphrase });
      expect([status, Object.keys(json)]).toEqual([200, ['token']]);
      expect(json['token']).toMatch(/^[A-Za-z0-9]{30}$/);
      const client = clientFor(server.url, ann.user, String(json['token']));
      expect((await client.get('/v1/user')).json['email']).toBe('ann@acme.org');
    }
    const form = 'email=ann%40acme.org&password=correct+horse+battery';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await sendRequest(server.url, 'POST', '/v1/auth/token', form, headers);
    expect(answer.status).toBe(200);
    expect(server.logs.join('\n')).not.toContain(passphrase);
  });

  test('refuses a wrong password, an unknown user, one without a password, and another domain with the same bytes', async () => {
    const answers = [
      await login({ email: 'ann@acme.org', password: `${passphrase}.` }),
      await login({ email: 'nobody@acme.org', password: passphrase }),
      await login({ email: bob.user.email, password: passphrase }),
      await login({ email: 'ann@acme.org', password: passphrase, domain: 'other' }),
    ];
    for (const { status, json, headers } of answers) {
      expect([status, json, headers.get('www-authenticate')]).toEqual([400, refusedBody, null]);
    }
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test('names the fields that are missing, and refuses a body of more than 16 KiB', async () => {
    const { status, json } = await login({});
    expect([status, Object.keys(json)]).toEqual([400, ['email', 'password']]);
    const largeAnswer = await login({ email: 'a', password: 'x'.repeat(20_000) });
    expect([largeAnswer.status, largeAnswer.json['detail']]).toEqual([
      413,
      expect.stringContaining('16 KiB'),
    ]);
  });

  test('refuses a user who was removed', async () => {
    const goneUser = await server.user('gone');
    await goneUser.put('/v1/user/password', { password: passphrase });
    expect((await login({ email: 'gone@acme.org', password: passphrase })).status).toBe(200);
    await server.catalog.users.update(goneUser.user.id, { isActive: false });
    expect((await login({ email: 'gone@acme.org', password: passphrase })).json).toEqual(
      refusedBody,
    );
  });
});

describe('a password', () => {
  test('is changed by its user, who has to know the present one', async () => {
    const cid = await server.user('cid');
    const set = (body: object): Promise<Answer> => cid.put('/v1/user/password', body);
    expect((await set({ password: passphrase })).status).toBe(200);
    for (const current_password of [undefined, 'a wrong password']) {
      const { status, json } = await set({ password: 'a second long phrase', current_password });
      expect([status, Object.keys(json)]).toEqual([400, ['current_password']]);
    }
    const secondPassphrase = 'a second long phrase';
    expect((await set({ password: secondPassphrase, current_password: passphrase })).status).toBe(
      200,
    );
    expect((await login({ email: 'cid@acme.org', password: passphrase })).status).toBe(400);
    expect((await login({ email: 'cid@acme.org', password: secondPassphrase })).status).toBe(200);
  });

  test('is not set with a token that may only read (A11)', async () => {
    const createdToken = await bob.post('/v2/tokens', { scope: 'read' });
    const readOnlyClient = clientFor(server.url, bob.user, String(createdToken.json['secret']));
    expect((await readOnlyClient.put('/v1/user/password', { password: passphrase })).status).toBe(
      403,
    );
  });

  test.each([
    ['too short', 'x'.repeat(14)],
    ['too long', 'x'.repeat(257)],
  ])('is refused when it is %s', async (_, password) => {
    const { status, json } = await bob.put('/v1/user/password', { password });
    expect([status, json]).toEqual([400, { password: [expect.stringMatching(/15 to 256 characters; this one has \d+/)] }]); // prettier-ignore
  });

  test('is stored as a salted hash of scrypt, which another call of scrypt gives, too (A7)', async () => {
    const [firstHash, secondHash] = [
      await hashPassword(passphrase),
      await hashPassword(passphrase),
    ];
    expect(firstHash).not.toBe(secondHash);
    const [, , , salt = '', hash] = firstHash.split('$');
    const expected = scryptSync(passphrase, Buffer.from(salt, 'base64'), 32, { N: 32_768, r: 8, p: 3, maxmem: 1 << 26 }); // prettier-ignore
    expect(firstHash).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/);
    expect(hash).toBe(expected.toString('base64').replaceAll('=', ''));
    expect(await isCorrectPassword(passphrase, firstHash)).toBe(true);
    expect(await isCorrectPassword(`${passphrase} `, firstHash)).toBe(false);
    expect(await isCorrectPassword('\ufb01ve is a ligature', await hashPassword('five is a ligature'))).toBe(true); // prettier-ignore
    // A password hash with other parameters is accepted, too, so that a later release may choose others.
    const cheapHash = scryptSync(passphrase, 'salt', 32, { N: 16, r: 1, p: 1 }).toString('base64').slice(0, 43); // prettier-ignore
    const storedHash = `$scrypt$ln=4,r=1,p=1$${Buffer.from('salt').toString('base64').slice(0, 6)}$${cheapHash}`; // prettier-ignore
    expect(await isCorrectPassword(passphrase, storedHash)).toBe(true);
    expect(await isCorrectPassword(passphrase, undefined)).toBe(false);
  });
});

test('an unknown user takes as much work as a wrong password (A9)', async () => {
  const storedHash = await hashPassword(passphrase);
  const measureWork = async (hash: string | undefined): Promise<number> => {
    const usageBefore = process.cpuUsage();
    await isCorrectPassword('wrong', hash);
    const { user, system } = process.cpuUsage(usageBefore);
    return user + system;
  };
  const knownTime = Math.min(
    await measureWork(storedHash),
    await measureWork(storedHash),
    await measureWork(storedHash),
  );
  const unknownTime = Math.min(
    await measureWork(undefined),
    await measureWork(undefined),
    await measureWork(undefined),
  );
  expect(unknownTime / knownTime).toBeGreaterThan(0.5);
  expect(unknownTime / knownTime).toBeLessThan(2);
});

describe('guesses (A9)', () => {
  let limitedServer: TestServer;
  beforeAll(async () => {
    limitedServer = await startServer({ limits: { failedLogins: 3 } });
    const dan = await limitedServer.user('dan');
    await dan.put('/v1/user/password', { password: passphrase });
  });
  afterAll(() => limitedServer.close());

  test('are limited by account and address, unknown users alike, and other requests go on', async () => {
    const guess = (email: string): Promise<Answer> => login({ email, password: 'wrong' }, limitedServer.url); // prettier-ignore
    // The guesses are sent at the same time: if the limit were checked before guesses are counted, more than three would pass.
    const answers = await Promise.all(Array.from({ length: 8 }, () => guess('nobody@acme.org')));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([400, 400, 400, 429, 429, 429, 429, 429]);
    const waits = answers.flatMap(({ headers }) => headers.get('retry-after') ?? []);
    expect(waits).toHaveLength(5);
    for (const wait of waits) expect(wait).toMatch(/^[1-9]\d*$/);
    // Guesses beyond the limit are refused without computing a hash: otherwise, hundreds of them would take too long.
    for (let i = 0; i < 5; i += 1) {
      const moreAnswers = await Promise.all(
        Array.from({ length: 100 }, (_, n) => guess(`${n}@acme.org`)),
      );
      expect(new Set(moreAnswers.map(({ status }) => status))).toEqual(new Set([429]));
    }
    // The address has used up its guesses: the right password is refused as well, but a token is accepted.
    const rightAnswer = await login(
      { email: 'dan@acme.org', password: passphrase },
      limitedServer.url,
    );
    expect([rightAnswer.status, rightAnswer.json]).toEqual([
      429,
      { detail: 'Request was throttled.' },
    ]);
    const eve = await limitedServer.user('eve');
    expect((await eve.get('/v1/user')).status).toBe(200);
  });
});
