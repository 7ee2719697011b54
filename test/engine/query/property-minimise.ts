import type { Column, Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import type { GeneratedDataset } from './naive-fields.js';
import type { QueryTree } from './naive-query-string.js';
import { rewriteQuery, type RandomRequest } from './random-request.js';

/** A failing case that can be made smaller. */
export interface PropertyCase {
  readonly dataset: GeneratedDataset;
  readonly request: RandomRequest;
}

/** Removes parts of a failing case one by one while it still fails; returns the last failing case after at most `maxTries` tries. */
export async function minimiseCase(
  failingCase: PropertyCase,
  fails: (one: PropertyCase) => Promise<boolean>,
  maxTries = 600,
): Promise<PropertyCase> {
  let smallestCase = failingCase;
  let tries = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const smaller of smallerCases(smallestCase)) {
      tries += 1;
      if (tries > maxTries) return smallestCase;
      if (!(await fails(smaller))) continue;
      smallestCase = smaller;
      isSmaller = true;
      break;
    }
  }
  return smallestCase;
}

function* smallerCases({ dataset, request }: PropertyCase): Generator<PropertyCase> {
  for (const body of smallerBodies(request.body)) {
    const hasQuery = Object.hasOwn(body, 'query');
    yield {
      dataset,
      request: { ...request, body, queryTree: hasQuery ? request.queryTree : null },
    };
  }
  if (request.cursorPageSizes) yield { dataset, request: { ...request, cursorPageSizes: null } };
  if (request.queryTree) {
    for (const queryTree of smallerQueryTrees(request.queryTree))
      yield { dataset, request: rewriteQuery(request, queryTree) };
  }
  for (const smaller of smallerDatasets(dataset)) yield { dataset: smaller, request };
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

function* smallerQueryTrees(queryTree: QueryTree): Generator<QueryTree> {
  if ('and' in queryTree || 'or' in queryTree) {
    const items = 'and' in queryTree ? queryTree.and : queryTree.or;
    yield* items;
    for (const list of smallerLists(items)) yield 'and' in queryTree ? { and: list } : { or: list };
  } else if ('not' in queryTree) {
    yield queryTree.not;
    for (const not of smallerQueryTrees(queryTree.not)) yield { not };
  } else if ('must' in queryTree) {
    yield* [...queryTree.must, ...queryTree.mustNot, ...queryTree.may];
    for (const may of smallerLists(queryTree.may, 0)) yield { ...queryTree, may };
    for (const mustNot of smallerLists(queryTree.mustNot, 0)) yield { ...queryTree, mustNot };
    for (const must of smallerLists(queryTree.must)) yield { ...queryTree, must };
  }
}

function* smallerLists(items: readonly QueryTree[], least = 1): Generator<readonly QueryTree[]> {
  for (const [i, item] of items.entries()) {
    if (items.length > least) yield [...items.slice(0, i), ...items.slice(i + 1)];
    for (const smaller of smallerQueryTrees(item)) yield items.with(i, smaller);
  }
}

function* smallerDatasets(dataset: GeneratedDataset): Generator<GeneratedDataset> {
  const { columns, segments } = dataset;
  for (const i of segments.keys())
    yield { ...dataset, segments: [...segments.slice(0, i), ...segments.slice(i + 1)] };
  for (const [i, segment] of segments.entries()) {
    const withRows = (rows: readonly TestRow[]): GeneratedDataset => ({ ...dataset, segments: segments.with(i, { ...segment, rows }) }); // prettier-ignore
    const { rows } = segment;
    if (rows.length > 3) {
      yield withRows(rows.slice(rows.length / 2));
      yield withRows(rows.slice(0, rows.length / 2));
    }
    for (const k of rows.keys()) yield withRows([...rows.slice(0, k), ...rows.slice(k + 1)]);
  }
  for (const i of columns.keys()) {
    const drop = (list: Columns): Columns => list.filter(({ name }) => name !== columns[i]!.name);
    yield { ...dataset, columns: drop(columns), segments: segments.map((segment) => ({ ...segment, columns: drop(segment.columns) })) }; // prettier-ignore
  }
  for (const [i, segment] of segments.entries())
    for (const [k, row] of segment.rows.entries())
      for (const smaller of smallerObjects(row, segment.columns))
        yield { ...dataset, segments: segments.with(i, { ...segment, rows: segment.rows.with(k, smaller as TestRow) }) }; // prettier-ignore
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
