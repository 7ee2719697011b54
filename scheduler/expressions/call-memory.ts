import { Answers } from './answers.js';
import { JobResults } from '../jobs/import/expressions/job-results.js';

/** The memory of a thread for the calls of a request, or of an attempt at a job. */
export interface CallMemory {
  readonly answers: Answers;
  readonly results: JobResults;
}

/** The memory for the next part of a job in this thread. */
let latestMemory: { readonly scope: string; readonly memory: CallMemory } | undefined;

/** The memory of a scope: consecutive parts of an attempt at a job in this thread share it. */
export function callMemory(scope: string | undefined): CallMemory {
  forgetOtherCalls(scope);
  if (latestMemory !== undefined) return latestMemory.memory;
  const memory = { answers: new Answers(), results: new JobResults() };
  if (scope !== undefined) latestMemory = { scope, memory };
  return memory;
}

/** Forgets the memory of other scopes than that of the work that begins. */
export function forgetOtherCalls(scope: string | undefined): void {
  if (latestMemory?.scope !== scope) latestMemory = undefined;
}
