import type { Job } from './job.js';
import { exportJob } from './export/export.js';
import { importJob } from './import/import.js';
import { mergeJob } from './merge/merge.js';
import { tableJob } from './table/table.js';

/** Every kind of job. A new kind is its declaration and a line here. */
export const jobs = [importJob, exportJob, mergeJob, tableJob] as const;

/** What the queue and the worker get: the list above, or one that tests have added to. */
export type Jobs = readonly Job[];

type Declared = (typeof jobs)[number];

/** The kinds that are declared. */
export type JobKind = Declared['kind'];

/** What `prepare` passes to `run`, for a kind. */
export type ParamsOf<K extends JobKind> = Halves<Extract<Declared, { readonly kind: K }>>['params'];

/** What `run` returns, for a kind. */
export type ResultOf<K extends JobKind> = Halves<Extract<Declared, { readonly kind: K }>>['result'];

type Halves<J> = J extends Job<string, infer P, infer R> ? { params: P; result: R } : never;

/** The declaration of a kind. */
export function jobOf(list: Jobs, kind: string): Job {
  const found = list.find((job) => job.kind === kind);
  if (found === undefined) throw new Error(`no job of the kind ${kind} is declared`);
  return found;
}
