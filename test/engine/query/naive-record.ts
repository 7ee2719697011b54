import { parseJson } from '../../../engine/core/json.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { fieldNamed, ownValue } from './naive-fields.js';
import { momentRange, Refused } from './naive-values.js';

type Paths = readonly (readonly string[])[];

/** How records are shown: first `fields`, then `exclude_fields` (query language 1.3). */
export function shape(
  body: Readonly<Record<string, unknown>>,
  columns: Columns,
): (row: TestRow) => Record<string, unknown> {
  const all: Columns = [...['_id', '_commit'].map((name): Column => ({ name, physical: name, type: 'string', isList: false })), ...columns]; // prettier-ignore
  const wantedPaths = names(body['fields']).map((name) => {
    const field = fieldNamed(columns, name);
    if (!field) throw new Refused('no such field');
    return field.path;
  });
  // The excluded paths; unknown names are ignored.
  const leftOutPaths = names(body['exclude_fields']).flatMap((name) => {
    const field = fieldNamed(columns, name);
    return field ? [field.path] : [];
  });
  const keptColumns = withoutPaths(
    wantedPaths.length > 0 ? onlyPaths(all, wantedPaths) : all,
    leftOutPaths,
  );
  return (row) => Object.fromEntries(keptColumns.map((each) => [each.name, shownValue(each, ownValue(row, each.name))])); // prettier-ignore
}

/** A list of names, or a single name; a missing value and the empty text mean no names. */
export function names(given: unknown): readonly string[] {
  if (given === undefined || given === null || given === '') return [];
  return (Array.isArray(given) ? given : [given]) as readonly string[];
}

function onlyPaths(columns: Columns, paths: Paths): Columns {
  return columns.flatMap((each) => {
    const pathsInside = paths.filter(([name]) => name === each.name).map(([, ...rest]) => rest);
    if (pathsInside.length === 0) return [];
    if (pathsInside.some((rest) => rest.length === 0)) return [each];
    return [{ ...each, children: onlyPaths(each.children!, pathsInside) }];
  });
}

/** An object without remaining members is removed, too. */
function withoutPaths(columns: Columns, paths: Paths): Columns {
  return columns.flatMap((each) => {
    const pathsInside = paths.filter(([name]) => name === each.name).map(([, ...rest]) => rest);
    if (pathsInside.some((rest) => rest.length === 0)) return [];
    if (pathsInside.length === 0) return [each];
    const children = withoutPaths(each.children!, pathsInside);
    return children.length === 0 ? [] : [{ ...each, children }];
  });
}

/** A value as answers show it: every key at the top, inside objects only those with a value. */
export function shownValue(each: Column, value: Value): unknown {
  if (value === null) return null;
  if (each.isList)
    return (value as readonly Value[]).map((item) => shownValue({ ...each, isList: false }, item));
  switch (each.type) {
    case 'object': {
      const members = each.children!.map((child) => [child.name, shownValue(child, ownValue(value, child.name))] as const); // prettier-ignore
      return Object.fromEntries(members.filter(([, inside]) => inside !== null));
    }
    case 'json':
      return parseJson(value as string);
    case 'float':
      return shortestFloat(value as number);
    case 'date':
      return dateShown(momentRange(value as string)![0]);
    default:
      return value;
  }
}

/** The fewest digits that are the same 32-bit float again. */
function shortestFloat(value: number): number {
  for (let digits = 1; digits < 10; digits++) {
    const number = Number(value.toPrecision(digits));
    if (Math.fround(number) === value) return number;
  }
  return value;
}

/** A date without the time at midnight, and with six digits of a second if it has a fraction. */
export function dateShown(micros: bigint): string {
  const part = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const text = new Date(Number((micros - part) / 1000n)).toISOString().slice(0, 19);
  if (part > 0n) return `${text}.${String(part).padStart(6, '0')}`;
  return text.endsWith('T00:00:00') ? text.slice(0, 10) : text;
}
