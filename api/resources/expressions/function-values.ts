import type { FieldRow } from '../../../engine/catalog/fields.js';
import { invalid } from '../../../engine/core/errors.js';
import type { HostAnswer } from '../../../scheduler/expressions/protocol.js';
import { shownValue } from './opened-dataset.js';

/** Maximum number of records or values that one call returns. */
const maxRecords = 100_000;
const floats: ReadonlySet<string> = new Set(['float', 'double']);

/** Whether the numbers of a field are floats. */
export function isFloat({ dataType }: FieldRow): boolean {
  return floats.has(dataType);
}

/** The paths of the fields whose numbers are floats. */
export function floatPaths(fields: readonly FieldRow[]): HostAnswer['floats'] {
  return fields.filter(isFloat).map(({ path }) => path);
}

/** An argument that is a number of records or values: at most 100,000 are returned. */
export function numberOf(name: string, value: unknown, initial: number): number {
  if (value === null || value === undefined) return initial;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalid(name, `${name} must be a whole number from 0, not ${shownValue(value)}`);
  return Math.min(value, maxRecords);
}

/** The values of a record at a path that are not empty; a list contributes each of its elements. */
export function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path));
  if (path.length === 0) return [value];
  const [name, ...rest] = path;
  return valuesAt((value as Readonly<Record<string, unknown>>)[name!], rest);
}
