import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Columns } from '../../../engine/core/types.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import type {
  BatchFunction,
  HostCallResult,
} from '../../../scheduler/expressions/host-call-protocol.js';
import { joinedPredicate, KeyDispatcher, keyPaths, type CallSelection } from './call-keys.js';
import { floatPaths, isFloat, limitArgument, nonEmptyValuesAt } from './function-values.js';
import { maxAnswerLength, type OpenedDataset } from './opened-dataset.js';

/** One call of a dataset function, with its open dataset and its query. */
export interface CallWithQuery {
  readonly openedDataset: OpenedDataset;
  readonly args: readonly unknown[];
  readonly request: QueryRequest;
}

/** How one query answers the calls of a function that differ only in the values of their keys. */
export interface GroupedFunction {
  /** The positions of the arguments `entities` and `filters`, in this order. */
  readonly selectorPositions: readonly number[];
  /** Returns the query of a call. Throws an `AppError` if the call fails or cannot be grouped. */
  readonly parseCall: (
    openedDataset: OpenedDataset,
    args: readonly unknown[],
  ) => Promise<QueryRequest>;
  /** Returns the answers to the calls with these selections, in the same order; in everything else, the calls equal `firstCall`. */
  readonly answerGroup: (
    firstCall: CallWithQuery,
    selections: readonly CallSelection[],
  ) => Promise<GroupAnswers>;
}

type GroupAnswers = GroupResults<HostCallResult | null>;

/** Results of a joint query; null if each call has to be answered separately, `tooLarge` if a smaller group may succeed. */
type GroupResults<T> = T[] | 'tooLarge' | null;

/**
 * The most records that are read for a group (`maxGroupRows`), and on average for each of its calls (`maxRowsPerCall`). If there are more,
 * separate calls are faster, because each stops at its limit.
 */
export const maxGroupRows = 200_000;
const maxRowsPerCall = 200;
/** The greatest length of the JSON that is read for a group. */
export const maxGroupJsonLength = 32_000_000;

/** The functions whose calls are grouped; calls of other dataset functions are answered one by one. */
export const groupedFunctions: Readonly<Record<BatchFunction, GroupedFunction>> = {
  dataset_query: {
    selectorPositions: [3, 4],
    parseCall: (openedDataset, [, fields, , entities, filters, query, ordering]) =>
      openedDataset.parseRequest({ fields, entities, filters, query, ordering }, { limit: 0 }),
    async answerGroup({ openedDataset, args, request }, selections) {
      const valueLimit = limitArgument('limit', args[2], 1);
      if (valueLimit === 0) return null;
      const textsByCall = await readRecordsByCall(openedDataset, request, selections);
      if (!Array.isArray(textsByCall)) return textsByCall;
      const floats = floatPaths(openedDataset.fields);
      return textsByCall.map((texts) =>
        hostAnswerOf(`[${texts.slice(0, valueLimit).join(',')}]`, floats),
      );
    },
  },

  dataset_field_values: {
    selectorPositions: [3, 4],
    parseCall(openedDataset, [, name, , entities, filters, query]) {
      openedDataset.requireField(name);
      return openedDataset.parseRequest(
        { entities, filters, query },
        { limit: 0, scoreClauses: [], fields: [] },
      );
    },
    async answerGroup({ openedDataset, args, request }, selections) {
      const field = openedDataset.requireField(args[1]);
      const valueLimit = limitArgument('limit', args[2], 10);
      if (valueLimit === 0) return null;
      const keyedRecords = await readKeyedRecords(openedDataset, request, selections, [field.path]);
      if (!Array.isArray(keyedRecords)) return keyedRecords;
      const valueLists = selections.map((): unknown[] => []);
      for (const { record, calls } of keyedRecords) {
        const ownValues = nonEmptyValuesAt(record, field.path);
        for (const call of calls)
          if (valueLists[call]!.length < valueLimit) valueLists[call]!.push(...ownValues.slice(0, valueLimit - valueLists[call]!.length)); // prettier-ignore
      }
      const floats = isFloat(field) ? [[]] : [];
      const emptyAnswer = hostAnswerOf('[]', floats);
      return valueLists.map((callValues) =>
        callValues.length === 0 ? emptyAnswer : hostAnswerOf(stringifyJson(callValues), floats),
      );
    },
  },

  dataset_count: {
    selectorPositions: [1, 2],
    parseCall: (openedDataset, [, entities, filters, query]) =>
      openedDataset.parseRequest({ entities, filters, query }, { limit: 0, scoreClauses: [] }),
    async answerGroup({ openedDataset, request }, selections) {
      const counts =
        (await countByFacets(openedDataset, request, selections)) ??
        (await countByRecords(openedDataset, request, selections));
      return Array.isArray(counts)
        ? counts.map((count) => hostAnswerOf(String(count), []))
        : counts;
    },
  },
};

