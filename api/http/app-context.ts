import type { Catalog } from '../../engine/catalog/catalog.js';
import type { Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { QueryEngine } from '../../engine/query/plan/engine.js';
import type { Store } from '../../engine/store/store.js';
import type { Scheduler } from '../../scheduler/queue/scheduler.js';
import type { LogSink } from './log.js';
import { urlSigner, type UrlSigner } from './signed-url.js';

/** Limits of the web server; tests change them, operators get the defaults. */
export interface ServerLimits {
  /** Failing logins per minute and address. */
  readonly failedLogins: number;
  readonly socketsPerAddress: number;
  /** How long headers, a whole request and an idle upload may take. */
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
}

/** The defaults of the threat catalogue (A9, W2). */
export const defaultLimits: ServerLimits = {
  failedLogins: 20,
  socketsPerAddress: 200,
  headersMs: 15_000,
  requestMs: 300_000,
  idleMs: 60_000,
};

/** What the HTTP front is given: everything below it, already open. */
export interface AppServices {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queryEngine: QueryEngine;
  readonly scheduler: Scheduler;
  readonly data: DataFolder;
  readonly config: Pick<Config, 'publicUrl' | 'rateLimit' | 'log'>;
  readonly signingKey: Uint8Array;
  readonly limits?: Partial<ServerLimits>;
  readonly log?: LogSink;
}

/** The parts as Nest injects them: a class, because injection needs a value. */
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

  constructor(parts: AppServices, log: LogSink) {
    this.catalog = parts.catalog;
    this.store = parts.store;
    this.queryEngine = parts.queryEngine;
    this.scheduler = parts.scheduler;
    this.data = parts.data;
    this.config = parts.config;
    this.signingKey = parts.signingKey;
    this.signer = urlSigner(parts.signingKey);
    this.limits = { ...defaultLimits, ...parts.limits };
    this.log = log;
  }
}
