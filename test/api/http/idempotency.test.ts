import { beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  operationMetadataKey,
  replayMetadataKey,
} from '../../../api/http/idempotency.interceptor.js';
import { controllers, operations } from '../../../api/resources/index.js';
import { budgets } from '../../../engine/core/budgets.js';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { seededRandom } from '../../random.js';
import { Lake } from '../../scheduler/lake.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob, type Answer, type Client } from '../server.js';
import { seed } from '../../seed.js';

/* C8: a create with an Idempotency-Key that is sent twice creates one resource. */

let datasetId: number;
let admin: Client;
const { server, ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  admin = await server.user('admin', { role: 'admin' });
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
});

let keyCount = 0;
const newKey = (): string => `key-${(keyCount += 1)}`;
function postWithKey(path: string, body: unknown, key: string, client = ann): Promise<Answer> {
  return client.call('POST', path, body, { 'idempotency-key': key });
}
const importBody = (n: number): object => ({ dataset_id: datasetId, records: [{ n }] });

test('every operation that creates something can show it again', () => {
  const createOperations = Object.values(operations).filter(({ status }) => status === 201);
  const replayableIds = controllers.flatMap(({ prototype }) =>
    Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = (prototype as Record<string, object>)[name]!;
      const id = Reflect.getMetadata(operationMetadataKey, handler) as string | undefined;
      return id !== undefined && Reflect.hasMetadata(replayMetadataKey, handler) ? [id] : [];
    }),
  );
  expect(replayableIds.toSorted()).toEqual(createOperations.map(({ id }) => id).toSorted());
});