/** Returns the answer to a call; null if it is too large: the call is then answered separately and fails with the reason. */
function hostAnswerOf(json: string, floats: HostCallResult['floats']): HostCallResult | null {
  return json.length > maxAnswerLength ? null : { json, floats };
}

/** Returns, for each selection, the JSON texts of its records, in the order of the query. */
async function readRecordsByCall(
  openedDataset: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<GroupResults<string[]>> {
  const keyedRecords = await readKeyedRecords(openedDataset, request, selections);
  if (!Array.isArray(keyedRecords)) return keyedRecords;
  const textsByCall = selections.map((): string[] => []);
  for (const { text, calls } of keyedRecords)
    for (const call of calls) textsByCall[call]!.push(text!);
  return textsByCall;
}

/** A record of a joint query, with the indices of the calls that select it; there may be none. */
interface KeyedRecord {
  /** The record with only the key fields, by which the calls that select it are found, and the fields `morePaths` of `readKeyedRecords`. */
  readonly record: unknown;
  /** The record as JSON, with the fields of the request; undefined if the request has an empty list of fields. */
  readonly text: string | undefined;
  readonly calls: readonly number[];
}

/** Returns the records of the joint query, each with the indices of the selections that select it. */
async function readKeyedRecords(
  openedDataset: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
  morePaths: readonly (readonly string[])[] = [],
): Promise<GroupResults<KeyedRecord>> {
  const joinedQuery = joinedRequest(request, selections);
  const keyedTexts = await openedDataset.readKeyedTexts(
    joinedQuery,
    [...keyPaths(selections[0]!), ...morePaths],
    maxGroupJsonLength,
  );
  if (keyedTexts === 'tooMany') return tooManyRecordsResult(selections);
  if (keyedTexts === 'tooLarge') return keyedTexts;
  const dispatcher = new KeyDispatcher(selections);
  const { texts, keys } = keyedTexts;
  // Parsing one JSON text of all records is much faster than one text for each record.
  const records = parseJson(`[${keys.join(',')}]`) as readonly unknown[];
  return records.map((record, i) => ({
    record,
    text: texts[i],
    calls: dispatcher.callsSelecting(record),
  }));
}

function joinedRequest(request: QueryRequest, selections: readonly CallSelection[]): QueryRequest {
  return {
    ...request,
    predicate: joinedPredicate(selections),
    limit: rowLimitFor(selections.length),
  };
}

/** Returns the maximum number of records to read for a group of this many calls. */
export function rowLimitFor(callCount: number): number {
  return Math.min(maxGroupRows, maxRowsPerCall * callCount);
}

/** Returns the result if a query finds too many records: `tooLarge` if a smaller group may find few enough, else null. */
function tooManyRecordsResult(selections: readonly CallSelection[]): 'tooLarge' | null {
  return maxRowsPerCall * selections.length > maxGroupRows ? 'tooLarge' : null;
}

/** Counts records by the values of the only key, if each record has at most one value; returns undefined for other selections. */
async function countByFacets(
  openedDataset: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<number[] | undefined> {
  const [key, ...otherKeys] = selections[0]!.keys;
  const [equality, ...otherEqualities] = key!;
  if (
    otherKeys.length > 0 ||
    otherEqualities.length > 0 ||
    isInsideList(openedDataset.columns, equality!.field.path)
  )
    return undefined;
  const predicate = joinedPredicate(selections);
  const terms = await openedDataset.countTerms(equality!.field, { ...request, predicate });
  const dispatcher = new KeyDispatcher(selections);
  const counts = selections.map(() => 0);
  for (const [term, count] of terms)
    for (const call of dispatcher.callsSelectingValue(term)) counts[call]! += count;
  return counts;
}

async function countByRecords(
  openedDataset: OpenedDataset,
  request: QueryRequest,
  selections: readonly CallSelection[],
): Promise<GroupResults<number>> {
  const keyedRecords = await readKeyedRecords(
    openedDataset,
    { ...request, fields: [] },
    selections,
  );
  if (!Array.isArray(keyedRecords)) return keyedRecords;
  const counts = selections.map(() => 0);
  for (const { calls } of keyedRecords) for (const call of calls) counts[call]! += 1;
  return counts;
}

/** Returns whether a record may have several values at a path, because a field on the path is a list. */
function isInsideList(columns: Columns, [name, ...rest]: readonly string[]): boolean {
  const column = columns.find((one) => one.name === name);
  if (name === undefined || column === undefined) return false;
  return column.isList || isInsideList(column.children ?? [], rest);
}
