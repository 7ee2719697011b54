import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import 'reflect-metadata';
import { accessKey, type AccessRule } from '../../../api/http/access.js';
import { controllers, operations } from '../../../api/resources/index.js';
import { operationKey } from '../../../api/http/idempotency.interceptor.js';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { startServer, type TestServer } from '../server.js';
import { readingPosts } from '../reading-posts.js';

interface Handler {
  readonly name: string;
  readonly operation: string | undefined;
  readonly rule: AccessRule | undefined;
}

/** Every method of every controller that Nest would make a route of. */
const handlers: readonly Handler[] = controllers.flatMap((controller) =>
  methodsOf(controller.prototype as object).flatMap((name) => {
    const method: unknown = (controller.prototype as unknown as Record<string, unknown>)[name];
    if (typeof method !== 'function' || Reflect.getMetadata('path', method) === undefined)
      return [];
    return [
      {
        name: `${controller.name}.${name}`,
        operation: Reflect.getMetadata(operationKey, method) as string | undefined,
        rule: Reflect.getMetadata(accessKey, method) as AccessRule | undefined,
      },
    ];
  }),
);

/** The names of all methods of a controller, inherited ones included. */
function methodsOf(prototype: object | null): readonly string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  const handlerNames = Object.getOwnPropertyNames(prototype).filter(
    (name) => name !== 'constructor',
  );
  return [
    ...new Set([...handlerNames, ...methodsOf(Object.getPrototypeOf(prototype) as object | null)]),
  ];
}

const rows: readonly (readonly [string, OperationRow])[] = Object.entries(operations) as [
  string,
  OperationRow,
][];

/** Operations whose signed address is the credential. */
const downloads = ['downloads.object', 'downloads.export', 'downloads.rejected'];

/** The only handlers that nobody needs credentials for. */
const publicOperations = [
  'root.head',
  'root.get', // a page for browsers; it asks programs for credentials itself
  'health',
  'healthz',
  'readyz',
  'metrics', // a setting is the credential, or the address of the client
  'openapi',
  'docs',
  'join',
  'swagger',
  'uploads.put',
  'uploads.part',
  'invitations.accept', // the code of the invitation is the credential
  'passwords.login', // the password is the credential
  'oauth.metadata',
  'oauth.token', // the application presents its secret, or the verifier of its code
  'oauth.revoke',
  'authorization.page', // pages for browsers, which have a cookie of their own
  'authorization.decide',
  'authorization.linkPage',
  'authorization.useLink',
  ...downloads,
];

describe('every route (A1)', () => {
  test.each(handlers.map((handler) => [handler.name, handler] as const))(
    '%s has an access rule and an operation',
    (_name, handler) => {
      expect(handler.rule).toBeDefined();
      expect(handler.operation).toBeDefined();
    },
  );

  test('is public only where it is meant to be', () => {
    const found = handlers.filter(({ rule }) => rule?.kind === 'public').map((h) => h.operation);
    expect(found.toSorted()).toEqual(publicOperations.toSorted());
  });

  test('is for anyone, with a token or without, only in the beacons, which only read', () => {
    const found = handlers.filter(({ rule }) => rule?.kind === 'anyone').map((h) => h.operation!);
    const beacons = Object.keys(operations).filter((id) => id.startsWith('ga4ghBeacon.'));
    expect(found.toSorted()).toEqual(beacons.toSorted());
    const methods = new Set(beacons.map((id) => operations[id]!.method));
    expect([...methods].toSorted()).toEqual(['GET', 'POST']);
  });

  test('needs the scope write unless it only reads', () => {
    for (const { operation, rule } of handlers) {
      if (!operation || !rule || rule.kind === 'public' || rule.kind === 'anyone') continue;
      const { method } = operations[operation]!;
      const reads = method === 'GET' || method === 'HEAD' || readingPosts.has(operation);
      expect([operation, rule.scope]).toEqual([operation, reads ? 'read' : 'write']);
    }
  });

  test('with an id in its path looks up what the id names, or belongs to the few that do it themselves', () => {
    const ownRoutes = ['uploads.put', 'uploads.part', ...downloads];
    for (const { operation, rule } of handlers) {
      const hasId = operation && operations[operation]!.paths[0].includes(':id');
      if (!hasId || ownRoutes.includes(operation)) continue;
      expect([operation, rule?.kind]).toEqual([operation, 'resource']);
    }
  });

  test('serves an operation of the table, each exactly once', () => {
    const servedOperations = handlers.map(({ operation }) => operation);
    expect(servedOperations.toSorted()).toEqual(rows.map(([id]) => id).toSorted());
  });
});

describe('the running server', () => {
  let server: TestServer;
  beforeAll(async () => (server = await startServer()));
  afterAll(() => server.close());

  test('routes every path of the table', () => {
    const fastify = server.app.nest.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const missing = rows.flatMap(([id, row]) =>
      row.paths
        .filter((url) => !fastify.hasRoute({ method: row.method as HTTPMethods, url }))
        .map((url) => `${id} ${row.method} ${url}`),
    );
    expect(missing).toEqual([]);
  });

  test('gives no access to any other spelling of a path (W3)', async () => {
    const client = await server.user('ann');
    const spellings = (path: string): string[] => [
      `${path}/`,
      `/${path}`,
      path.toUpperCase(),
      `${path};a=b`,
      `/x/..${path}`,
      `/%2e%2e${path}`,
      path.replace('/v2', '/%762'),
      path.replaceAll('/', '%2f'),
      `${path}%00`,
      `${path}.json`,
      path.replaceAll('/', '\\'),
    ];
    for (const [, row] of rows.filter(([, { method }]) => method === 'GET')) {
      const path = row.paths[0].replaceAll(/:\w+/g, '1');
      const plainAnswer = await fetch(server.url + path, { redirect: 'manual' });
      await plainAnswer.arrayBuffer();
      for (const spelling of spellings(path)) {
        const otherAnswer = await fetch(`${server.url}/${spelling.slice(1)}`, {
          redirect: 'manual',
        });
        await otherAnswer.arrayBuffer();
        // Without credentials, another spelling must not reach what the plain path refuses.
        if (plainAnswer.status === 401)
          expect([spelling, otherAnswer.status >= 400]).toEqual([spelling, true]);
      }
    }
    expect(client.token).toHaveLength(30);
  });
});
