import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { operations } from '../../../api/resources/index.js';
import { readOnlyPostOperations } from '../reading-posts.js';
import {
  idOf,
  makeVaultFixture,
  makeMigration,
  sendRequest,
  startServer,
  type Client,
  type TestServer,
} from '../server.js';

/** Returns whether an operation takes its credential from the body or may be called by anybody; other tests cover these operations. */
function needsNoToken(operationId: string): boolean {
  return (
    operationId === 'passwords.login' || /^(oauth|authorization|ga4ghBeacon)\./.test(operationId)
  );
}

let server: TestServer;
let ann: Client;
beforeAll(async () => {
  server = await startServer({ scheduler: { startWorker } });
  ann = await server.user('ann');
});
afterAll(() => server.close());

const missingCredentialsBody = '{"detail":"Authentication credentials were not provided."}';
const wrongTokenBody =
  '{"detail":"Authentication credentials were not accepted: the token is unknown, revoked or expired."}';
const malformedCredentialsBody = expect.stringMatching(
  /^\{"detail":"Authentication credentials were not understood; send the header/,
);

function basicHeader(user: string, password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

describe('credentials', () => {
  test('are taken in all four forms, the scheme in any case', async () => {
    const { token } = ann;
    const forms = [
      `Bearer ${token}`,
      `bearer  ${token}`,
      `Token ${token}`,
      `TOKEN ${token}`,
      basicHeader(token),
      `basic ${basicHeader(token).slice(6)}`,
    ];
    for (const authorization of forms) {
      expect(
        (await sendRequest(server.url, 'GET', '/v1/user', undefined, { authorization })).status,
      ).toBe(200);
    }
    expect((await sendRequest(server.url, 'GET', `/v1/user?access_token=${token}`)).status).toBe(
      200,
    );
    const bothHeaders = { authorization: `Bearer ${token}` };
    expect(
      (
        await sendRequest(
          server.url,
          'GET',
          `/v1/user?access_token=${token}`,
          undefined,
          bothHeaders,
        )
      ).status,
    ).toBe(200);
  });

  test('that are missing, wrong or odd answer 401 with the reason, after the words that clients know (A9)', async () => {
    const { token } = ann;
    const unknownToken = 'x'.repeat(30);
    const forms: readonly (readonly [string | undefined, unknown])[] = [
      [undefined, missingCredentialsBody],
      ['', missingCredentialsBody],
      ['Bearer', malformedCredentialsBody],
      [`Bearer ${unknownToken}`, wrongTokenBody],
      [`Digest ${token}`, malformedCredentialsBody],
      [token, malformedCredentialsBody],
      [`Bearer ${token} x`, malformedCredentialsBody],
      [`Bearer\t${token}`, malformedCredentialsBody],
      [basicHeader('', token), malformedCredentialsBody],
      [basicHeader(token, 'password'), malformedCredentialsBody],
      [basicHeader(unknownToken), wrongTokenBody],
      ['Basic !!!', malformedCredentialsBody],
      [`Bearer ${token}x`, wrongTokenBody],
      [`Bearer ${token.toLowerCase()}x`, wrongTokenBody],
    ];
    for (const [authorization, expected] of forms) {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await sendRequest(server.url, 'GET', '/v1/user', undefined, headers);
      expect([authorization, answer.status, answer.text]).toEqual([authorization, 401, expected]);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="api"');
    }
  });

  test('that disagree are refused even if one is right (A9)', async () => {
    const ben = await server.user('ben');
    for (const other of ['x'.repeat(30), ben.token]) {
      const headers = { authorization: `Bearer ${ann.token}` };
      const answer = await sendRequest(
        server.url,
        'GET',
        `/v1/user?access_token=${other}`,
        undefined,
        headers,
      );
      expect([answer.status, answer.text]).toEqual([
        401,
        '{"detail":"Authentication credentials were not accepted: the header and access_token differ."}',
      ]);
    }
    const repeatedParameter = `/v1/user?access_token=${ann.token}&access_token=${ben.token}`;
    expect((await sendRequest(server.url, 'GET', repeatedParameter)).status).toBe(401);
  });

  test('belong to one request, also if users share a connection, and work on it until they are revoked', async () => {
    const [dan, eve] = [await server.user('dan'), await server.user('eve')];
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    const ask = async (
      token: string,
    ): Promise<readonly [status: number | undefined, id: unknown]> => {
      const headers = { authorization: `Token ${token}` };
      const [answer] = await once(get(`${server.url}/v1/user`, { agent, headers }), 'response') as [IncomingMessage]; // prettier-ignore
      sockets.add(answer.socket);
      const { id } = (await json(answer)) as { readonly id?: unknown };
      return [answer.statusCode, id];
    };
    for (const client of [dan, dan, eve, dan, eve, eve])
      expect(await ask(client.token)).toEqual([200, client.user.id]);
    expect(await ask(`${eve.token}x`)).toEqual([401, undefined]);
    expect(await ask(eve.token)).toEqual([200, eve.user.id]);
    await server.catalog.tokens.revokeAll(eve.user.id);
    expect(await ask(eve.token)).toEqual([401, undefined]);
    expect(await ask(dan.token)).toEqual([200, dan.user.id]);
    expect(sockets.size).toBe(1);
    agent.destroy();
  });

  test('that are revoked, expired, or of somebody who left, no longer work (A9)', async () => {
    const cid = await server.user('cid');
    const { tokens, users } = server.catalog;
    const expiredToken = await tokens.create(
      { userId: cid.user.id, expiresAt: Date.now() - 1 },
      server.key,
    );
    const expiredTokenHeaders = { authorization: `Bearer ${expiredToken.secret}` };
    expect(
      (await sendRequest(server.url, 'GET', '/v1/user', undefined, expiredTokenHeaders)).status,
    ).toBe(401);
    const secondToken = await tokens.create({ userId: cid.user.id }, server.key);
    await tokens.revoke(secondToken.row.id);
    const revokedTokenHeaders = { authorization: `Bearer ${secondToken.secret}` };
    expect(
      (await sendRequest(server.url, 'GET', '/v1/user', undefined, revokedTokenHeaders)).status,
    ).toBe(401);
    expect((await cid.get('/v1/user')).status).toBe(200);
    await users.update(cid.user.id, { isActive: false });
    expect((await cid.get('/v1/user')).status).toBe(401);
  });
});

describe('without credentials', () => {
  test('every route but the public ones answers 401', async () => {
    for (const [id, row] of Object.entries(operations) as [string, OperationRow][]) {
      if (['root.head', 'health', 'healthz', 'readyz', 'metrics', 'openapi', 'docs', 'join', 'swagger', 'invitations.accept'].includes(id)) continue; // prettier-ignore
      if (needsNoToken(id)) continue;
      const isSigned = /^(uploads|downloads)\./.test(id);
      for (const path of row.paths) {
        const body = ['POST', 'PUT', 'PATCH'].includes(row.method) ? '{}' : undefined;
        const { status } = await sendRequest(
          server.url,
          row.method,
          path.replaceAll(/:\w+/g, '1'),
          body,
        );
        expect([row.method, path, status]).toEqual([row.method, path, isSigned ? 403 : 401]);
      }
    }
  });
});

describe('a token that may only read', () => {
  test('reads and queries, and changes nothing, on every route (A11)', async () => {
    const owner = await server.user('olga', { role: 'admin' });
    const fixture = await makeVaultFixture(owner, 'Read only');
    const { secret } = await server.catalog.tokens.create(
      { userId: owner.user.id, scope: 'read' },
      server.key,
    );
    await server.catalog.globalBeacons.enable(fixture.datasetId, owner.user.id);
    const headers = { authorization: `Bearer ${secret}` };
    const ids: Record<string, number> = {
      vaults: fixture.vaultId,
      objects: fixture.fileId,
      datasets: fixture.datasetId,
      dataset: fixture.datasetId,
      dataset_fields: fixture.fieldId,
      dataset_imports: fixture.importId,
      datasets_imports: fixture.importId,
      dataset_exports: fixture.exportId,
      datasets_exports: fixture.exportId,
      dataset_migrations: await makeMigration(owner, fixture.datasetId),
      dataset_commits: fixture.commitId,
      datasets_commits: fixture.commitId,
      tasks: fixture.taskId,
      users: owner.user.id,
    };
    for (const [id, row] of Object.entries(operations) as [string, OperationRow][]) {
      if (/^(uploads|downloads)\.|^invitations\.accept$/.test(id) || id === 'swagger') continue;
      if (needsNoToken(id)) continue;
      for (const path of row.paths) {
        const kind = path.endsWith('/beacon') ? 'dataset' : (path.split('/')[2] ?? '');
        const target = path
          .replace(':id', String(ids[kind]))
          .replace(':ids', 'x')
          .replace(':version', '1');
        const body = ['POST', 'PUT', 'PATCH'].includes(row.method) ? '{}' : undefined;
        const { status } = await sendRequest(server.url, row.method, target, body, headers);
        // Some operations only read, but require more than read access: checking a rollback needs the permission to roll back, and reading
        // permissions needs the permission to change them.
        const isForWriters = ['commits.checkRollback', 'vaultPermissions.list'].includes(id);
        const isReadOperation =
          (['GET', 'HEAD'].includes(row.method) || readOnlyPostOperations.has(id)) && !isForWriters; // prettier-ignore
        // The operations in `mayFail` may answer with another error, for example because they refuse the body {}, and so does every
        // operation whose resource is missing. The error is not about the scope.
        const hasResource = !path.includes(':id') || ids[kind] !== undefined;
        const mayFail = ['datasets.batch', 'datasets.beacon', 'datasets.changelogVersion', 'expressions.annotate', 'expressions.evaluate', 'imports.rejected', 'migrations.rejected'].includes(id); // prettier-ignore
        const refusedStatus = hasResource ? 403 : 404;
        if (!isReadOperation)
          // A POST operation that only reads belongs in test/api/reading-posts.ts.
          expect([row.method, target, status]).toEqual([row.method, target, refusedStatus]);
        else if (!hasResource || mayFail) expect([target, status]).not.toEqual([target, 403]);
        else expect([row.method, target, status < 400]).toEqual([row.method, target, true]);
      }
    }
    expect((await owner.get(`/v2/vaults/${fixture.vaultId}`)).status).toBe(200);
  });
});

describe('limits', () => {
  test('failing logins are slowed down by address, and right credentials go on (A9, W4)', async () => {
    const otherServer = await startServer({ limits: { failedLogins: 20 } });
    try {
      const user = await otherServer.user('ann');
      const guess = (i: number): ReturnType<typeof sendRequest> =>
        sendRequest(otherServer.url, 'GET', '/v1/user', undefined, {
          authorization: `Bearer ${String(i).padStart(30, '0')}`,
        });
      const statuses: number[] = [];
      for (let i = 0; i < 40; i++) statuses.push((await guess(i)).status);
      expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
      expect(statuses.slice(20)).toEqual(Array.from({ length: 20 }, () => 429));
      expect((await guess(99)).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect((await user.get('/v1/user')).status).toBe(200);
      const body = { code: 'x'.repeat(30), email: 'a@b' };
      expect(
        (await sendRequest(otherServer.url, 'POST', '/v1/invitations/accept', body)).status,
      ).toBe(429);
    } finally {
      await otherServer.close();
    }
  });

  test('requests are limited for each token alone, with whole seconds to wait (W4)', async () => {
    const otherServer = await startServer({ rateLimit: 10 });
    try {
      const user = await otherServer.user('ann');
      const otherUser = await otherServer.user('ben');
      const statuses: number[] = [];
      for (let i = 0; i < 12; i++) statuses.push((await user.get('/v1/user')).status);
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
      const refusedAnswer = await user.get('/v1/user');
      expect(Number(refusedAnswer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refusedAnswer.json).toEqual({ detail: 'Request was throttled.' });
      expect((await otherUser.get('/v1/user')).status).toBe(200);
      const anonymousStatuses: number[] = [];
      for (let i = 0; i < 12; i++)
        anonymousStatuses.push((await sendRequest(otherServer.url, 'GET', '/v1/user')).status);
      expect(anonymousStatuses.at(-1)).toBe(429);
    } finally {
      await otherServer.close();
    }
  });
});

test('no secret is found in the catalogue or the log (A7)', async () => {
  const { readFile } = await import('node:fs/promises');
  const files = await Promise.all(
    [server.data.catalog, `${server.data.catalog}-wal`].map((path) =>
      readFile(path).catch(() => Buffer.alloc(0)),
    ),
  );
  expect(Buffer.concat(files).includes(ann.token)).toBe(false);
  expect(server.logs.join('\n').includes(ann.token)).toBe(false);
  expect(idOf(await ann.get('/v1/user'))).toBe(ann.user.id);
});
