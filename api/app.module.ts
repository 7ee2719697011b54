import 'reflect-metadata';
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core';
import { Module, type DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { AuthGuard, Authenticator } from './http/authenticator.js';
import { controllers, operations, schemas } from './resources/index.js';
import { ErrorsFilter } from './http/errors.filter.js';
import { logLine, stderrSink, type LogSink } from './http/log.js';
import { OpenapiDocument } from './http/openapi.js';
import { AppContext, type AppServices } from './http/app-context.js';
import { createAdapter } from './http/server.js';

/** The one module: all controllers, and the guard and the filter that stand before and behind each of them. */
@Module({})
export class AppModule {
  static with(context: AppContext, authenticator: Authenticator): DynamicModule {
    return {
      module: AppModule,
      controllers: [...controllers],
      providers: [
        { provide: AppContext, useValue: context },
        { provide: Authenticator, useValue: authenticator },
        { provide: OpenapiDocument, useValue: document },
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_FILTER, useValue: new ErrorsFilter(context.log, methodsOf) },
      ],
    };
  }
}

/** The HTTP front, ready to listen. */
export interface App {
  /** Starts to listen; port 0 takes a free one. Returns where. */
  listen(port: number, host: string): Promise<{ readonly url: string; readonly port: number }>;
  /** Stops listening and drops open connections; what was given to `createApp` stays open. */
  close(): Promise<void>;
  /** The Nest application, for tests that walk its routes. */
  readonly nest: NestFastifyApplication;
}

/** Builds the HTTP front around parts that are already open. */
export async function createApp(given: AppServices): Promise<App> {
  const log: LogSink = given.config.log === 'silent' ? () => {} : (given.log ?? stderrSink);
  const context = new AppContext(given, log);
  const authenticator = new Authenticator(context);
  const adapter = createAdapter({
    publicUrl: context.config.publicUrl,
    limits: context.limits,
    log,
    admit: (request) => authenticator.admit(request),
    logsRequests: context.config.log === 'debug', // at `info` they would drown what a newcomer is told
  });
  const module = AppModule.with(context, authenticator);
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
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      // A person at a terminal hears it from the command line.
      if (['info', 'debug'].includes(context.config.log)) {
        log(logLine('listening', { host: address.address, port: address.port }));
      }
      return { url: `http://${name}:${address.port}`, port: address.port };
    },
    close: () => nest.close(),
  };
}

const document = new OpenapiDocument(Object.values(operations), schemas);

/** The methods that a path serves: found by the table, because the router knows only whole matches. */
function methodsOf(path: string): readonly string[] {
  const rows = Object.values(operations);
  return [
    ...new Set(rows.filter((row) => row.paths.some((p) => fits(p, path))).map((r) => r.method)),
  ];
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(':') ? given[i] !== '' : part === given[i]))
  );
}
