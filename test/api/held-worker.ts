import type { SchedulerOptions } from '../../scheduler/queue/scheduler.js';
import { startHost } from '../../scheduler/worker/host.js';
import type { ToWorker } from '../../scheduler/worker/messages.js';

/** A worker from which a test can keep its work. */
export interface HeldWorker {
  /** The option of the scheduler that starts it. */
  readonly startHost: NonNullable<SchedulerOptions['startHost']>;
  /** The work that it did not get, in order. */
  readonly held: readonly ToWorker[];
  /** From now on it gets no work of this kind of job, or all further work. */
  hold(kind: string | undefined): void;
  /** Gives it the held work, and all further work. */
  release(): void;
}

/** Makes a worker that gets its work until `hold` is called. */
export function heldWorker(): HeldWorker {
  let heldKind: string | undefined;
  const held: ToWorker[] = [];
  let deliver: (message: ToWorker) => void;
  return {
    held,
    startHost: (...args) => {
      const host = startHost(...args);
      deliver = (message) => host.send(message);
      const send = (message: ToWorker): void => {
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
