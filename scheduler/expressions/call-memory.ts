import { Answers } from './answers.js';
import { JobResults } from '../jobs/import/expressions/job-results.js';

/** What a thread keeps of the calls of a request, or of an attempt at a job. */
export interface CallMemory {
  readonly answers: Answers;
  readonly results: JobResults;
}

/** What this thread keeps for the next part of a job. */
let latest: { readonly scope: string; readonly memory: CallMemory } | undefined;

/** What is kept for a scope: the parts of an attempt at a job that run one after the other in this thread share it. */
export function callMemory(scope: string | undefined): CallMemory {
  forgetOtherCalls(scope);
  if (latest !== undefined) return latest.memory;
  const memory = { answers: new Answers(), results: new JobResults() };
  if (scope !== undefined) latest = { scope, memory };
  return memory;
}

/** Forgets what is kept for another scope than that of the work that begins. */
export function forgetOtherCalls(scope: string | undefined): void {
  if (latest?.scope !== scope) latest = undefined;
}
