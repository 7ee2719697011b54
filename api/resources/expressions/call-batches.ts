import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { callOfText, type BatchAnswers, type BatchFunction, type HostAnswer } from '../../../scheduler/expressions/protocol.js'; // prettier-ignore
import type { QueryRequest } from '../../../engine/query/request/request.js';
import { callSelection, type CallSelection } from './call-keys.js';
import { groupedFunctions, type GroupedFunction, type MadeCall } from './grouped-functions.js';
import type { FunctionScope } from './function-scope.js';
import { SelectionTemplate } from './selection-template.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';

/** A call, with its number in the batch. */
interface NumberedCall {
  readonly index: number;
  readonly args: readonly unknown[];
}

/** Calls of one function that differ in what selects their records alone. */
interface SimilarCalls {
  readonly known: GroupedFunction;
  readonly calls: NumberedCall[];
}

/** A call of a group, with its number in the batch. */
interface GroupedCall {
  readonly index: number;
  readonly selection: CallSelection;
}

/** Maximum number of calls that one query answers, and of calls that are parsed before other requests get their turn. */
const mostCalls = 16_384;
const parsedAtOnce = 256;

/**
 * Answers calls of dataset functions, given as texts, together: those that differ in the values of equalities alone become one query, whose
 * records are given to the calls by these values. Null is the answer to a call that has to be made alone: nothing is like it, its records
 * cannot be told by their values, or it fails.
 */
export async function answerHostBatch(
  scope: FunctionScope,
  batch: readonly string[],
): Promise<BatchAnswers> {
  const answers: (HostAnswer | null)[] = batch.map(() => null);
  for (const { known, calls } of await similarCalls(batch)) {
    if (calls.length < 2) continue;
    const { args } = calls[0]!;
    const openedDataset = await unlessRefused(() => openDataset(scope, args[0]));
    if (openedDataset === null) continue;
    for (const [request, group] of await groupsOf(openedDataset, known, calls))
      for (let at = 0; at < group.length; at += mostCalls) {
        const part = group.slice(at, at + mostCalls);
        const openedCalls = { opened: openedDataset, args, request };
        await answerGroup(known, openedCalls, part, answers);
      }
  }
  return answers;
}

async function similarCalls(batch: readonly string[]): Promise<Iterable<SimilarCalls>> {
  const callGroups = new Map<string, SimilarCalls>();
  let last: SimilarCalls | undefined;
  for (let from = 0; from < batch.length; from += parsedAtOnce) {
    if (from > 0) await setImmediate();
    const calls = batch.slice(from, from + parsedAtOnce).map(callOfText);
    // Parsing one JSON text with the arguments of all calls is much faster than parsing those of each call.
    const parsed = parseJson(`[${calls.map(({ args }) => args).join(',')}]`) as readonly (readonly unknown[])[]; // prettier-ignore
    for (const [i, args] of parsed.entries()) {
      const { name } = calls[i]!;
      if (!Object.hasOwn(groupedFunctions, name)) continue;
      const groupedFunction = groupedFunctions[name as BatchFunction];
      if (last?.known !== groupedFunction || !hasSameOthers(last, args)) {
        const key = commonKey(name, groupedFunction, args);
        last = callGroups.get(key) ?? { known: groupedFunction, calls: [] };
        callGroups.set(key, last);
      }
      last.calls.push({ index: from + i, args });
    }
  }
  return callGroups.values();
}

/** Whether a call of the same function has the same other arguments than those that select records, as far as that is quickly told. */
function hasSameOthers({ known, calls }: SimilarCalls, args: readonly unknown[]): boolean {
  const first = calls[0]!.args;
  return (
    first.length === args.length &&
    args.every((one, i) => known.selects.includes(i) || (isPlain(one) && one === first[i]))
  );
}

function isPlain(argument: unknown): boolean {
  return typeof argument !== 'object' || argument === null;
}

/** A text that is the same for calls of a function with the same other arguments than those that select records. */
function commonKey(name: string, { selects }: GroupedFunction, args: readonly unknown[]): string {
  let key = name;
  for (const [i, one] of args.entries()) if (!selects.includes(i)) key += `\n${commonText(one)}`;
  return key;
}

/** A text of an argument that is the same for equal ones. */
function commonText(argument: unknown): string {
  if (typeof argument === 'string') return JSON.stringify(argument);
  return typeof argument === 'object' ? stringifyJson(argument) : String(argument);
}

/** The calls that a query can answer together, with the query of the first of them. */
async function groupsOf(
  opened: OpenedDataset,
  known: GroupedFunction,
  calls: readonly NumberedCall[],
): Promise<readonly (readonly [QueryRequest, GroupedCall[]])[]> {
  const groups = new Map<string, readonly [QueryRequest, GroupedCall[]]>();
  let template: SelectionTemplate | null = null;
  for (const [i, { index, args }] of calls.entries()) {
    if (i % parsedAtOnce === parsedAtOnce - 1) await setImmediate();
    const [entities, filters] = known.selects.map((at) => args[at]);
    const alike = template?.selection(entities, filters);
    if (alike) {
      groups.get(alike.shape)![1].push({ index, selection: alike });
      continue;
    }
    const request = await unlessRefused(() => known.request(opened, args));
    // Scores of several queries are not comparable, so the calls of one query keep its order by relevance.
    if (request === null || request.scores.length > 0) continue;
    const selection = callSelection(request.predicate);
    if (selection.keys.length === 0) continue;
    const group = groups.get(selection.shape) ?? [request, []];
    group[1].push({ index, selection });
    groups.set(selection.shape, group);
    template = SelectionTemplate.of(entities, filters, request.predicate) ?? template;
  }
  return [...groups.values()].filter(([, group]) => group.length > 1);
}

/** Answers the calls of a group, in halves if their records are too many for one query. */
async function answerGroup(
  known: GroupedFunction,
  made: MadeCall,
  group: readonly GroupedCall[],
  answers: (HostAnswer | null)[],
): Promise<void> {
  const selections = group.map(({ selection }) => selection);
  const found = await unlessRefused(() => known.answers(made, selections));
  if (found === null) return;
  if (found !== 'tooLarge') {
    for (const [i, answer] of found.entries()) answers[group[i]!.index] = answer;
    return;
  }
  const halfLength = group.length >>> 1;
  if (halfLength < 2) return;
  await answerGroup(known, made, group.slice(0, halfLength), answers);
  await answerGroup(known, made, group.slice(halfLength), answers);
}

/** The result of `work`, or null if it throws an `AppError`: the call is then made alone, which reports the error. */
export async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'canceled' && error.code !== 'internal')
      return null;
    throw error;
  }
}
