import { sep } from 'node:path';
import { AppError } from './errors.js';

/** The result of a step on a file; its failure says which file, which step and what to do. */
export async function explained<T>(path: string, verb: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw wrapped(path, verb, error);
  }
}

/** A system error as one that names the file; ours pass through. */
export function wrapped(path: string, verb: string, error: unknown): Error {
  if (error instanceof AppError) return error;
  switch (codeOf(error)) {
    case 'ENOENT':
      return damaged(path, 'is missing', error);
    case 'ELOOP':
    case 'EMLINK':
      return damaged(path, 'is a symbolic link', error);
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

/** A file that is not what was written. */
export function damaged(path: string, what: string, cause?: unknown): AppError {
  return new AppError('damaged', `${shortName(path)} ${what}`, undefined, cause);
}

/** The last three names: enough to find the file, without showing clients where the data folder lies. */
function shortName(path: string): string {
  return path.split(sep).slice(-3).join('/');
}

/** The code of a system error: `ENOENT` and the like. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
