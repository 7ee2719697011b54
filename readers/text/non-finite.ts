import type { RecordContext } from '../../engine/ingest/record-context.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import { isInfinite, isNotANumber, latin1Text } from './parse-numbers.js';

/** The code of a number that cannot be stored, and the message about it. */
interface NonFiniteFault {
  readonly code: number;
  readonly message: string;
  readonly isNonFinite: true;
}

/** Returns the code and message for a text that is NaN, infinite or too large for a double; undefined for any other text. */
export function nonFiniteFaultOf(
  bytes: Uint8Array,
  from: number,
  to: number,
): NonFiniteFault | undefined {
  if (isNotANumber(bytes, from, to))
    return { code: codes.nan, message: 'the value is NaN', isNonFinite: true };
  if (!isInfinite(bytes, from, to)) return undefined;
  const message = `the value "${latin1Text(bytes, from, to)}" is infinite or too large for a double`;
  return { code: codes.infinity, message, isNonFinite: true };
}

/**
 * Reports a NaN or infinite number of a field with one value; returns false for any other text. The value becomes null with a warning; if
 * somebody declared the type of the field, it is an error unless validation is off.
 */
export function reportNonFinite(
  bytes: Uint8Array,
  from: number,
  to: number,
  field: string,
  isDeclared: boolean,
  context: RecordContext,
): boolean {
  const fault = nonFiniteFaultOf(bytes, from, to);
  if (fault === undefined) return false;
  const { code, message } = fault;
  if (isDeclared) context.rejectUnlessLenient(code, field, message);
  else context.warn(code, field, `${message}: null is stored`);
  return true;
}
