import { AppError, InputError } from '../../engine/core/errors.js';
import { importSource, type SourceImport, type SourceOptions } from '../readers/import-source.js';
import { packed, type FuzzCase } from './case.js';

/** The name under which every input is read. */
export const fileName = 'fuzzed';

/** What reading a case came to: an import, or an error that a user would see. */
export type Outcome =
  | { readonly kind: 'read'; readonly import: SourceImport }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

/** A property that an input does not have. */
export class Failure extends Error {
  constructor(
    readonly property: string,
    message: string,
  ) {
    super(`${property}: ${message}`);
    this.name = 'Failure';
  }
}

/** How the case is read this time: `targetBytes` is how large the pieces are. */
export async function outcomeOf(one: FuzzCase, how: SourceOptions = {}): Promise<Outcome> {
  const { reader, bytes, params, validation, packing } = one;
  try {
    const read = await importSource(packed(bytes, packing), reader, {
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

/** Errors that say what to do are fine, and name the file unless they are about the parameters. */
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
