import { startWorker } from '../scheduler/worker/worker-supervisor.js';
import { startWorkerInProcess } from './faults/in-process.js';
import { byTier } from './tier.js';

/**
 * Starts the worker of a test's server: in the fast tier a worker in the process of the test, because starting a process with its threads
 * takes more processor time than most tests, and in the slow tier a process, as in the product. `STRANDLAKE_WORKER=process` starts a
 * process in both tiers. A fast test that needs a process, for its log, its end or the calls of dataset functions, uses `startWorker`.
 */
export const startTestWorker: typeof startWorker =
  process.env['STRANDLAKE_WORKER'] === 'process'
    ? startWorker
    : byTier(startWorkerInProcess, startWorker);
