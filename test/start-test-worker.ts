import { startWorker } from '../scheduler/worker/worker-supervisor.js';
import { startWorkerInProcess } from './faults/in-process.js';

/**
 * Starts the worker of a test's server: a process, or with `STRANDLAKE_WORKER=in-process` a worker in the process of the test, because
 * starting a process with its threads takes more processor time than most tests.
 */
export const startTestWorker: typeof startWorker =
  process.env['STRANDLAKE_WORKER'] === 'in-process' ? startWorkerInProcess : startWorker;
