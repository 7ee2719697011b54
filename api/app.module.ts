import 'reflect-metadata';
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core';
import { Module, type DynamicModule } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { AppError } from '../engine/core/errors.js';
import { AuthGuard, Authenticator } from './http/authenticator.js';
import { controllers, operations, schemas } from './resources/index.js';
import { isAnonymousAllowed } from './http/body-parsers.js';
import { ErrorsFilter } from './http/errors.filter.js';
import { matchesPath } from './http/operation-row.js';
import { postToSelf } from './http/internal-requests.js';
import { formatLogLine, stderrSink, type LogSink } from '../engine/core/server-log.js';
import { KnownKeys, KnownKeysGuard } from './http/known-keys.js';
import { PasswordCheck } from './http/password-check.js';
import { OpenapiDocument } from './http/openapi.js';
import { beaconErrorBody } from './resources/ga4gh-beacon/beacon-frame.js';
import { answerJobCalls } from './resources/expressions/run-expressions.js';
import { AppContext, type AppServices } from './http/app-context.js';
import { createAdapter, installCompression } from './http/server.js';

/** The only Nest module: it has all controllers, the guards and the error filter. */
@Module({})
class AppModule {
  static forContext(context: AppContext, authenticator: Authenticator): DynamicModule {
    return {
      module: AppModule,
      controllers: [...controllers],
      providers: [
        { provide: AppContext, useValue: context },
        { provide: Authenticator, useValue: authenticator },
        { provide: PasswordCheck, useValue: new PasswordCheck(context) },
        { provide: OpenapiDocument, useValue: openapiDocument },
        { provide: KnownKeys, useValue: knownRequestKeys },
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_GUARD, useClass: KnownKeysGuard },
        {
          provide: APP_FILTER,
          useValue: new ErrorsFilter(context.log, methodsOf, beaconErrorBody),
        },
      ],
    };
  }
}

/** The HTTP server, ready to listen. */
export interface App {
  /** Starts listening, on a free port if `port` is 0; returns the URL and the port. */
  listen(port: number, host: string): Promise<{ readonly url: string; readonly port: number }>;
  /** Sends a request to this server in the name of a user, as `postToSelf` does; it need not listen yet. */
  post(userId: number, path: string, body: object): Promise<string>;
  /** Stops listening and closes all connections; the services passed to `createApp` stay open. */
  close(): Promise<void>;
  /** The Nest application, for tests that read its table of routes. */
  readonly nest: NestFastifyApplication;
}

/** Builds the HTTP server on services that are already open. */
export async function createApp(services: AppServices): Promise<App> {
  const publicUrl = publicUrlOf(services.config);
  const log: LogSink = services.config.log === 'silent' ? () => {} : (services.log ?? stderrSink);
  const context = new AppContext(services, log);
  context.scheduler.answerCalls((userId, call, signal) =>
    answerJobCalls(context, userId, call, signal),
  );
  const authenticator = new Authenticator(context);
  const adapter = createAdapter({
    publicUrl,
    trustProxies: context.config.trustProxies ?? [],
    limits: context.limits,
    log,
    admit: (request) =>
      isAnonymousAllowed(request.url)
        ? authenticator.authenticateOptional(request)
        : authenticator.authenticate(request),
    logsRequests: ['info', 'debug'].includes(context.config.log),
    observe: (request, reply) => context.metrics.recordLatency(request, reply),
  });
  await installCompression(adapter.getInstance<FastifyInstance>());
  const module = AppModule.forContext(context, authenticator);
  const nest = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    logger: false,
    abortOnError: false,
    routeConflictPolicy: { duplicate: 'error' },
  });
  await nest.init();
  return {
    nest,
    async listen(port, host) {
      await nest.listen(port, host);
      const address = nest.getHttpServer().address() as AddressInfo;
      const hostInUrl = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      // The log contains the address only at the levels `info` and `debug`; the command line reports it in any case.
      if (['info', 'debug'].includes(context.config.log)) {
        log(formatLogLine('listening', { host: address.address, port: address.port }));
      }
      return { url: `http://${hostInUrl}:${address.port}`, port: address.port };
    },
    async post(userId, path, body) {
      await adapter.getInstance<FastifyInstance>().ready();
      return postToSelf(nest.getHttpServer(), userId, path, body);
    },
    close: () => nest.close(),
  };
}

const openapiDocument = new OpenapiDocument(Object.values(operations), schemas);
const knownRequestKeys = new KnownKeys(operations, schemas);

/**
 * Returns the public URL, null if none is set; throws if its path prefix begins like a path of the interface, because the two could not be
 * told apart.
 */
function publicUrlOf({ publicUrl }: AppServices['config']): string | null {
  const firstSegment = publicUrl === null ? '' : (new URL(publicUrl).pathname.split('/')[1] ?? '');
  const interfacePrefixes = Object.values(operations).flatMap(({ paths }) =>
    paths.map((p) => p.split('/')[1]),
  );
  if (firstSegment === '' || !interfacePrefixes.includes(firstSegment)) return publicUrl;
  throw new AppError('invalid', `--public-url: a path below /${firstSegment} is one of the interface itself; choose another prefix`); // prettier-ignore
}

/** Returns the methods that a path serves, read from the table of operations, because the router matches path and method only together. */
function methodsOf(path: string): readonly string[] {
  const rows = Object.values(operations);
  return [
    ...new Set(
      rows.filter((row) => row.paths.some((p) => matchesPath(p, path))).map((r) => r.method),
    ),
  ];
}
