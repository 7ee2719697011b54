import type { CompletedTask, Job, NewBackgroundTask } from './job.js';
import { restoreJob } from './archive/restore.js';
import { snapshotJob } from './archive/snapshot.js';
import { checkpointJob } from './checkpoint/checkpoint.js';
import { computedTableJob } from './computed/computed.js';
import { copyJob } from './copy/copy.js';
import { exportJob } from './export/export.js';
import { importJob } from './import/import.js';
import { mergeJob } from './merge/merge.js';
import { migrationJob } from './migration/migration.js';
import { tableJob } from './table/table.js';
import { vacuumJob } from './vacuum/vacuum.js';
import { verifyJob } from './verify/verify.js';

/** All kinds of job. To add one, write its declaration and list it here. */
export const jobs = [
  importJob,
  exportJob,
  migrationJob,
  copyJob,
  snapshotJob,
  restoreJob,
  mergeJob,
  vacuumJob,
  checkpointJob,
  tableJob,
  computedTableJob,
  verifyJob,
] as const;

/** A list of job declarations: `jobs`, or the list of a test. */
export type Jobs = readonly Job[];

type DeclaredJob = (typeof jobs)[number];

/** The names of the kinds of job that `jobs` declares. */
export type JobKind = DeclaredJob['kind'];

/** The type of the result of a kind of job, which `run` returns and `publish` receives. */
export type ResultOf<K extends JobKind> = ResultOfJob<Extract<DeclaredJob, { readonly kind: K }>>;

type ResultOfJob<J> = J extends Job<string, infer _, infer R> ? R : never;

/** The part of the queue by which jobs add background tasks. */
export interface TaskQueue {
  /**
   * Queues a background task, or joins the open one if the kind is shared, waits for it, and resolves with its published result. Rejects
   * with the error of the task, or with `canceled` if the signal aborts, which also cancels the task, even a shared one.
   */
  enqueueAndWait<K extends JobKind>(
    kind: K,
    order: NewBackgroundTask,
    signal?: AbortSignal,
  ): Promise<CompletedTask<ResultOf<K>>>;
  enqueueAndWait(
    kind: string,
    order: NewBackgroundTask,
    signal?: AbortSignal,
  ): Promise<CompletedTask<unknown>>;
}

/** Returns the declaration of a kind of job. Throws if there is none. */
export function jobOfKind(list: Jobs, kind: string): Job {
  const found = list.find((job) => job.kind === kind);
  if (found === undefined) throw new Error(`no job of the kind ${kind} is declared`);
  return found;
}
