import { AppError } from '../../core/errors.js';

/** Limits and other options of a step of a query. */
export interface RunOptions {
  /** When it aborts, as it does when the client leaves, the step fails with `canceled`. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit in milliseconds; if absent, the budget `queryMs` applies. */
  readonly timeoutMs?: number | undefined;
  /** What is being read, for the message about a missing or damaged file: `dataset 4812`. */
  readonly subject?: string | undefined;
  /**
   * True if the work may take seconds. Such work holds at most half of the connections of the SQL engine, so that light queries start at
   * once.
   */
  readonly isHeavy?: boolean | undefined;
  /** True if no client waits for the result. The threads of the columns in memory then work on the query only while they are idle. */
  readonly isIdle?: boolean | undefined;
}

/** Runs work, and changes an error about a damaged file so that it names the dataset, not the file. */
export async function withDatasetNamedInErrors<T>(
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

/** Returns the error of a query whose client has left. */
export function clientLeftError(cause?: unknown): AppError {
  return new AppError('canceled', 'The client gave up', undefined, cause);
}

/** Returns the error of a query that exceeded its time limit. */
export function queryTimeoutError(timeoutMs: number, cause?: unknown): AppError {
  const text = `The query took longer than ${timeoutMs / 1000} s, the most that one may take: narrow it with filters, or ask for fewer facets.`;
  return new AppError('budget', text, undefined, cause);
}
