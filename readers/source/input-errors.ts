import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { AppError, InputError } from '../../engine/core/errors.js';

/** Returns the InputError for a zlib error that the content of the file has caused; returns other errors unchanged. */
export function toInputError(error: unknown, name: string, byte?: number): unknown {
  const code = (error as { code?: unknown }).code;
  const position = byte === undefined ? { file: name } : { file: name, byte };
  if (code === 'Z_BUF_ERROR') return truncatedInputError(name, byte);
  if (code === 'Z_DATA_ERROR')
    return new InputError(
      position,
      `the compressed data is damaged (${(error as Error).message})`,
      error,
    );
  return error;
}

/** Returns the error for a compressed file that was cut off. */
export function truncatedInputError(name: string, byte?: number): InputError {
  const position = byte === undefined ? { file: name } : { file: name, byte };
  return new InputError(position, 'the compressed file ends early: it was cut off, fetch it again');
}

/** Returns the error for a line that exceeds the budget. */
export function lineTooLongError(name: string): InputError {
  return new InputError(
    { file: name },
    `a line is longer than ${byteSizeText(budgets.lineBytes)}, the most that one may have: check that the file is text with line ends, or split the line`,
  );
}

/** Returns the error for a file whose decompressed size exceeds the budget. */
export function decompressedTooLargeError(name: string): AppError {
  return new AppError(
    'budget',
    `${name}: the file has more than ${byteSizeText(budgets.decompressedBytes)} when decompressed, the most that one may have: split it into several files`,
  );
}

/** Returns the error for a record that exceeds the budget for lines. */
export function recordTooLongError(name: string): InputError {
  return new InputError(
    { file: name },
    `a record is longer than ${byteSizeText(budgets.lineBytes)}, the most that one may have: split it into several records`,
  );
}
