import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { callOfText, type BatchAnswers, type BatchFunction, type HostCallResult } from '../../../scheduler/expressions/host-call-protocol.js'; // prettier-ignore
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import { callSelection, type CallSelection } from './call-keys.js';
import { groupedFunctions, type GroupedFunction, type CallWithQuery } from './grouped-functions.js';
import type { FunctionScope } from './function-scope.js';
import { SelectionTemplate } from './selection-template.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';

/** The arguments of a call, with its index in the batch. */
interface NumberedCall {
  readonly index: number;
  readonly args: readonly unknown[];
}

/** Calls of one function that differ only in the arguments `entities` and `filters`. */
interface SimilarCalls {
  readonly groupedFunction: GroupedFunction;
  readonly calls: NumberedCall[];
}

/** The selection of a call of a group, with the index of the call in the batch. */
interface GroupedCall {
  readonly index: number;
  readonly selection: CallSelection;
}

/**
 * Maximum number of calls that one query answers (`maxCallsPerQuery`), and of calls that are parsed before other requests get a turn
 * (`callsParsedAtOnce`).
 */
const maxCallsPerQuery = 16_384;
const callsParsedAtOnce = 256;

/**
 * Answers a batch of calls of dataset functions, given as texts. Calls that differ only in the values of equalities are answered by one
 * query for up to `maxCallsPerQuery` of them; each call gets the records that have its values. The answer is null for a call that has to be
 * answered separately, for example because calls of its function are not grouped, because no other call is like it, or because it fails.
 */
export async function answerHostBatch(
  scope: FunctionScope,
  batch: readonly string[],
): Promise<BatchAnswers> {
  const answers: (HostCallResult | null)[] = batch.map(() => null);
  for (const { groupedFunction, calls } of await groupSimilarCalls(batch)) {
    if (calls.length < 2) continue;
    const { args } = calls[0]!;
    const openedDataset = await nullOnAppError(() => openDataset(scope, args[0]));
    if (openedDataset === null) continue;
    for (const [request, group] of await groupCallsByQuery(openedDataset, groupedFunction, calls))
      for (let at = 0; at < group.length; at += maxCallsPerQuery) {
        const subgroup = group.slice(at, at + maxCallsPerQuery);
        const firstCall = { openedDataset, args, request };
        await answerGroup(groupedFunction, firstCall, subgroup, answers);
      }
  }
  return answers;
}

async function groupSimilarCalls(batch: readonly string[]): Promise<Iterable<SimilarCalls>> {
  const callGroups = new Map<string, SimilarCalls>();
  let lastCalls: SimilarCalls | undefined;
  for (let from = 0; from < batch.length; from += callsParsedAtOnce) {
    if (from > 0) await setImmediate();
    const calls = batch.slice(from, from + callsParsedAtOnce).map(callOfText);
    // Parsing one JSON text with the arguments of all calls is much faster than one text for each call.
    const argumentLists = parseJson(`[${calls.map(({ args }) => args).join(',')}]`) as readonly (readonly unknown[])[]; // prettier-ignore
    for (const [i, args] of argumentLists.entries()) {
      const { name } = calls[i]!;
      if (!Object.hasOwn(groupedFunctions, name)) continue;
      const groupedFunction = groupedFunctions[name as BatchFunction];
      if (
        lastCalls?.groupedFunction !== groupedFunction ||
        !hasSameOtherArguments(lastCalls, args)
      ) {
        const key = similarityKey(name, groupedFunction, args);
        lastCalls = callGroups.get(key) ?? { groupedFunction, calls: [] };
        callGroups.set(key, lastCalls);
      }
      lastCalls.calls.push({ index: from + i, args });
    }
  }
  return callGroups.values();
}

/**
 * Returns whether the arguments equal those of the first of the calls, except for `entities` and `filters`. Objects are not compared, so
 * false may also mean that this is unknown.
 */
