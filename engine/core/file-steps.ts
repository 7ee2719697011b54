import { sep } from 'node:path';
import { AppError } from './errors.js';
import { faultpoint, type FileOperation } from './faultpoint.js';

/** Runs one operation on the file system. Its error names the file (`wrapFileError`); `verb` is the operation as messages name it. */
export function fileStep<T>(
  path: string,
  verb: string,
  operation: FileOperation,
  work: () => Promise<T>,
): Promise<T> {
  return explainFailure(path, verb, rawFileStep(operation, work));
}

/** Runs one operation on the file system. Rejects with the error of the operating system, for callers that check its code. */
export async function rawFileStep<T>(operation: FileOperation, work: () => Promise<T>): Promise<T> {
  faultpoint(operation);
  return work();
}

/** Awaits the result of an operation on a file; rejects with the error that `wrapFileError` returns. */
async function explainFailure<T>(path: string, verb: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw wrapFileError(path, verb, error);
  }
}

/** Turns a system error into an `AppError` that names the file; an `AppError` stays as it is. */
export function wrapFileError(path: string, verb: string, error: unknown): Error {
  if (error instanceof AppError) return error;
  switch (errorCodeOf(error)) {
    case 'ENOENT':
      return damagedFileError(path, 'is missing', error);
    case 'ELOOP':
    case 'EMLINK':
      return damagedFileError(path, 'is a symbolic link', error);
    case 'ENOSPC':
    case 'EDQUOT':
      return new AppError(
        'no-space',
        `no space left on the disk to ${verb} ${shortPath(path)}; free some and try again`,
        undefined,
        error,
      );
    default: {
      const reason = errorCodeOf(error) ?? String(error);
      return new AppError(
        'internal',
        `cannot ${verb} ${shortPath(path)}: ${reason}`,
        undefined,
        error,
      );
    }
  }
}

/** The error for a stored file that is missing or not as it was written; `what` is the predicate of the message. */
export function damagedFileError(path: string, what: string, cause?: unknown): AppError {
  return new AppError('damaged', `${shortPath(path)} ${what}`, undefined, cause);
}

/**
 * The last three names of a path, by which messages name a file; in most cases they do not reveal the location of the data folder to
 * clients.
 */
function shortPath(path: string): string {
  return path.split(sep).slice(-3).join('/');
}

/** Returns the `code` of an error, such as `ENOENT`; undefined if it has none. */
export function errorCodeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
