import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Columns } from '../../../engine/core/types.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { BatchFunction, HostAnswer } from '../../../scheduler/expressions/protocol.js';
import { joinedPredicate, KeyDispatcher, keyPaths, type CallSelection } from './call-keys.js';
import { floatPaths, isFloat, numberOf, valuesAt } from './function-values.js';
import { maxAnswerLength, type OpenedDataset } from './opened-dataset.js';

/** A dataset, and a call of a function of it with its query. */
export interface MadeCall {
  readonly opened: OpenedDataset;
  readonly args: readonly unknown[];
  readonly request: QueryRequest;
}

/** How calls of a function that differ in their keys alone are answered by one query. */
export interface GroupedFunction {
  /** The positions of the arguments that select records by fields. */
  readonly selects: readonly number[];
  /** The query of a call. Throws an `AppError` where the call fails, or is not for a group. */
  readonly request: (opened: OpenedDataset, args: readonly unknown[]) => Promise<QueryRequest>;
  /** The answers to calls like `made`, in the order of their selections. */
  readonly answers: (made: MadeCall, selections: readonly CallSelection[]) => Promise<GroupAnswers>;
}

type GroupAnswers = GroupFindings<HostAnswer | null>;

/** One result for each selection; null if each call has to be made alone, `tooLarge` if a smaller group may succeed. */
type GroupFindings<T> = T[] | 'tooLarge' | null;

/** The most records that are read for a group, and for each of its calls on average: more are read faster by calls that stop at their limit. */
export const mostRows = 200_000;
const rowsPerCall = 200;
/** The most characters of JSON that are read for a group. */
export const mostLength = 32_000_000;

/** The functions whose calls are grouped; the others are answered one by one. */
export const groupedFunctions: Readonly<Record<BatchFunction, GroupedFunction>> = {
  dataset_query: {
    selects: [3, 4],
    request: (opened, [, fields, , entities, filters, query, ordering]) =>
      opened.parsed({ fields, entities, filters, query, ordering }, { limit: 0 }),
    async answers({ opened, args, request }, selections) {
      const valueLimit = numberOf('limit', args[2], 1);
      if (valueLimit === 0) return null;
      const found = await recordsByCall(opened, request, selections);
      if (!Array.isArray(found)) return found;
      const floats = floatPaths(opened.fields);
      return found.map((texts) => answerOf(`[${texts.slice(0, valueLimit).join(',')}]`, floats));
    },
  },

  dataset_field_values: {
    selects: [3, 4],
    request(opened, [, name, , entities, filters, query]) {
      opened.field(name);
      return opened.parsed({ entities, filters, query }, { limit: 0, scores: [], fields: [] });
    },
    async answers({ opened, args, request }, selections) {
      const field = opened.field(args[1]);
      const valueLimit = numberOf('limit', args[2], 10);
      if (valueLimit === 0) return null;
      const found = await keyedRecords(opened, request, selections, [field.path]);
      if (!Array.isArray(found)) return found;
      const values = selections.map((): unknown[] => []);
      for (const { record, calls } of found) {
        const ownValues = valuesAt(record, field.path);
        for (const call of calls)
          if (values[call]!.length < valueLimit) values[call]!.push(...ownValues.slice(0, valueLimit - values[call]!.length)); // prettier-ignore
      }
      const floats = isFloat(field) ? [[]] : [];
      const empty = answerOf('[]', floats);
      return values.map((own) => (own.length === 0 ? empty : answerOf(stringifyJson(own), floats)));
    },
  },

  dataset_count: {
    selects: [1, 2],
    request: (opened, [, entities, filters, query]) =>
      opened.parsed({ entities, filters, query }, { limit: 0, scores: [] }),
    async answers({ opened, request }, selections) {
      const counts =
        (await countsByFacet(opened, request, selections)) ??
        (await countsByRecord(opened, request, selections));
      return Array.isArray(counts) ? counts.map((count) => answerOf(String(count), [])) : counts;
    },
  },
};

/** The answer to a call; one that is too large is left to the call alone, which fails. */
function answerOf(json: string, floats: HostAnswer['floats']): HostAnswer | null {
  return json.length > maxAnswerLength ? null : { json, floats };
}

/** The records that each selection selects, in the order of the query. */
async function recordsByCall(
  opened: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<GroupFindings<string[]>> {
  const found = await keyedRecords(opened, request, selections);
  if (!Array.isArray(found)) return found;
  const records = selections.map((): string[] => []);
  for (const { text, calls } of found) for (const call of calls) records[call]!.push(text!);
  return records;
}

/** A record that at least one of the grouped calls selects. */
interface KeyedRecord {
  /** The key fields of the record, which decide which calls select it, and the fields that the request names. */
  readonly record: unknown;
  /** The record as text, with the fields of the request; undefined if the request names no field. */
  readonly text: string | undefined;
  readonly calls: readonly number[];
}

/** The records that the selections find together, each with the numbers of the selections that select it. */
async function keyedRecords(
  opened: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
  more: readonly (readonly string[])[] = [],
): Promise<GroupFindings<KeyedRecord>> {
  const joinedQuery = joinedRequest(request, selections);
  const found = await opened.keyedTexts(
    joinedQuery,
    [...keyPaths(selections[0]!), ...more],
    mostLength,
  );
  if (found === 'tooMany') return tooMany(selections);
  if (found === 'tooLarge') return found;
  const dispatcher = new KeyDispatcher(selections);
  const { texts, keys } = found;
  // Parsing one JSON text of all records is much faster than parsing each alone.
  const records = parseJson(`[${keys.join(',')}]`) as readonly unknown[];
  return records.map((record, i) => ({
    record,
    text: texts[i],
    calls: dispatcher.selecting(record),
  }));
}

function joinedRequest(request: QueryRequest, selections: readonly CallSelection[]): QueryRequest {
  return { ...request, predicate: joinedPredicate(selections), limit: rowsFor(selections.length) };
}

/** The most records to read for a group with this number of calls. */
export function rowsFor(calls: number): number {
  return Math.min(mostRows, rowsPerCall * calls);
}

/** A smaller group finds fewer records, unless each call alone finds too many. */
function tooMany(selections: readonly CallSelection[]): 'tooLarge' | null {
  return rowsPerCall * selections.length > mostRows ? 'tooLarge' : null;
}

/** Counts by the values of the only key, where each record has one value at most; undefined for other selections. */
async function countsByFacet(
  opened: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<number[] | undefined> {
  const [key, ...more] = selections[0]!.keys;
  const [equality, ...others] = key!;
  if (more.length > 0 || others.length > 0 || isInList(opened.columns, equality!.field.path))
    return undefined;
  const predicate = joinedPredicate(selections);
  const terms = await opened.terms(equality!.field, { ...request, predicate });
  const dispatcher = new KeyDispatcher(selections);
  const counts = selections.map(() => 0);
  for (const [term, count] of terms)
    for (const call of dispatcher.selectingValue(term)) counts[call]! += count;
  return counts;
}

async function countsByRecord(
  opened: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<GroupFindings<number>> {
  const found = await keyedRecords(opened, { ...request, fields: [] }, selections);
  if (!Array.isArray(found)) return found;
  const counts = selections.map(() => 0);
  for (const { calls } of found) for (const call of calls) counts[call]! += 1;
  return counts;
}

/** Whether a record may have several values at a path. */
function isInList(columns: Columns, [name, ...rest]: readonly string[]): boolean {
  const column = columns.find((one) => one.name === name);
  if (name === undefined || column === undefined) return false;
  return column.isList || isInList(column.children ?? [], rest);
}