function hasSameOtherArguments(
  { groupedFunction, calls }: SimilarCalls,
  args: readonly unknown[],
): boolean {
  const firstArgs = calls[0]!.args;
  return (
    firstArgs.length === args.length &&
    args.every(
      (one, i) =>
        groupedFunction.selectorPositions.includes(i) || (isPrimitive(one) && one === firstArgs[i]),
    )
  );
}

function isPrimitive(argument: unknown): boolean {
  return typeof argument !== 'object' || argument === null;
}

/** Returns a text that is the same for all calls of a function whose arguments are equal, except for `entities` and `filters`. */
function similarityKey(
  name: string,
  { selectorPositions }: GroupedFunction,
  args: readonly unknown[],
): string {
  let key = name;
  for (const [i, one] of args.entries())
    if (!selectorPositions.includes(i)) key += `\n${argumentText(one)}`;
  return key;
}

/** Returns a text that is the same for equal arguments. */
function argumentText(argument: unknown): string {
  if (typeof argument === 'string') return JSON.stringify(argument);
  return typeof argument === 'object' ? stringifyJson(argument) : String(argument);
}

/** Returns the groups of calls that one query can answer, each with the query of its first call. */
async function groupCallsByQuery(
  openedDataset: OpenedDataset,
  groupedFunction: GroupedFunction,
  calls: readonly NumberedCall[],
): Promise<readonly (readonly [QueryRequest, GroupedCall[]])[]> {
  const groups = new Map<string, readonly [QueryRequest, GroupedCall[]]>();
  let template: SelectionTemplate | null = null;
  for (const [i, { index, args }] of calls.entries()) {
    if (i % callsParsedAtOnce === callsParsedAtOnce - 1) await setImmediate();
    const [entities, filters] = groupedFunction.selectorPositions.map((at) => args[at]);
    const templateSelection = template?.selection(entities, filters);
    if (templateSelection) {
      groups.get(templateSelection.shape)![1].push({ index, selection: templateSelection });
      continue;
    }
    const request = await nullOnAppError(() => groupedFunction.parseCall(openedDataset, args));
    // Scores of different queries are not comparable, and the records of a joint query have one order, so each call that sorts by relevance
    // is answered by a query of its own.
    if (request === null || request.scoreClauses.length > 0) continue;
    const selection = callSelection(request.predicate);
    if (selection.keys.length === 0) continue;
    const group = groups.get(selection.shape) ?? [request, []];
    group[1].push({ index, selection });
    groups.set(selection.shape, group);
    template = SelectionTemplate.ofCall(entities, filters, request.predicate) ?? template;
  }
  return [...groups.values()].filter(([, group]) => group.length > 1);
}

/**
 * Answers the calls of a group with one query. If the query finds too many records, or their JSON is too long, and a smaller group may
 * succeed, halves the group and tries again; the calls of small groups are left to be answered one by one.
 */
async function answerGroup(
  groupedFunction: GroupedFunction,
  firstCall: CallWithQuery,
  group: readonly GroupedCall[],
  answers: (HostCallResult | null)[],
): Promise<void> {
  const selections = group.map(({ selection }) => selection);
  const groupAnswers = await nullOnAppError(() =>
    groupedFunction.answerGroup(firstCall, selections),
  );
  if (groupAnswers === null) return;
  if (groupAnswers !== 'tooLarge') {
    for (const [i, answer] of groupAnswers.entries()) answers[group[i]!.index] = answer;
    return;
  }
  const halfLength = group.length >>> 1;
  if (halfLength < 2) return;
  await answerGroup(groupedFunction, firstCall, group.slice(0, halfLength), answers);
  await answerGroup(groupedFunction, firstCall, group.slice(halfLength), answers);
}

/**
 * Returns the result of `work`; null if it fails with an `AppError` other than `canceled` or `internal`. The caller then answers the calls
 * one by one, which reports the error.
 */
export async function nullOnAppError<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'canceled' && error.code !== 'internal')
      return null;
    throw error;
  }
}
