import { HostAnswerCache } from './answers.js';
import { JobResults } from './columns/job-results.js';

/** The answers and results that a thread caches for a request, or for an attempt at a job. */
interface ThreadCallCache {
  readonly answers: HostAnswerCache;
  readonly results: JobResults;
}

/** The cache of the latest job in this thread, for the next part of the same attempt. */
let latestCallCache: { readonly scope: string; readonly cache: ThreadCallCache } | undefined;

/** Returns the cache of a scope, which consecutive parts of an attempt at a job in this thread share; without a scope, a new cache. */
export function callCacheOf(scope: string | undefined): ThreadCallCache {
  dropCacheOfOtherScope(scope);
  if (latestCallCache !== undefined) return latestCallCache.cache;
  const cache = { answers: new HostAnswerCache(), results: new JobResults() };
  if (scope !== undefined) latestCallCache = { scope, cache };
  return cache;
}

/** Drops the cache of the previous scope, unless the work that begins has the same scope. */
export function dropCacheOfOtherScope(scope: string | undefined): void {
  if (latestCallCache?.scope !== scope) latestCallCache = undefined;
}
