import { availableParallelism } from 'node:os';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { stderrSink } from '../../engine/core/server-log.js';
import { openQueryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import { logPlansTo } from '../../engine/query/plan/log-plans.js';
import type { RunContext } from '../jobs/job.js';
import { spillFolder, type WorkerConfig } from './messages.js';

/** Time in milliseconds after which an unused engine is closed. */
const engineIdleMs = 10_000;

/**
 * Returns the function that runs work with the query engine of the worker process (`RunContext`). All jobs share one engine, which is
 * opened when a job needs it and closed when no job has used it for `engineIdleMs`. It runs in the main thread, because pool threads may be
 * terminated at any moment.
 */
export function sharedQueryEngine(
  data: DataFolder,
  config: WorkerConfig,
): RunContext['withQueryEngine'] {
  const onPlan = config.logsPlans ? logPlansTo(stderrSink) : undefined;
  let engine: Promise<QueryEngine> | undefined;
  let userCount = 0;
  let closing: NodeJS.Timeout | undefined;
  const open = (): Promise<QueryEngine> =>
    openQueryEngine({
      ...(onPlan && { onPlan }),
      dataFolder: data.root,
      otherFolders: [data.scratch], // holds the segments that dry runs show
      memoryMb: Math.floor(config.memoryMb / 2),
      threads: Math.min(config.threads, availableParallelism()),
      spillFolder: spillFolder(data, process.pid),
      spillMb: 16_384,
    });
  return async (isNeeded, work) => {
    if (!isNeeded) return work({ onPlan });
    clearTimeout(closing);
    userCount += 1;
    try {
      engine ??= open().catch((error: unknown) => {
        engine = undefined; // the next job tries to open it again
        throw error;
      });
      return await work(await engine);
    } finally {
      userCount -= 1;
      const engineInUse = engine;
      if (userCount === 0) {
        closing = setTimeout(() => {
          engine = undefined;
          // If opening the engine has failed, there is nothing to close.
          engineInUse?.then((opened) => opened.close()).catch(() => undefined);
        }, engineIdleMs);
      }
    }
  };
}
