import { AppError, InputError } from '../../engine/core/errors.js';
import { compressText, type FuzzCase } from './case.js';
import { importSource, type SourceImport, type SourceOptions } from '../readers/import-source.js';

/** The file name under which every input is read. */
export const fuzzedFileName = 'fuzzed';

/** The result of reading a case: an import, or an error that a user would see. */
export type ReadOutcome =
  | { readonly kind: 'read'; readonly import: SourceImport }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

/** Thrown when a property does not hold for an input. */
export class PropertyFailure extends Error {
  constructor(
    readonly property: string,
    message: string,
  ) {
    super(`${property}: ${message}`);
    this.name = 'PropertyFailure';
  }
}

/** Reads a case; `options` contains the chunk size and other settings. */
export async function readCase(one: FuzzCase, options: SourceOptions = {}): Promise<ReadOutcome> {
  const { reader, bytes, params, validation, packing } = one;
  try {
    const sourceImport = await importSource(compressText(bytes, packing), reader, {
      name: fuzzedFileName,
      params,
      validation,
      ...options,
    });
    return { kind: 'read', import: sourceImport };
  } catch (error) {
    return refusedOutcome(error);
  }
}

/**
 * Returns the outcome for an expected error. Throws a `PropertyFailure` for any other error, and for an error about the file whose message
 * does not name the file.
 */
function refusedOutcome(error: unknown): ReadOutcome {
  if (!(error instanceof AppError))
    throw new PropertyFailure(
      'threw',
      error instanceof Error ? String(error.stack) : String(error),
    );
  const { code, message } = error;
  if (code !== 'input' && code !== 'budget' && code !== 'invalid')
    throw new PropertyFailure('threw', `${code}: ${String(error.stack)}`);
  const isNamed = error instanceof InputError ? error.position.file === fuzzedFileName : true;
  if ((code === 'input' && !message.startsWith(fuzzedFileName)) || !isNamed)
    throw new PropertyFailure('unnamed', `the error does not name the file: ${message}`);
  return { kind: 'refused', code, message };
}
