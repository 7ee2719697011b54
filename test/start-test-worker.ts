import { startWorker } from '../scheduler/worker/worker-supervisor.js';
import { startWorkerInProcess } from './faults/in-process.js';

/**
 * Starts the worker of a test's server: a process, as in the product, or with `STRANDLAKE_WORKER=in-process` a worker in the process of the
 * test, because starting a process with its threads takes more processor time than most tests. The fast tier sets this variable
 * (`test/runner/runtime.ts`). A fast test that needs a process, for its log, its end or the calls of dataset functions, uses `startWorker`.
 */
export const startTestWorker: typeof startWorker =
  process.env['STRANDLAKE_WORKER'] === 'in-process' ? startWorkerInProcess : startWorker;
