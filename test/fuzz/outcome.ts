import { AppError, InputError } from '../../engine/core/errors.js';
import { compressText, type FuzzCase } from './case.js';
import { importSource, type SourceImport, type SourceOptions } from '../readers/import-source.js';

/** The name under which every input is read. */
export const fileName = 'fuzzed';

/** The result of reading a case: an import, or an error for the user. */
export type Outcome =
  | { readonly kind: 'read'; readonly import: SourceImport }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

/** Thrown when a property does not hold for an input. */
export class Failure extends Error {
  constructor(
    readonly property: string,
    message: string,
  ) {
    super(`${property}: ${message}`);
    this.name = 'Failure';
  }
}

/** Reads a case; `how` has the chunk size and other options. */
export async function outcomeOf(one: FuzzCase, how: SourceOptions = {}): Promise<Outcome> {
  const { reader, bytes, params, validation, packing } = one;
  try {
    const read = await importSource(compressText(bytes, packing), reader, {
      name: fileName,
      params,
      validation,
      ...how,
    });
    return { kind: 'read', import: read };
  } catch (error) {
    return refusal(error);
  }
}

/** The outcome for an expected error. Throws a `Failure` for any other error and for one about the file that does not name it. */
function refusal(error: unknown): Outcome {
  if (!(error instanceof AppError))
    throw new Failure('threw', error instanceof Error ? String(error.stack) : String(error));
  const { code, message } = error;
  if (code !== 'input' && code !== 'budget' && code !== 'invalid')
    throw new Failure('threw', `${code}: ${String(error.stack)}`);
  const isNamed = error instanceof InputError ? error.position.file === fileName : true;
  if ((code === 'input' && !message.startsWith(fileName)) || !isNamed)
    throw new Failure('unnamed', `the error does not name the file: ${message}`);
  return { kind: 'refused', code, message };
}
