import { AppError } from '../../core/errors.js';

/** Limits of a step of a query. */
export interface RunOptions {
  /** Aborted when the client leaves. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; the budget `queryMs` if absent. */
  readonly timeoutMs?: number | undefined;
  /** The name of what is read, for the message about a missing or damaged file: `dataset 4812`. */
  readonly subject?: string | undefined;
  /** The work may take seconds: it queues with other heavy work, so that light queries start at once. */
  readonly isHeavy?: boolean | undefined;
  /** Whether no client waits for the result: the threads of columns then work on the query only while they have nothing else to do. */
  readonly isIdle?: boolean | undefined;
}

/** Names the dataset, not the file, in the error about a damaged file. */
export async function namingDataset<T>(
  { datasetId }: { readonly datasetId: number },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'damaged') throw error;
    const text = `A stored file of dataset ${datasetId} is missing or damaged`;
    throw new AppError('damaged', text, undefined, error);
  }
}

/** The error of a query whose client has left. */
export function clientLeft(cause?: unknown): AppError {
  return new AppError('canceled', 'The client gave up', undefined, cause);
}

/** The error of a query that exceeded its time limit. */
export function timedOut(timeoutMs: number, cause?: unknown): AppError {
  const text = `The query took longer than ${timeoutMs / 1000} s, the most that one may take: narrow it with filters, or ask for fewer facets.`;
  return new AppError('budget', text, undefined, cause);
}
