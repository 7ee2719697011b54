import { callBlocking } from '../../engine/core/blocking-calls.js';
import { AppError } from '../../engine/core/errors.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { toPlainValue } from '../../engine/expression/values/plain-result.js';
import { libraryDeclarations } from '../../engine/expression/library/library-declarations.js';
import { PyList, PyTuple } from '../../engine/expression/values/python-values.js';
import type {
  ExpressionHost,
  HostFunction,
  PyValue,
  Runtime,
} from '../../engine/expression/values/python-values.js';
import type { HostAnswerCache } from './answers.js';
import { callCacheOf } from './call-cache.js';
import type { EvaluationContext } from './columns/field-expressions.js';
import type { HostCallChannel } from './host-call-protocol.js';
import { annotateTemplateFunction } from './template-function.js';

/** Maximum size in bytes of the JSON text of the arguments of a call. */
const maxArgumentBytes = 4_000_000;
/** Number of UTF-16 code units above which `fastArgumentsJson` gives up. */
const maxPlainTextLength = 100_000;

/** Returns the host of expressions in a thread that calls through `calls`; without `calls`, dataset functions fail. */
export function expressionHost(
  origin: EvaluationContext,
  calls: HostCallChannel | undefined,
): ExpressionHost {
  const { answers } = callCacheOf(calls?.scope);
  answers.connectHost((request) => {
    if (calls === undefined) throw new AppError('internal', 'dataset functions are not available here'); // prettier-ignore
    return callBlocking(calls, request);
  });
  return createHost(origin, answers);
}

/** Returns the host of expressions, whose calls are answered by `answers`. */
export function createHost({ user, now }: EvaluationContext, answers: HostAnswerCache): ExpressionHost {
  const origin = { user: () => user, now };
  const annotate = annotateTemplateFunction(({ name, args }) => answers.answerToCall(name, args));
  const createFunctions = (createFunction: CreateHostFunction) =>
    new Map([...datasetFunctionNames.map((name) => [name, createFunction(name)] as const), ['annotate', annotate]]);
  return {
    ...origin,
    functions: createFunctions((name) => (runtime, args) =>
      answers.valueOf(runtime, name, argumentsJson(runtime, args)),
    ),
    callPrefetcher: {
      host: {
        ...origin,
        functions: createFunctions((name) => (runtime, args) =>
          answers.knownValueOf(runtime, name, argumentsJson(runtime, args)),
        ),
      },
      get missedCallCount() {
        return answers.missedAnswerCount;
      },
      missedCall: (value) => answers.missedCall(value),
      answer: () => answers.sendPendingCalls(),
      callsSharingTemplate: (placeholder) => answers.callsSharingTemplate(placeholder),
    },
  };
} // prettier-ignore

type CreateHostFunction = (name: string) => HostFunction;

const datasetFunctionNames = libraryDeclarations
  .filter(({ kind }) => kind === 'dataset')
  .map(({ signature }) => signature.slice(0, signature.indexOf('(')));

function argumentsJson(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  return fastArgumentsJson(runtime, args) ?? fullArgumentsJson(runtime, args);
}

/**
 * Returns the JSON text of a list of strings, ints, bools, None and nested lists or tuples, with null for undefined; undefined if the list
 * has other values or its text is long. It is much faster than the general JSON writer.
 */
function fastArgumentsJson(
  runtime: Runtime,
  items: readonly (PyValue | undefined)[],
): string | undefined {
  let text = '[';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (i > 0) text += ',';
    if (item === null || item === undefined) text += 'null';
    else if (typeof item === 'string') text += jsonStringLiteral(item);
    else if (item instanceof PyList || item instanceof PyTuple) {
      runtime.budget.chargeElements(item.items.length);
      const inner = fastArgumentsJson(runtime, item.items);
      if (inner === undefined) return undefined;
      text += inner;
    } else if (typeof item === 'object') return undefined;
    else text += String(item);
    if (text.length > maxPlainTextLength) return undefined;
  }
  return `${text}]`;
}

/** Returns a string as a JSON literal. Most strings are short and need no escapes, which is checked faster than `JSON.stringify` runs. */
function jsonStringLiteral(text: string): string {
  return text.length <= 48 && unescapedTextPattern.test(text) ? `"${text}"` : JSON.stringify(text);
}

const unescapedTextPattern = /^[ !#-[\]-~]*$/;

function fullArgumentsJson(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  const list = new PyList(
    args.map((one) => (one === undefined ? null : toPlainValue(runtime, one))),
  );
  return jsonOfValue(list, maxArgumentBytes);
}
