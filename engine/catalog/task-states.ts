import type { TaskStatus } from './rows.js';

/**
 * Every status a task may go to from each. Running goes back to queued when a process died and the task is tried again;
 * what is finished stays so.
 */
export const transitions: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = Object.freeze({
  pending: Object.freeze(['queued', 'canceled', 'failed'] as const),
  queued: Object.freeze(['running', 'canceled', 'failed'] as const),
  running: Object.freeze(['completed', 'failed', 'canceled', 'queued'] as const),
  completed: Object.freeze([] as const),
  failed: Object.freeze([] as const),
  canceled: Object.freeze([] as const),
});

/** The statuses that a client waits on (contract 15.3). */
export const activeStatuses: readonly TaskStatus[] = Object.freeze([
  'pending',
  'queued',
  'running',
] as const);

export function mayMove(from: TaskStatus, to: TaskStatus): boolean {
  return transitions[from].includes(to);
}

/** True until a task has come to its end. */
export function isActive(status: TaskStatus): boolean {
  return activeStatuses.includes(status);
}
