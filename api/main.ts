import { setTimeout as pause } from 'node:timers/promises';
import { openCatalog } from '../engine/catalog/catalog.js';
import { openMemoryExecutor } from '../engine/query/memory/memory-executor.js';
import type { Config } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import { openDataFolder } from '../engine/core/files.js';
import { openQueryEngine } from '../engine/query/plan/query-engine.js';
import { logPlansTo } from '../engine/query/plan/log-plans.js';
import { QueryQuarantine } from '../engine/query/sql/query-quarantine.js';
import { formatLogLine, stderrSink } from '../engine/core/server-log.js';
import { openSigningKey } from '../engine/core/signing-key.js';
import { openStore } from '../engine/store/open-store.js';
import { createScheduler } from '../scheduler/queue/scheduler.js';
import { refusedExitCode } from '../scheduler/worker/supervisor.js';
import { createApp } from './app.module.js';
import { multipartLimits } from './http/app-context.js';
import { saveHotColumnsPeriodically, loadHotColumns, warmCaches } from './warm.js';

/*
 * The API process. The supervisor forks it with the validated configuration as its one argument and restarts it when it crashes. It sends
 * the supervisor `{ type: 'listening', port }` once it serves requests, or `{ type: 'refused', reason }` if a restart cannot help, and
 * prints log lines only.
 */

/** Maximum disk space for the temporary files of queries, MB. */
const maxSpillMb = 16_384;

/** DuckDB connections, half as many as libuv has threads (see the supervisor), so that file operations never wait for statements. */
const sqlConnectionCount = 8;

/**
 * The longest time, in milliseconds, that a start waits for the warming of the datasets used last (`warm.ts`); the rest is warmed after the
 * server listens, while no request runs.
 */
const maxWarmingMs = 3_000;

/** Opens the catalogue, the store, the query engine and the scheduler, then listens; returns a function that closes all of them. */
async function serveApi(config: Config): Promise<() => Promise<void>> {
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const { threads, queryCacheMb: cacheMb } = config;
    const report = (message: string): void => stderrSink(formatLogLine('columns', { message }));
    const memory = cacheMb > 0 ? openMemoryExecutor({ threads, cacheMb, report }) : undefined;
    closers.push(async () => memory?.close());
    // The threads of the columns in memory load their modules while the main thread opens everything else.
    const memoryStarted = memory?.start().catch((error: unknown) => report(`the threads of queries did not start: ${String(error)}`)); // prettier-ignore
    const data = await openDataFolder(config.data);
    const signingKey = await openSigningKey(data);
    const catalog = await openCatalog(data.catalog);
    closers.push(() => catalog.close());
    const store = openStore(data, { keepVersionsMs: config.keepVersionsDays * 86_400_000 });
    const quarantine = await QueryQuarantine.open(data, sqlConnectionCount);
    closers.push(async () => quarantine.close());
    const hotColumns = await loadHotColumns(data);
    const queryEngine = openQueryEngine({
      ...(config.log === 'debug' && { onPlan: logPlansTo(stderrSink) }),
      quarantine,
      hot: hotColumns,
      ...(memory && { memory }),
      connections: sqlConnectionCount,
      dataFolder: data.root,
      otherFolders: [data.fileTables],
      memoryMb: Math.floor(config.apiMemoryMb / 2),
      threads: config.threads,
      spillFolder: data.path('scratch', `spill-${process.pid}`),
      spillMb: maxSpillMb,
    });
    closers.push(() => queryEngine.close());
    const reportTask = (message: string): void =>
      stderrSink(formatLogLine('scheduler', { message }));
    const scheduler = createScheduler({ catalog, store, data, config, report: reportTask });
    closers.push(() => scheduler.close());
    const { multipartMb, connectionsPerAddress } = config;
    const limits = { ...multipartLimits(multipartMb), connectionsPerAddress };
    const services = { catalog, store, queryEngine, scheduler, data, config, signingKey, limits };
    const app = await createApp(services);
    closers.push(() => app.close());
    await scheduler.start();
    await memoryStarted;
    const warming = new AbortController();
    const warmedUp = warmCaches(
      { ...services, app },
      hotColumns.recentDatasets,
      warming.signal,
      report,
    );
    const saveHotColumns = saveHotColumnsPeriodically(data, hotColumns);
    closers.push(async () => {
      warming.abort();
      await warmedUp;
      await saveHotColumns();
    });
    await Promise.race([warmedUp, pause(maxWarmingMs, undefined, { ref: false })]);
    const { port } = await app.listen(config.port, config.host);
    memory?.freeProcessor();
    process.send?.({ type: 'listening', port });
    return closeAll;
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Ends this process. If a restart cannot help, it tells its parent the reason and has exit code 78: the supervisor then gives up. */
function exitWithReason(error: unknown): void {
  const reason = error instanceof AppError ? error.message : listenFailureReason(error);
  if (reason === undefined) {
    stderrSink(formatLogLine('error', { error: String(error), ...stackField(error) }));
    process.exit(1);
  }
  if (process.send === undefined) process.exit(refusedExitCode);
  process.send({ type: 'refused', reason }, () => process.exit(refusedExitCode));
}

/** Returns why the server cannot listen, if the port or host of the configuration is the cause; undefined for other errors. */
function listenFailureReason(error: unknown): string | undefined {
  const { code, address, port } = error as {
    readonly code?: unknown;
    readonly address?: string;
    readonly port?: number;
  };
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${address} is in use; stop the program that uses it or choose another port with --port`;
    case 'EACCES':
      return `this user may not open port ${port}; choose one above 1023 with --port`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no such address to listen on (${code}); choose another with --host`;
    default:
      return undefined;
  }
}

function stackField(error: unknown): { readonly stack?: string } {
  return error instanceof Error && !(error instanceof AppError) && error.stack !== undefined
    ? { stack: error.stack }
    : {};
}

// Node prints warnings as plain text on standard error; the log has them as JSON lines.
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) =>
  stderrSink(formatLogLine('warning', { name, message })),
);

// After an uncaught exception the state is unknown: log it and exit; the supervisor restarts the process (threat W5).
process.on('uncaughtException', (error) => {
  stderrSink(formatLogLine('error', { error: String(error), ...stackField(error) }));
  process.exit(1);
});

async function runApi(): Promise<void> {
  const closeServer = await serveApi(JSON.parse(process.argv[2] ?? '{}') as Config);
  let isClosing = false;
  const stop = (): void => {
    if (isClosing) return;
    isClosing = true;
    closeServer().then(() => process.exit(0), exitWithReason);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('SIGHUP', stop);
  process.on('disconnect', stop); // the supervisor is gone
}

runApi().catch(exitWithReason);
