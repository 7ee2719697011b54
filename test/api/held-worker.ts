import type { SchedulerOptions } from '../../scheduler/queue/scheduler.js';
import { startWorker } from '../../scheduler/worker/worker-supervisor.js';
import type { MessageFromWorker, MessageToWorker } from '../../scheduler/worker/messages.js';

/** A worker process from which a test can withhold work, and whose results it can withhold. */
export interface HoldableWorker {
  /** The scheduler's option that starts this worker. */
  readonly startWorker: NonNullable<SchedulerOptions['startWorker']>;
  /** The messages that are being withheld from the worker, in order. */
  readonly held: readonly MessageToWorker[];
  /** From now on, withholds work of one kind of job, or no work if `kind` is undefined. */
  hold(kind: string | undefined): void;
  /** Sends the withheld messages to the worker, and withholds nothing any more. */
  release(): void;
  /** Returns how often the worker was told to run a task. */
  countRuns(taskId: number): number;
  /** The results that are being withheld from the scheduler, in order. */
  readonly heldResults: readonly MessageFromWorker[];
  /** From now on, withholds the results of one kind of job. */
  holdResults(kind: string): void;
  /** Hands the withheld results to the scheduler, and withholds none any more. */
  releaseResults(): void;
}

/** Returns a worker that receives its work until `hold` is called. */
export function createHoldableWorker(): HoldableWorker {
  let heldKind: string | undefined;
  const held: MessageToWorker[] = [];
  let deliver: (message: MessageToWorker) => void;
  let kindOfHeldResults: string | undefined;
  const heldResults: MessageFromWorker[] = [];
  const kindByTaskId = new Map<number, string>();
  const runTaskIds: number[] = [];
  let deliverResult: (message: MessageFromWorker) => void;
  return {
    held,
    heldResults,
    startWorker: (config, heartbeatTimeoutMs, events) => {
      deliverResult = (message) => events.message(message);
      const message = (one: MessageFromWorker): void => {
        const isHeld = one.type === 'done' && kindByTaskId.get(one.taskId) === kindOfHeldResults;
        if (isHeld) heldResults.push(one);
        else events.message(one);
      };
      const worker = startWorker(config, heartbeatTimeoutMs, { ...events, message });
      deliver = (one) => worker.send(one);
      const send = (message: MessageToWorker): void => {
        if (message.type === 'run') {
          kindByTaskId.set(message.taskId, message.kind);
          runTaskIds.push(message.taskId);
        }
        if (message.type === 'run' && message.kind === heldKind) held.push(message);
        else worker.send(message);
      };
      return { ...worker, send };
    },
    hold(kind) {
      heldKind = kind;
    },
    release() {
      heldKind = undefined;
      for (const message of held.splice(0)) deliver(message);
    },
    countRuns: (taskId) => runTaskIds.filter((one) => one === taskId).length,
    holdResults(kind) {
      kindOfHeldResults = kind;
    },
    releaseResults() {
      kindOfHeldResults = undefined;
      for (const message of heldResults.splice(0)) deliverResult(message);
    },
  };
}
