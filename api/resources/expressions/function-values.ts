import type { FieldRow } from '../../../engine/catalog/fields.js';
import { invalidError } from '../../../engine/core/errors.js';
import type { HostCallResult } from '../../../scheduler/expressions/host-call-protocol.js';
import { valueForMessage } from './opened-dataset.js';

/** Maximum number of records or values that one call returns. */
const maxRecords = 100_000;
const floatTypes: ReadonlySet<string> = new Set(['float', 'double']);

/** Returns whether the numbers of a field are floats. */
export function isFloat({ dataType }: FieldRow): boolean {
  return floatTypes.has(dataType);
}

/** Returns the paths of the fields whose numbers are floats. */
export function floatPaths(fields: readonly FieldRow[]): HostCallResult['floats'] {
  return fields.filter(isFloat).map(({ path }) => path);
}

/** Reads an argument that is a number of records or values to return; `initial` if it is absent, and at most `maxRecords`. */
export function limitArgument(name: string, value: unknown, initial: number): number {
  if (value === null || value === undefined) return initial;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalidError(
      name,
      `${name} must be a whole number from 0, not ${valueForMessage(value)}`,
    );
  return Math.min(value, maxRecords);
}

/** Returns the non-empty values of a record at a path; a list contributes each of its elements. */
export function nonEmptyValuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap((item) => nonEmptyValuesAt(item, path));
  if (path.length === 0) return [value];
  const [name, ...rest] = path;
  return nonEmptyValuesAt((value as Readonly<Record<string, unknown>>)[name!], rest);
}
