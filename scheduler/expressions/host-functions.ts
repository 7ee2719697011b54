import { callBlocking } from '../../engine/core/blocking-calls.js';
import { AppError } from '../../engine/core/errors.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { plainValue } from '../../engine/expression/annotate/plain.js';
import { declarations } from '../../engine/expression/library/declarations.js';
import { PyList, PyTuple } from '../../engine/expression/values/values.js';
import type {
  ExpressionHost,
  HostFunction,
  PyValue,
  Runtime,
} from '../../engine/expression/values/values.js';
import type { Answers } from './answers.js';
import { callMemory } from './call-memory.js';
import type { EvaluationOrigin, HostCalls } from './protocol.js';
import { templateFunction } from './template-function.js';

/** The longest JSON text of the arguments of a call. */
const maxArgumentBytes = 4_000_000;
/** Maximum length of a text that `plainText` returns, in characters. */
const longestPlainText = 100_000;

/** The host of expressions in a thread that calls through `calls`. */
export function expressionHost(
  origin: EvaluationOrigin,
  calls: HostCalls | undefined,
): ExpressionHost {
  const { answers } = callMemory(calls?.scope);
  answers.through((request) => {
    if (calls === undefined) throw new AppError('internal', 'dataset functions are not available here'); // prettier-ignore
    return callBlocking(calls, request);
  });
  return hostWith(origin, answers);
}

/** The host of expressions, whose calls are answered by `answers`. */
export function hostWith({ user, now }: EvaluationOrigin, answers: Answers): ExpressionHost {
  const origin = { user: () => user, now };
  const annotate = templateFunction(({ name, args }) => answers.of(name, args));
  const functions = (answer: FunctionByName) =>
    new Map([...datasetNames.map((name) => [name, answer(name)] as const), ['annotate', annotate]]);
  return {
    ...origin,
    functions: functions((name) => (runtime, args) =>
      answers.valueOf(runtime, name, argumentsText(runtime, args)),
    ),
    ahead: {
      host: {
        ...origin,
        functions: functions((name) => (runtime, args) =>
          answers.knownValueOf(runtime, name, argumentsText(runtime, args)),
        ),
      },
      get missed() {
        return answers.missed;
      },
      missedCall: (value) => answers.missedCall(value),
      answer: () => answers.ahead(),
      uniformCalls: (placeholder) => answers.uniformCalls(placeholder),
    },
  };
} // prettier-ignore

type FunctionByName = (name: string) => HostFunction;

const datasetNames = declarations
  .filter(({ kind }) => kind === 'dataset')
  .map(({ signature }) => signature.slice(0, signature.indexOf('(')));

function argumentsText(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  return plainText(runtime, args) ?? writtenText(runtime, args);
}

/** The JSON text of texts, numbers and lists of them; undefined for other values. It is much faster than the writer. */
function plainText(runtime: Runtime, items: readonly (PyValue | undefined)[]): string | undefined {
  let text = '[';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (i > 0) text += ',';
    if (item === null || item === undefined) text += 'null';
    else if (typeof item === 'string') text += textLiteral(item);
    else if (item instanceof PyList || item instanceof PyTuple) {
      runtime.budget.elements(item.items.length);
      const inner = plainText(runtime, item.items);
      if (inner === undefined) return undefined;
      text += inner;
    } else if (typeof item === 'object') return undefined;
    else text += String(item);
    if (text.length > longestPlainText) return undefined;
  }
  return `${text}]`;
}

/** A string as a JSON literal. Most strings are short and need no escapes, which is checked faster than `JSON.stringify` runs. */
function textLiteral(text: string): string {
  return text.length <= 48 && plainCharacters.test(text) ? `"${text}"` : JSON.stringify(text);
}

const plainCharacters = /^[ !#-[\]-~]*$/;

function writtenText(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  const list = new PyList(args.map((one) => (one === undefined ? null : plainValue(runtime, one))));
  return jsonOfValue(list, maxArgumentBytes);
}
