import type { Catalog } from '../../engine/catalog/catalog.js';
import { settings, type Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Store } from '../../engine/store/store.js';
import { ExpressionThreads } from '../../scheduler/expressions/expression-threads.js';
import type { Scheduler } from '../../scheduler/queue/scheduler.js';
import type { LogSink } from '../../engine/core/server-log.js';
import { Metrics } from './metrics.js';
import { createUrlSigner, type UrlSigner } from './signed-url.js';

/**
 * Limits of the web server. Settings determine `connectionsPerAddress` and the sizes of uploads in parts; the other limits have the
 * defaults below, which only tests change.
 */
export interface ServerLimits {
  /**
   * Maximum number, per minute, of wrong passwords for each client address and each email address, and of other wrong secrets for each
   * client address.
   */
  readonly failedLogins: number;
  /** Returns the time in milliseconds by which the limits per minute are counted. */
  readonly clock: () => number;
  readonly connectionsPerAddress: number;
  /** Maximum times for receiving the headers, for receiving a whole request, and for a pause in an upload or a download. */
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  /**
   * Files of at least `multipartBytes` are uploaded in parts. Each part but the last has `partBytes`, or more if there would otherwise be
   * too many parts.
   */
  readonly multipartBytes: number;
  readonly partBytes: number;
  /**
   * If joining the parts of an upload takes longer than this time, the answer begins before the result is known: the server sends a space,
   * and another one after each further period of this length, to keep the connection alive.
   */
  readonly keepAliveMs: number;
  /** Whether answers to clients on the same machine are compressed, too. */
  readonly compressesLoopback: boolean;
}

/**
 * Returns the sizes for uploads in parts, which files of at least `multipartMb` need. Parts have 64 MiB, or `multipartMb` if that is less.
 */
export function multipartLimits(
  multipartMb: number,
): Pick<ServerLimits, 'multipartBytes' | 'partBytes'> {
  const multipartBytes = multipartMb * 1024 ** 2;
  return { multipartBytes, partBytes: Math.min(64 * 1024 ** 2, multipartBytes) };
}

/** The default limits of a server (threat catalogue, A9 and W2). */
export const defaultLimits: ServerLimits = {
  failedLogins: 20,
  clock: Date.now,
  connectionsPerAddress: settings.connectionsPerAddress.defaultValue,
  headersMs: 15_000,
  requestMs: 300_000,
  idleMs: 60_000,
  ...multipartLimits(settings.multipartMb.defaultValue),
  keepAliveMs: 20_000,
  compressesLoopback: false,
};

/** The opened services on which the HTTP server works. */
export interface AppServices {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queryEngine: QueryEngine;
  readonly scheduler: Scheduler;
  readonly data: DataFolder;
  readonly config: Pick<Config, 'publicUrl' | 'rateLimit' | 'log'> &
    Partial<Pick<Config, 'metricsToken' | 'trustProxies'>>;
  readonly signingKey: Uint8Array;
  readonly limits?: Partial<ServerLimits>;
  readonly log?: LogSink;
}

/** The services and limits that handlers use. This is a class, because Nest injects by class; an interface does not exist at run time. */
export class AppContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queryEngine: QueryEngine;
  readonly scheduler: Scheduler;
  readonly data: DataFolder;
  readonly config: AppServices['config'];
  readonly signer: UrlSigner;
  readonly signingKey: Uint8Array;
  readonly limits: ServerLimits;
  readonly log: LogSink;
  /** The threads that evaluate the expressions of requests; they start with the first such request. */
  readonly expressions = new ExpressionThreads();
  readonly metrics: Metrics;

  constructor(services: AppServices, log: LogSink) {
    this.catalog = services.catalog;
    this.store = services.store;
    this.queryEngine = services.queryEngine;
    this.scheduler = services.scheduler;
    this.data = services.data;
    this.config = services.config;
    this.signingKey = services.signingKey;
    this.signer = createUrlSigner(services.signingKey);
    this.limits = { ...defaultLimits, ...services.limits };
    this.log = log;
    this.metrics = new Metrics(services);
  }
}
