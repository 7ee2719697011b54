import { startWorker } from '../scheduler/worker/worker-supervisor.js';
import { startWorkerInProcess } from './faults/in-process.js';

/**
 * Starts the worker of a test's server. `npm test` sets `STRANDLAKE_WORKER=in-process`: there the worker runs in the process of the test,
 * because starting a process with its threads takes more processor time than most tests. `npm run test:all` starts a worker process.
 */
export const startTestWorker: typeof startWorker =
  process.env['STRANDLAKE_WORKER'] === 'in-process' ? startWorkerInProcess : startWorker;
