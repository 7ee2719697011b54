import type { SchedulerOptions } from '../../scheduler/queue/scheduler.js';
import { startHost } from '../../scheduler/worker/host.js';
import type { MessageToWorker } from '../../scheduler/worker/messages.js';

/** A worker process from which a test can withhold work. */
export interface HoldableWorker {
  /** The scheduler's option that starts this worker. */
  readonly startHost: NonNullable<SchedulerOptions['startHost']>;
  /** The messages that were withheld from the worker, in order. */
  readonly held: readonly MessageToWorker[];
  /** From now on, withholds work of one kind of job, or all work if `kind` is undefined. */
  hold(kind: string | undefined): void;
  /** Sends the withheld messages to the worker, and withholds nothing any more. */
  release(): void;
}

/** Returns a worker that receives its work until `hold` is called. */
export function createHoldableWorker(): HoldableWorker {
  let heldKind: string | undefined;
  const held: MessageToWorker[] = [];
  let deliver: (message: MessageToWorker) => void;
  return {
    held,
    startHost: (...args) => {
      const host = startHost(...args);
      deliver = (message) => host.send(message);
      const send = (message: MessageToWorker): void => {
        if (message.type === 'run' && message.kind === heldKind) held.push(message);
        else host.send(message);
      };
      return { ...host, send };
    },
    hold(kind) {
      heldKind = kind;
    },
    release() {
      heldKind = undefined;
      for (const message of held.splice(0)) deliver(message);
    },
  };
}
