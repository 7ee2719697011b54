import type { Job } from './job.js';
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

/** The type of the result of a kind of job, which `run` returns and `publish` receives; unknown for a kind that `jobs` does not declare. */
export type ResultOf<K extends string> = K extends JobKind
  ? ResultOfJob<Extract<DeclaredJob, { readonly kind: K }>>
  : unknown;

type ResultOfJob<J> = J extends Job<string, infer _, infer R> ? R : never;

/** Throws if two jobs of the list have the same kind. */
export function requireDistinctKinds(list: Jobs): void {
  const kinds = list.map(({ kind }) => kind);
  const repeatedKind = kinds.find((kind, i) => kinds.indexOf(kind) !== i);
  if (repeatedKind !== undefined)
    throw new Error(`two jobs of the kind ${repeatedKind} are declared`);
}

/** Returns the declaration of a kind of job. Throws if there is none. */
export function jobOfKind(list: Jobs, kind: string): Job {
  const matchingJob = list.find((job) => job.kind === kind);
  if (matchingJob === undefined) throw new Error(`no job of the kind ${kind} is declared`);
  return matchingJob;
}
