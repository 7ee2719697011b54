import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { BatchAnswers, BatchFunction, HostAnswer, HostCall } from '../../../scheduler/expressions/protocol.js'; // prettier-ignore
import type { QueryRequest } from '../../../engine/query/request/request.js';
import { callSelection, type CallSelection } from './call-keys.js';
import { groupedFunctions, type GroupedFunction, type MadeCall } from './grouped-functions.js';
import type { FunctionScope } from './function-scope.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';

/** Calls of one function that differ in what selects their records alone. */
interface SimilarCalls {
  readonly known: GroupedFunction;
  readonly calls: { readonly index: number; readonly args: readonly unknown[] }[];
}

/** A call of a group, with its number in the batch. */
interface GroupedCall {
  readonly index: number;
  readonly selection: CallSelection;
}

/** The most calls that one query answers, and those that are parsed while other requests wait. */
const mostCalls = 16_384;
const parsedAtOnce = 256;

/**
 * Answers calls of dataset functions together: those that differ in the values of equalities alone become one query, whose records are
 * given to the calls by these values. Null is the answer to a call that has to be made alone: nothing is like it, its records cannot be
 * told by their values, or it fails.
 */
export async function answerHostBatch(
  scope: FunctionScope,
  batch: readonly HostCall[],
): Promise<BatchAnswers> {
  const answers: (HostAnswer | null)[] = batch.map(() => null);
  for (const { known, calls } of similarCalls(batch)) {
    if (calls.length < 2) continue;
    const { args } = calls[0]!;
    const opened = await unlessRefused(() => openDataset(scope, args[0]));
    if (opened === null) continue;
    for (const [request, group] of await groupsOf(opened, known, calls))
      for (let at = 0; at < group.length; at += mostCalls) {
        const part = group.slice(at, at + mostCalls);
        const made = { opened, args, request };
        await answerGroup(known, made, part, answers);
      }
  }
  return answers;
}

function similarCalls(batch: readonly HostCall[]): Iterable<SimilarCalls> {
  const similar = new Map<string, SimilarCalls>();
  for (const [index, { name, args: text }] of batch.entries()) {
    if (!Object.hasOwn(groupedFunctions, name)) continue;
    const known = groupedFunctions[name as BatchFunction];
    const args = parseJson(text) as readonly unknown[];
    let key = name;
    for (const [i, one] of args.entries()) if (!known.selects.includes(i)) key += `\n${commonText(one)}`;
    const own = similar.get(key) ?? { known, calls: [] };
    own.calls.push({ index, args });
    similar.set(key, own);
  } // prettier-ignore
  return similar.values();
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
  calls: SimilarCalls['calls'],
): Promise<readonly (readonly [QueryRequest, GroupedCall[]])[]> {
  const groups = new Map<string, readonly [QueryRequest, GroupedCall[]]>();
  for (const [i, { index, args }] of calls.entries()) {
    if (i % parsedAtOnce === parsedAtOnce - 1) await setImmediate();
    const request = await unlessRefused(() => known.request(opened, args));
    // The order of relevance is that of one query.
    if (request === null || request.scores.length > 0) continue;
    const selection = callSelection(request.predicate);
    if (selection.keys.length === 0) continue;
    const group = groups.get(selection.shape) ?? [request, []];
    group[1].push({ index, selection });
    groups.set(selection.shape, group);
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
  const half = group.length >>> 1;
  if (half < 2) return;
  await answerGroup(known, made, group.slice(0, half), answers);
  await answerGroup(known, made, group.slice(half), answers);
}

/** The result of work, or null where it is refused: the call alone tells why. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'canceled' && error.code !== 'internal')
      return null;
    throw error;
  }
}
