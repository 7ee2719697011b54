import type { Catalog } from '../../engine/catalog/catalog.js';
import { settings, type Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Store } from '../../engine/store/store.js';
import { ExpressionThreads } from '../../scheduler/expressions/expression-threads.js';
import type { Scheduler } from '../../scheduler/queue/scheduler.js';
import type { LogSink } from './log.js';
import { Metrics } from './metrics.js';
import { urlSigner, type UrlSigner } from './signed-url.js';

/** Limits of the web server; tests change them, operators get the defaults. */
export interface ServerLimits {
  /** Failing logins per minute and address. */
  readonly failedLogins: number;
  readonly connectionsPerAddress: number;
  /** Maximum times for the headers, for a whole request, and for a pause in an upload. */
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  /** Files of at least this size are uploaded in parts, of which each but the last has `partBytes`, or more where they would be too many. */
  readonly multipartBytes: number;
  readonly partBytes: number;
  /** Time after which a long answer is begun, and between the blanks that keep its connection alive. */
  readonly keepAliveMs: number;
  /** Answers to clients on the same machine are compressed, too. */
  readonly compressesLoopback: boolean;
}

/** The limits of uploads in parts, which files of `multipartMb` need: parts have 64 MiB, or less where such a file is smaller. */
export function multipartLimits(
  multipartMb: number,
): Pick<ServerLimits, 'multipartBytes' | 'partBytes'> {
  const multipartBytes = multipartMb * 1024 ** 2;
  return { multipartBytes, partBytes: Math.min(64 * 1024 ** 2, multipartBytes) };
}

/** The defaults of the threat catalogue (A9, W2). */
export const defaultLimits: ServerLimits = {
  failedLogins: 20,
  connectionsPerAddress: settings.connectionsPerAddress.fallback,
  headersMs: 15_000,
  requestMs: 300_000,
  idleMs: 60_000,
  ...multipartLimits(settings.multipartMb.fallback),
  keepAliveMs: 20_000,
  compressesLoopback: false,
};

/** The opened services that the HTTP front works with. */
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

/** The services and limits that handlers use. A class, because Nest injects by value. */
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
  /** The threads that evaluate the expressions of requests; they start with the first one. */
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
    this.signer = urlSigner(services.signingKey);
    this.limits = { ...defaultLimits, ...services.limits };
    this.log = log;
    this.metrics = new Metrics(services);
  }
}