describe('C8: the same key and body', () => {
  test.each([
    ['/v2/vaults', () => ({ name: 'Twice' })],
    ['/v2/objects', () => ({ vault_id: vaultId, object_type: 'file', filename: 'twice.json' })],
    ['/v2/objects', () => ({ vault_id: vaultId, object_type: 'folder', filename: 'twice' })],
    ['/v2/datasets', () => ({ vault_id: vaultId, name: 'twice', fields: [{ name: 'a' }] })],
    ['/v2/dataset_fields', () => ({ dataset_id: datasetId, name: 'twice' })],
    ['/v2/dataset_imports', () => importBody(1)],
    ['/v2/saved_queries', () => ({ name: 'twice' })],
    ['/v2/dataset_templates', () => ({ name: 'twice' })],
    ['/v2/tokens', () => ({ name: 'twice' })],
    ['/v2/applications', () => ({ name: 'twice', redirect_uris: 'https://example.org/' })],
    ['/v2/beacon_sets', () => ({ title: 'twice' })],
    ['/v1/users', () => ({ email: 'twice@acme.org' })],
    ['/v1/groups', () => ({ name: 'twice' })],
    ['/v1/invitations', () => ({ email: 'once@acme.org' })],
    ['/v2/dataset_exports', () => ({ dataset_id: datasetId, format: 'json' })],
    ['/v2/dataset_migrations', () => ({ source_id: datasetId, target_id: datasetId })],
  ])('give the first of %s', async (path, bodyOf) => {
    const key = newKey();
    const client = path.startsWith('/v1') ? admin : ann;
    const firstAnswer = await postWithKey(path, bodyOf(), key, client);
    const secondAnswer = await postWithKey(path, bodyOf(), key, client);
    expect([firstAnswer.status, firstAnswer.headers.get('idempotent-replayed')]).toEqual([
      201,
      null,
    ]);
    expect([secondAnswer.status, secondAnswer.headers.get('idempotent-replayed')]).toEqual([
      201,
      'true',
    ]);
    expect(idOf(secondAnswer)).toBe(idOf(firstAnswer));
    expect(Object.keys(secondAnswer.json)).toEqual(Object.keys(firstAnswer.json));
    if (/exports$|migrations$/.test(path)) await waitForJob(ann, `${path}/${idOf(firstAnswer)}`);
  });

  test('take a commit back once', async () => {
    const createdImport = await ann.post('/v2/dataset_imports', importBody(7));
    const [commit] = createdImport.json['dataset_commits'] as {
      id: number;
      records_total: number;
    }[];
    const path = `/v2/dataset_commits/${commit!.id}/rollback`;
    const key = newKey();
    const [firstAnswer, secondAnswer] = [
      await postWithKey(path, {}, key),
      await postWithKey(path, {}, key),
    ];
    expect([firstAnswer.status, firstAnswer.headers.get('idempotent-replayed')]).toEqual([
      201,
      null,
    ]);
    expect([secondAnswer.status, secondAnswer.headers.get('idempotent-replayed')]).toEqual([
      201,
      'true',
    ]);
    expect([idOf(secondAnswer), secondAnswer.json]).toEqual([idOf(firstAnswer), firstAnswer.json]);
    expect(secondAnswer.json).toMatchObject({ mode: 'rollback', parent_commit_id: commit!.id, records_total: commit!.records_total - 1 }); // prettier-ignore
    expect((await postWithKey(path, {}, newKey())).status).toBe(400);
  });

  test('create a second resource when the key is missing', async () => {
    const firstAnswer = await ann.post('/v2/dataset_imports', importBody(2));
    const secondAnswer = await ann.post('/v2/dataset_imports', importBody(2));
    expect(idOf(secondAnswer)).not.toBe(idOf(firstAnswer));
  });

  test('return the resource in its current state, and 404 when it has been deleted', async () => {
    const key = newKey();
    const body = { vault_id: vaultId, object_type: 'folder', filename: 'renamed' };
    const id = idOf(await postWithKey('/v2/objects', body, key));
    await ann.patch(`/v2/objects/${id}`, { filename: 'new name' });
    expect((await postWithKey('/v2/objects', body, key)).json['filename']).toBe('new name');
    await ann.delete(`/v2/objects/${id}`);
    expect((await postWithKey('/v2/objects', body, key)).status).toBe(404);
  });

  test('are one in quotes and without', async () => {
    const key = newKey();
    const firstAnswer = await postWithKey('/v2/vaults', { name: 'Quoted' }, `"${key}"`);
    expect(idOf(await postWithKey('/v2/vaults', { name: 'Quoted' }, key))).toBe(idOf(firstAnswer));
  });

  test('of several requests at once make one import', async () => {
    const key = newKey();
    const importsBefore = await fetchTotalImports();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => postWithKey('/v2/dataset_imports', importBody(3), key)),
    );
    const createdAnswers = answers.filter(({ status }) => status === 201);
    expect(new Set(createdAnswers.map(idOf)).size).toBe(1);
    for (const { status, json } of answers) {
      expect([201, 409]).toContain(status);
      if (status === 409) expect(json['detail']).toBe('A request with this Idempotency-Key is being carried out; try again in a moment.'); // prettier-ignore
    }
    expect(await fetchTotalImports()).toBe(importsBefore + 1);
  });

  test('of requests whose connection is killed a hundred times make one import', async () => {
    const random = seededRandom(seed);
    const key = newKey();
    const importsBefore = await fetchTotalImports();
    const body = JSON.stringify(importBody(4));
    const requestText =
      `POST /v2/dataset_imports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n` +
      `Idempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (let i = 0; i < 100; i += 1) {
      const socket = connect({ port: server.port, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      await new Promise((resolve) => socket.write(requestText, resolve));
      const ticks = Math.floor(random() * 50);
      for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
      if (random() < 0.5) socket.resetAndDestroy();
      else socket.destroy();
    }
    let lastAnswer = await postWithKey('/v2/dataset_imports', importBody(4), key);
    while (lastAnswer.status === 409)
      lastAnswer = await postWithKey('/v2/dataset_imports', importBody(4), key);
    expect([seed, lastAnswer.status]).toEqual([seed, 201]);
    await waitForJob(ann, `/v2/dataset_imports/${idOf(lastAnswer)}`);
    expect([seed, await fetchTotalImports()]).toEqual([seed, importsBefore + 1]);
    const matchingPage = await ann.post(`/v2/datasets/${datasetId}/data`, { filters: [['n', 4]] });
    expect([seed, matchingPage.json['total']]).toEqual([seed, 1]);
  });
});

async function fetchTotalImports(): Promise<number> {
  return Number((await ann.get(`/v2/datasets/${datasetId}/imports`)).json['total']);
}

describe('a key', () => {
  test('that was used for another request is refused, and nothing is created', async () => {
    const key = newKey();
    const firstAnswer = await postWithKey('/v2/dataset_imports', importBody(5), key);
    const importsBefore = await fetchTotalImports();
    const otherAnswer = await postWithKey('/v2/dataset_imports', importBody(6), key);
    expect([otherAnswer.status, Object.keys(otherAnswer.json)]).toEqual([422, ['detail']]);
    expect((await postWithKey('/v2/vaults', importBody(5), key)).status).toBe(422);
    expect(await fetchTotalImports()).toBe(importsBefore);
    expect(idOf(await postWithKey('/v2/dataset_imports', importBody(5), key))).toBe(
      idOf(firstAnswer),
    );
  });

  test('of a rollback belongs to its commit and to its mode', async () => {
    const rollbackPaths: string[] = [];
    for (const n of [11, 12]) {
      const { json } = await ann.post('/v2/dataset_imports', importBody(n));
      const [commit] = json['dataset_commits'] as { readonly id: number }[];
      rollbackPaths.push(`/v2/dataset_commits/${commit!.id}/rollback`);
    }
    const [path, otherPath] = rollbackPaths as [string, string];
    const key = newKey();
    const firstAnswer = await postWithKey(path, {}, key);
    expect(firstAnswer.status).toBe(201);
    expect((await postWithKey(otherPath, {}, key)).status).toBe(422);
    expect((await postWithKey(`${path}?mode=strict`, {}, key)).status).toBe(422);
    expect((await ann.get(otherPath)).json['is_blocked']).toBe(false);
    expect(idOf(await postWithKey(path, {}, key))).toBe(idOf(firstAnswer));
  });

  test('is the same with another token of its user in the query', async () => {
    const createToken = async (): Promise<string> => {
      const { json } = await ann.post('/v2/tokens', { name: `t ${newKey()}` });
      return String(json['token'] ?? json['secret']);
    };
    const key = newKey();
    const ids: number[] = [];
    for (const secret of [await createToken(), await createToken()]) {
      const url = `${server.url}/v2/vaults?access_token=${secret}`;
      const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body: '{"name":"Two tokens"}' });
      expect(answer.status).toBe(201);
      ids.push(Number(((await answer.json()) as { readonly id: number }).id));
    }
    expect(ids[1]).toBe(ids[0]);
  });

  test('belongs to its user', async () => {
    const bob = await server.user('bob');
    const key = newKey();
    const firstAnswer = await postWithKey('/v2/vaults', { name: 'Mine' }, key);
    const secondAnswer = await postWithKey('/v2/vaults', { name: 'Yours' }, key, bob);
    expect([firstAnswer.status, secondAnswer.status]).toEqual([201, 201]);
    expect(idOf(secondAnswer)).not.toBe(idOf(firstAnswer));
  });

  test('of a request that was refused is free again', async () => {
    const key = newKey();
    expect((await postWithKey('/v2/vaults', { name: '' }, key)).status).toBe(400);
    expect((await postWithKey('/v2/dataset_imports', importBody(7), key)).status).toBe(201);
  });

  test('is not needed to read, and a token with the scope read creates nothing with it', async () => {
    const readOnlyUser = await server.user('reader', { scope: 'read' });
    expect((await postWithKey('/v2/vaults', { name: 'R' }, newKey(), readOnlyUser)).status).toBe(
      403,
    );
    const key = newKey();
    for (let i = 0; i < 2; i += 1) {
      const { status, headers } = await postWithKey(
        `/v2/datasets/${datasetId}/data`,
        { limit: i },
        key,
      );
      expect([status, headers.get('idempotent-replayed')]).toEqual([200, null]);
    }
  });

  test('T0: has up to 255 characters (idempotencyKeyBytes)', async () => {
    const maxBytes = budgets.idempotencyKeyBytes;
    expect((await postWithKey('/v2/vaults', { name: 'Long' }, 'k'.repeat(maxBytes))).status).toBe(
      201,
    );
    const longAnswer = await postWithKey(
      '/v2/vaults',
      { name: 'Longer' },
      'k'.repeat(maxBytes + 1),
    );
    expect([longAnswer.status, longAnswer.text]).toEqual([
      400,
      expect.stringContaining(
        'An Idempotency-Key has 1 to 255 printable ASCII characters: take a UUID',
      ),
    ]);
    for (const key of ['', ' ', '""', 'clé', 'a\tb']) {
      expect([key, (await postWithKey('/v2/vaults', { name: 'Odd' }, key)).status]).toEqual([
        key,
        400,
      ]);
    }
  });
});

describe('the keys of a catalogue', () => {
  const request = { userId: 1, key: 'k', operation: 'o', hash: 'h', owner: 'first' };

  test('T0: live for a day (idempotencyKeyMs), and are swept', async () => {
    const lake = await Lake.make();
    const { idempotencyKeys } = lake.catalog;
    const now = Date.now();
    const day = budgets.idempotencyKeyMs;
    expect(day).toBe(24 * 3_600_000);
    expect(await idempotencyKeys.begin(request, now)).toEqual({ kind: 'new' });
    expect(await idempotencyKeys.begin(request, now + day)).toEqual({ kind: 'busy' });
    expect(await idempotencyKeys.begin(request, now + day + 1)).toEqual({ kind: 'new' });
    await idempotencyKeys.sweep(now + 3 * day);
    expect(await idempotencyKeys.begin(request, now + 3 * day)).toEqual({ kind: 'new' });
    await lake.remove();
  });

  test('survive a restart: a finished create is replayed, an unfinished one is carried out', async () => {
    const lake = await Lake.make();
    const { idempotencyKeys } = lake.catalog;
    const { withIdempotencyKey } = await import('../../../engine/catalog/idempotency-keys.js');
    const keyRequest = { ...request, key: 'made' };
    await idempotencyKeys.begin(keyRequest);
    await idempotencyKeys.begin(request);
    const vault = await withIdempotencyKey(keyRequest, () =>
      lake.catalog.vaults.create({ name: 'V', accountId: 1, userId: 1 }),
    );
    // A failed create rolls back its idempotency key with everything else.
    await expect(
      withIdempotencyKey(request, () =>
        lake.catalog.transaction(async (tx) => {
          await tx.vaults.create({ name: 'W', accountId: 1, userId: 1 });
          throw new Error('killed');
        }),
      ),
    ).rejects.toThrow('killed');
    await idempotencyKeys.forget(keyRequest);
    await lake.close();
    const reopenedCatalog = await openCatalog(lake.data.catalog);
    const beginAgain = (key: string) =>
      reopenedCatalog.idempotencyKeys.begin({ ...request, key, owner: 'second' });
    expect(await beginAgain('made')).toEqual({ kind: 'replay', id: vault.id });
    expect(await beginAgain('k')).toEqual({ kind: 'new' });
    expect(await beginAgain('k')).toEqual({ kind: 'busy' });
    await reopenedCatalog.close();
    await (await Lake.open(lake.data.root)).remove();
  });
});
