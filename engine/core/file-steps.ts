import { sep } from 'node:path';
import { AppError } from './errors.js';
import { faultpoint, type FileOperation } from './faultpoint.js';

/** Runs one step on the file system. An error names the file and the step (`verb`). */
export function fileStep<T>(
  path: string,
  verb: string,
  operation: FileOperation,
  work: () => Promise<T>,
): Promise<T> {
  return explainFailure(path, verb, rawStep(operation, work));
}

/** Like `fileStep`, but rejects with the system's own error, for callers that check its code. */
export async function rawStep<T>(operation: FileOperation, work: () => Promise<T>): Promise<T> {
  faultpoint(operation);
  return work();
}

/** The result of a step; an error names the file, the step and what to do. */
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
  switch (codeOf(error)) {
    case 'ENOENT':
      return damagedFile(path, 'is missing', error);
    case 'ELOOP':
    case 'EMLINK':
      return damagedFile(path, 'is a symbolic link', error);
    case 'ENOSPC':
    case 'EDQUOT':
      return new AppError(
        'no-space',
        `no space left on the disk to ${verb} ${shortName(path)}; free some and try again`,
        undefined,
        error,
      );
    default: {
      const reason = codeOf(error) ?? String(error);
      return new AppError(
        'internal',
        `cannot ${verb} ${shortName(path)}: ${reason}`,
        undefined,
        error,
      );
    }
  }
}

/** The error for a file whose content is not what was written. */
export function damagedFile(path: string, what: string, cause?: unknown): AppError {
  return new AppError('damaged', `${shortName(path)} ${what}`, undefined, cause);
}

/** The last three names of a path: enough to find the file, without revealing the location of the data folder to clients. */
function shortName(path: string): string {
  return path.split(sep).slice(-3).join('/');
}

/** The code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
