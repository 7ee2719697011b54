import { setTimeout as pause } from 'node:timers/promises';
import type { WrittenFile } from '../../engine/core/file-writer.js';
import { checkDigest } from './expected-digest.js';
import { networkFailure, type FetchFailure } from './fetch-failure.js';
import type { FetchLimits } from './fetch-limits.js';
import { Spool } from './spool.js';
import { Transfer, type DownloadRequest } from './transfer.js';

/** Fetches a URL into a new file and resumes broken transfers; on failure the file is removed. */
export async function downloadFile(job: DownloadRequest): Promise<WrittenFile> {
  const spool = await Spool.open(job.file);
  const transfer = new Transfer(job, spool);
  try {
    for (let retry = 0; ; retry += 1) {
      try {
        await transfer.runAttempt();
        break;
      } catch (error) {
        job.signal.throwIfAborted();
        const failure = failureOf(error);
        if (!failure.isTransient || retry >= job.limits.retries) throw failure;
        const ms = retryDelayMs(retry + 1, failure.retryAfterWaitMs, job.limits);
        await pause(ms, undefined, { signal: job.signal });
      }
    }
    const writtenFile = await spool.finish();
    checkDigest(job.expected, writtenFile, transfer.encodedBodyDigest?.finish());
    return writtenFile;
  } catch (error) {
    await spool.abort();
    throw error;
  }
}

/** Returns the fetch failure that corresponds to a network error; rethrows any other error, such as a full disk. */
function failureOf(error: unknown): FetchFailure {
  const namedError = error as { name?: unknown } | null;
  if (namedError?.name === 'AppError') throw error;
  return networkFailure(error);
}

/**
 * Returns the delay in milliseconds before the nth retry (from 1): exponential backoff with jitter, at least `askedMs`, which the host
 * asked for, and at most `longestPauseMs`.
 */
export function retryDelayMs(
  retry: number,
  askedMs: number,
  { pauseMs, longestPauseMs }: FetchLimits,
  random: () => number = Math.random,
): number {
  const backoffMs = pauseMs * 2 ** (retry - 1) * (0.5 + random() / 2);
  return Math.min(longestPauseMs, Math.max(backoffMs, askedMs));
}
