import { invalidError } from '../../engine/core/errors.js';
import { readId, readInteger } from './form.js';
import type { QueryParams } from './page.js';

/*
 * Reads the filters of a list from its query string. Every value is a string; for a filter that takes several values, a repeated parameter
 * means "any of" (contract 1.2), but "all of" for the tags of templates and applications; otherwise the last one counts. An empty one
 * counts as absent.
 */

/** Returns all values of a parameter that are not empty. */
export function paramValues(query: QueryParams, name: string): readonly string[] {
  const rawValue = Object.hasOwn(query, name) ? query[name] : undefined;
  const list: readonly unknown[] = Array.isArray(rawValue) ? rawValue : [rawValue];
  return list.filter((value): value is string => typeof value === 'string' && value !== '');
}

/** Returns the last value of the first of the parameters `names` that has one; undefined if none has. */
export function firstParamValue(
  query: QueryParams,
  ...names: readonly string[]
): string | undefined {
  return names.map((name) => paramValues(query, name).at(-1)).find((value) => value !== undefined);
}

/**
 * Returns the ids in a parameter, separated by commas or repeated; undefined if there are none. A value that is not an id becomes 0, which
 * matches nothing (contract 5.3: `account_id=-1` is an empty list).
 */
export function paramIds(query: QueryParams, name: string): readonly number[] | undefined {
  const values = paramValues(query, name).flatMap((text) => text.split(','));
  return values.length === 0 ? undefined : values.map((text) => readId(text.trim()) ?? 0);
}

/** Returns the id in a query parameter; null for the text `null`. A value that is not an id becomes 0, which matches nothing. */
export function nullableIdParam(query: QueryParams, name: string): number | null | undefined {
  const text = firstParamValue(query, name);
  if (text === undefined) return undefined;
  return text.toLowerCase() === 'null' ? null : (readId(text) ?? 0);
}

/** Returns the whole number in a parameter; any other text is an error. */
export function wholeNumberParam(query: QueryParams, name: string): number | undefined {
  const text = firstParamValue(query, name);
  if (text === undefined) return undefined;
  const number = readInteger(text);
  if (number === undefined) throw invalidError(name, 'A valid integer is required.');
  return number;
}

/** Reads a parameter whose values, separated by commas or repeated, must be members of a fixed set; throws a 400 for any other value. */
export function choiceParams<T extends string>(
  query: QueryParams,
  name: string,
  allowed: readonly T[],
): readonly T[] | undefined {
  const values = paramValues(query, name).flatMap((text) => text.split(','));
  if (values.length === 0) return undefined;
  return values.map((value) => {
    const matchingChoice = allowed.find((one) => one === value.trim().toLowerCase());
    if (matchingChoice !== undefined) return matchingChoice;
    const quotedValue = JSON.stringify(value.slice(0, 100));
    throw invalidError(name, `${quotedValue} is not a valid choice; use ${allowed.join(', ')}.`);
  });
}

/** Reads an id from a parameter; a value that is not an id becomes 0, which matches nothing. */
export function idParam(query: QueryParams, name: string): number | undefined {
  const text = firstParamValue(query, name);
  return text === undefined ? undefined : (readId(text) ?? 0);
}

/** Returns the object without its undefined properties, as `exactOptionalPropertyTypes` requires. */
export function omitUndefined<T extends object>(values: {
  -readonly [K in keyof T]?: T[K] | undefined;
}): Partial<T> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
}
