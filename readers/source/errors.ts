import { budgets, byteSize } from '../../engine/core/budgets.js';
import { AppError, InputError } from '../../engine/core/errors.js';

/** The InputError for a zlib error that the content of the file causes; any other error unchanged. */
export function asInputError(error: unknown, name: string, byte?: number): unknown {
  const code = (error as { code?: unknown }).code;
  const position = byte === undefined ? { file: name } : { file: name, byte };
  if (code === 'Z_BUF_ERROR') return truncatedInput(name, byte);
  if (code === 'Z_DATA_ERROR')
    return new InputError(
      position,
      `the compressed data is damaged (${(error as Error).message})`,
      error,
    );
  return error;
}

/** The error for a compressed file that was cut off. */
export function truncatedInput(name: string, byte?: number): InputError {
  const position = byte === undefined ? { file: name } : { file: name, byte };
  return new InputError(position, 'the compressed file ends early: it was cut off, fetch it again');
}

/** The error for a line that exceeds the budget. */
export function lineTooLong(name: string): InputError {
  return new InputError(
    { file: name },
    `a line is longer than ${byteSize(budgets.lineBytes)}, the most that one may have: check that the file is text with line ends, or split the line`,
  );
}

/** The error for a file that decompresses to more than the budget. */
export function tooMuchDecoded(name: string): AppError {
  return new AppError(
    'budget',
    `${name}: the file has more than ${byteSize(budgets.decompressedBytes)} when decompressed, the most that one may have: split it into several files`,
  );
}

/** The error for a record that exceeds the budget for lines. */
export function recordTooLong(name: string): InputError {
  return new InputError(
    { file: name },
    `a record is longer than ${byteSize(budgets.lineBytes)}, the most that one may have: split it into several records`,
  );
}
