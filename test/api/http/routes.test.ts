import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import 'reflect-metadata';
import { accessMetadataKey, type AccessRule } from '../../../api/http/access-rule.js';
import { controllers, operations } from '../../../api/resources/index.js';
import { operationMetadataKey } from '../../../api/http/idempotency.interceptor.js';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { startServer, type TestServer } from '../server.js';
import { readOnlyPostOperations } from '../reading-posts.js';

interface RouteHandler {
  readonly name: string;
  readonly operation: string | undefined;
  readonly rule: AccessRule | undefined;
}

/** All controller methods that Nest registers as routes. */
const routeHandlers: readonly RouteHandler[] = controllers.flatMap((controller) =>
  methodNamesOf(controller.prototype as object).flatMap((name) => {
    const method: unknown = (controller.prototype as unknown as Record<string, unknown>)[name];
    if (typeof method !== 'function' || Reflect.getMetadata('path', method) === undefined)
      return [];
    return [
      {
        name: `${controller.name}.${name}`,
        operation: Reflect.getMetadata(operationMetadataKey, method) as string | undefined,
        rule: Reflect.getMetadata(accessMetadataKey, method) as AccessRule | undefined,
      },
    ];
  }),
);

/** Returns the names of all methods of a controller, including inherited ones. */
function methodNamesOf(prototype: object | null): readonly string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  const ownNames = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return [
    ...new Set([...ownNames, ...methodNamesOf(Object.getPrototypeOf(prototype) as object | null)]),
  ];
}

const operationRows: readonly (readonly [string, OperationRow])[] = Object.entries(operations) as [
  string,
  OperationRow,
][];

/** Operations that need no token, because their signed address is the credential. */
const downloadOperations = ['downloads.object', 'downloads.export', 'downloads.rejected'];

/** The only operations with the access rule `public`. (The beacons, which have the rule `anyone`, need no token either.) */
const publicOperations = [
  'root.head',
  'root.get', // a page for browsers; other clients need a token, which the handler checks
  'health',
  'healthz',
  'readyz',
  'metrics', // protected by a setting: a secret or the client's address
  'openapi',
  'docs',
  'join',
  'swagger',
  'uploads.put',
  'uploads.part',
  'invitations.accept', // the code of the invitation is the credential
  'passwords.login', // the password is the credential
  'oauth.metadata',
  'oauth.token', // the application sends its secret or its PKCE verifier
  'oauth.revoke',
  'authorization.page', // pages for browsers, which have their own cookie
  'authorization.decide',
  'authorization.linkPage',
  'authorization.useLink',
  ...downloadOperations,
];

describe('every route (A1)', () => {
  test.each(routeHandlers.map((handler) => [handler.name, handler] as const))(
    '%s has an access rule and an operation',
    (_name, handler) => {
      expect(handler.rule).toBeDefined();
      expect(handler.operation).toBeDefined();
    },
  );

  test('is public only where it is meant to be', () => {
    const publicRouteOperations = routeHandlers
      .filter(({ rule }) => rule?.kind === 'public')
      .map((h) => h.operation);
    expect(publicRouteOperations.toSorted()).toEqual(publicOperations.toSorted());
  });

  test('is for anyone, with a token or without, only in the beacons, which only read', () => {
    const anyoneRouteOperations = routeHandlers
      .filter(({ rule }) => rule?.kind === 'anyone')
      .map((h) => h.operation!);
    const beaconOperations = Object.keys(operations).filter((id) => id.startsWith('ga4ghBeacon.'));
    expect(anyoneRouteOperations.toSorted()).toEqual(beaconOperations.toSorted());
    const methods = new Set(beaconOperations.map((id) => operations[id]!.method));
    expect([...methods].toSorted()).toEqual(['GET', 'POST']);
  });

  test('needs the scope write unless it only reads', () => {
    for (const { operation, rule } of routeHandlers) {
      if (!operation || !rule || rule.kind === 'public' || rule.kind === 'anyone') continue;
      const { method } = operations[operation]!;
      const isReadOperation =
        method === 'GET' || method === 'HEAD' || readOnlyPostOperations.has(operation);
      const advice = 'a POST that only reads belongs in test/api/reading-posts.ts';
      expect([operation, rule.scope, advice]).toEqual([operation, isReadOperation ? 'read' : 'write', advice]); // prettier-ignore
    }
  });

  test('with an id in its path looks up what the id names, or belongs to the few that do it themselves', () => {
    const selfCheckingOperations = ['uploads.put', 'uploads.part', ...downloadOperations];
    for (const { operation, rule } of routeHandlers) {
      const hasId = operation && operations[operation]!.paths[0].includes(':id');
      if (!hasId || selfCheckingOperations.includes(operation)) continue;
      expect([operation, rule?.kind]).toEqual([operation, 'resource']);
    }
  });

  test('serves an operation of the table, each exactly once', () => {
    const servedOperations = routeHandlers.map(({ operation }) => operation);
    expect(servedOperations.toSorted()).toEqual(operationRows.map(([id]) => id).toSorted());
  });
});

describe('the running server', () => {
  let server: TestServer;
  beforeAll(async () => (server = await startServer()));
  afterAll(() => server.close());

  test('routes every path of the table', () => {
    const fastify = server.app.nest.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const unservedRoutes = operationRows.flatMap(([id, row]) =>
      row.paths
        .filter((url) => !fastify.hasRoute({ method: row.method as HTTPMethods, url }))
        .map((url) => `${id} ${row.method} ${url}`),
    );
    expect(unservedRoutes).toEqual([]);
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
    for (const [, row] of operationRows.filter(([, { method }]) => method === 'GET')) {
      const path = row.paths[0].replaceAll(/:\w+/g, '1');
      const plainAnswer = await fetch(server.url + path, { redirect: 'manual' });
      await plainAnswer.arrayBuffer();
      for (const spelling of spellings(path)) {
        const otherAnswer = await fetch(`${server.url}/${spelling.slice(1)}`, {
          redirect: 'manual',
        });
        await otherAnswer.arrayBuffer();
        // Without a token, a different spelling of a path must not reach a handler to which the plain path refuses access.
        if (plainAnswer.status === 401)
          expect([spelling, otherAnswer.status >= 400]).toEqual([spelling, true]);
      }
    }
    expect(client.token).toHaveLength(30);
  });
});
