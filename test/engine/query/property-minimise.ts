import type { Column, Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import type { GeneratedDataset } from './naive-fields.js';
import type { QueryTree } from './naive-query-string.js';
import { rewriteQuery, type RandomRequest } from './random-request.js';

/** A failing case that can be made smaller. */
export interface PropertyCase {
  readonly made: GeneratedDataset;
  readonly request: RandomRequest;
}

/** Returns the smallest failing case that can be reached by removing parts of the given one. */
export async function minimiseCase(
  first: PropertyCase,
  fails: (one: PropertyCase) => Promise<boolean>,
  most = 600,
): Promise<PropertyCase> {
  let best = first;
  let tries = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const smaller of smallerCases(best)) {
      tries += 1;
      if (tries > most) return best;
      if (!(await fails(smaller))) continue;
      best = smaller;
      isSmaller = true;
      break;
    }
  }
  return best;
}

function* smallerCases({ made, request }: PropertyCase): Generator<PropertyCase> {
  for (const body of smallerBodies(request.body)) {
    const isAsked = Object.hasOwn(body, 'query');
    yield { made, request: { ...request, body, asked: isAsked ? request.asked : null } };
  }
  if (request.cursor) yield { made, request: { ...request, cursor: null } };
  if (request.asked) for (const asked of smallerQueryTrees(request.asked)) yield { made, request: rewriteQuery(request, asked) }; // prettier-ignore
  for (const smaller of smallerDatasets(made)) yield { made: smaller, request };
}

type RequestBody = RandomRequest['body'];

/** Yields request bodies in which one part is removed or made smaller. */
function* smallerBodies(body: RequestBody): Generator<RequestBody> {
  for (const [key, value] of Object.entries(body)) {
    yield Object.fromEntries(Object.entries(body).filter(([name]) => name !== key));
    if (key === 'query') continue;
    for (const smaller of smallerValues(value)) yield { ...body, [key]: smaller };
  }
}

function* smallerValues(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    const isPair = list.length === 2 && typeof list[0] === 'string';
    if (list.length > 4) for (const half of [list.slice(list.length / 2), list.slice(0, list.length / 2)]) yield half; // prettier-ignore
    if (!isPair) for (const i of list.keys()) yield [...list.slice(0, i), ...list.slice(i + 1)];
    for (const [i, item] of list.entries())
      for (const smaller of smallerValues(item)) yield list.with(i, smaller);
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    // An operator can be replaced by its operand.
    if (entries.length === 1 && /^(and|or|not)$/i.test(entries[0]![0])) yield entries[0]![1];
    // An `any` condition needs both of its keys, so none of them is removed.
    const isElement = Object.hasOwn(value, 'path');
    for (const [key, inside] of entries) {
      if (entries.length > 1 && !isElement)
        yield Object.fromEntries(entries.filter(([name]) => name !== key));
      for (const smaller of smallerValues(inside)) yield { ...value, [key]: smaller };
    }
  }
}

function* smallerQueryTrees(asked: QueryTree): Generator<QueryTree> {
  if ('and' in asked || 'or' in asked) {
    const items = 'and' in asked ? asked.and : asked.or;
    yield* items;
    for (const list of smallerLists(items)) yield 'and' in asked ? { and: list } : { or: list };
  } else if ('not' in asked) {
    yield asked.not;
    for (const not of smallerQueryTrees(asked.not)) yield { not };
  } else if ('must' in asked) {
    yield* [...asked.must, ...asked.mustNot, ...asked.may];
    for (const may of smallerLists(asked.may, 0)) yield { ...asked, may };
    for (const mustNot of smallerLists(asked.mustNot, 0)) yield { ...asked, mustNot };
    for (const must of smallerLists(asked.must)) yield { ...asked, must };
  }
}

function* smallerLists(items: readonly QueryTree[], least = 1): Generator<readonly QueryTree[]> {
  for (const [i, item] of items.entries()) {
    if (items.length > least) yield [...items.slice(0, i), ...items.slice(i + 1)];
    for (const smaller of smallerQueryTrees(item)) yield items.with(i, smaller);
  }
}

function* smallerDatasets(made: GeneratedDataset): Generator<GeneratedDataset> {
  const { columns, segments } = made;
  for (const i of segments.keys())
    yield { ...made, segments: [...segments.slice(0, i), ...segments.slice(i + 1)] };
  for (const [i, segment] of segments.entries()) {
    const having = (rows: readonly TestRow[]): GeneratedDataset => ({ ...made, segments: segments.with(i, { ...segment, rows }) }); // prettier-ignore
    const { rows } = segment;
    if (rows.length > 3) {
      yield having(rows.slice(rows.length / 2));
      yield having(rows.slice(0, rows.length / 2));
    }
    for (const k of rows.keys()) yield having([...rows.slice(0, k), ...rows.slice(k + 1)]);
  }
  for (const i of columns.keys()) {
    const drop = (list: Columns): Columns => list.filter(({ name }) => name !== columns[i]!.name);
    yield { ...made, columns: drop(columns), segments: segments.map((segment) => ({ ...segment, columns: drop(segment.columns) })) }; // prettier-ignore
  }
  for (const [i, segment] of segments.entries())
    for (const [k, row] of segment.rows.entries())
      for (const smaller of smallerObjects(row, segment.columns))
        yield { ...made, segments: segments.with(i, { ...segment, rows: segment.rows.with(k, smaller as TestRow) }) }; // prettier-ignore
}

type MemberValues = Readonly<Record<string, Value | undefined>>;

function* smallerObjects(row: MemberValues, columns: Columns): Generator<MemberValues> {
  const entries = Object.entries(row);
  for (const [key, value] of entries) {
    yield Object.fromEntries(entries.filter(([name]) => name !== key));
    const column = columns.find(({ name }) => name === key);
    if (!column || value === undefined) continue;
    for (const smaller of smallerCells(value, column))
      yield Object.fromEntries(entries.map(([name, own]) => [name, name === key ? smaller : own]));
  }
}

function* smallerCells(value: Value, column: Column): Generator<Value> {
  if (value === null) return;
  if (column.isList) {
    const list = value as readonly Value[];
    for (const i of list.keys()) yield [...list.slice(0, i), ...list.slice(i + 1)];
    for (const [i, item] of list.entries())
      for (const smaller of smallerCells(item, { ...column, isList: false })) yield list.with(i, smaller); // prettier-ignore
  } else if (column.type === 'object') {
    for (const smaller of smallerObjects(value as MemberValues, column.children!)) yield smaller as Value; // prettier-ignore
  }
}
