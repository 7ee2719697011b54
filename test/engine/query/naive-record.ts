import { parseJson } from '../../../engine/core/json.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { resolveField, memberOrNull } from './naive-fields.js';
import { dateRangeMicros, RefusedRequest } from './naive-values.js';

type FieldPaths = readonly (readonly string[])[];

/** Returns a function that shows a record as answers do: first `fields` is applied, then `exclude_fields` (query language 1.3). */
export function naiveProjection(
  body: Readonly<Record<string, unknown>>,
  columns: Columns,
): (row: TestRow) => Record<string, unknown> {
  const all: Columns = [...['_id', '_commit'].map((name): Column => ({ name, physical: name, type: 'string', isList: false })), ...columns]; // prettier-ignore
  const wantedPaths = nameListOf(body['fields']).map((name) => {
    const field = resolveField(columns, name);
    if (!field) throw new RefusedRequest('no such field');
    return field.path;
  });
  // Unknown names in `exclude_fields` are ignored.
  const leftOutPaths = nameListOf(body['exclude_fields']).flatMap((name) => {
    const field = resolveField(columns, name);
    return field ? [field.path] : [];
  });
  const keptColumns = excludePaths(
    wantedPaths.length > 0 ? selectPaths(all, wantedPaths) : all,
    leftOutPaths,
  );
  return (row) => Object.fromEntries(keptColumns.map((each) => [each.name, valueAsAnswered(each, memberOrNull(row, each.name))])); // prettier-ignore
}

/** Returns a list of names; a single name counts as a list of one, a missing value and the empty text as none. */
export function nameListOf(nameOrNames: unknown): readonly string[] {
  if (nameOrNames === undefined || nameOrNames === null || nameOrNames === '') return [];
  return (Array.isArray(nameOrNames) ? nameOrNames : [nameOrNames]) as readonly string[];
}

function selectPaths(columns: Columns, paths: FieldPaths): Columns {
  return columns.flatMap((each) => {
    const pathsInside = paths.filter(([name]) => name === each.name).map(([, ...rest]) => rest);
    if (pathsInside.length === 0) return [];
    if (pathsInside.some((rest) => rest.length === 0)) return [each];
    return [{ ...each, children: selectPaths(each.children!, pathsInside) }];
  });
}

/** Returns the columns without some paths. An object without remaining members is removed too. */
function excludePaths(columns: Columns, paths: FieldPaths): Columns {
  return columns.flatMap((each) => {
    const pathsInside = paths.filter(([name]) => name === each.name).map(([, ...rest]) => rest);
    if (pathsInside.some((rest) => rest.length === 0)) return [];
    if (pathsInside.length === 0) return [each];
    const children = excludePaths(each.children!, pathsInside);
    return children.length === 0 ? [] : [{ ...each, children }];
  });
}

/** Returns a value as answers show it: all keys at the top level, but inside objects only keys with a value. */
export function valueAsAnswered(each: Column, value: Value): unknown {
  if (value === null) return null;
  if (each.isList)
    return (value as readonly Value[]).map((item) =>
      valueAsAnswered({ ...each, isList: false }, item),
    );
  switch (each.type) {
    case 'object': {
      const members = each.children!.map((child) => [child.name, valueAsAnswered(child, memberOrNull(value, child.name))] as const); // prettier-ignore
      return Object.fromEntries(members.filter(([, inside]) => inside !== null));
    }
    case 'json':
      return parseJson(value as string);
    case 'float':
      return shortestFloat(value as number);
    case 'date':
      return shownDate(dateRangeMicros(value as string)![0]);
    default:
      return value;
  }
}

/** Returns the decimal number with the fewest digits that denotes the same 32-bit float. */
function shortestFloat(value: number): number {
  for (let digits = 1; digits < 10; digits++) {
    const number = Number(value.toPrecision(digits));
    if (Math.fround(number) === value) return number;
  }
  return value;
}

/** Returns a date as text: without the time if it is midnight, and with six decimals of the second if it has a fraction. */
export function shownDate(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const text = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, 19);
  if (fraction > 0n) return `${text}.${String(fraction).padStart(6, '0')}`;
  return text.endsWith('T00:00:00') ? text.slice(0, 10) : text;
}
