import { callBlocking, type CallEnd } from '../../engine/core/blocking-calls.js';
import { AppError } from '../../engine/core/errors.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { plainValue } from '../../engine/expression/annotate/plain.js';
import { withFloats } from '../../engine/expression/annotate/record-schema.js';
import { declarations } from '../../engine/expression/library/declarations.js';
import { PyList } from '../../engine/expression/values/values.js';
import type {
  ExpressionHost,
  HostFunction,
  PyValue,
  Runtime,
} from '../../engine/expression/values/values.js';
import type { EvaluationOrigin, HostAnswer, HostCall } from './protocol.js';
import { templateFunction } from './template-function.js';

/** The longest JSON text of the arguments of a call. */
const maxArgumentBytes = 4_000_000;
/** The JSON texts of answers that one request keeps. */
const maxCachedLength = 32_000_000;
/** What a character of an answer becomes as values, estimated. */
const bytesPerCharacter = 4;

/**
 * The dataset functions of an evaluation, by name. `call` reaches the host and blocks. The same function with the same arguments has the
 * same answer throughout a request.
 */
function hostFunctions(call: (call: HostCall) => HostAnswer): ReadonlyMap<string, HostFunction> {
  const cached = cache(call);
  const functions = declarations
    .filter(({ kind }) => kind === 'dataset')
    .map(({ signature }) => signature.slice(0, signature.indexOf('(')))
    .map((name): [string, HostFunction] => [
      name,
      (runtime, args) => valueOf(runtime, cached({ name, args: argumentsText(runtime, args) })),
    ]);
  return new Map([...functions, ['annotate', templateFunction(cached)]]);
}

/** The host of expressions in a thread that calls through `calls`. */
export function expressionHost(
  { user, now }: EvaluationOrigin,
  calls: CallEnd | undefined,
): ExpressionHost {
  const functions = hostFunctions((call) => {
    if (calls === undefined) throw new AppError('internal', 'dataset functions are not available here'); // prettier-ignore
    return callBlocking<HostAnswer>(calls, call);
  });
  return { user: () => user, now, functions };
}

/** Remembers answers and errors, until there are too many. */
function cache(call: (call: HostCall) => HostAnswer): (call: HostCall) => HostAnswer {
  const known = new Map<string, HostAnswer | AppError>();
  let length = 0;
  const answer = (one: HostCall): HostAnswer | AppError => {
    try {
      return call(one);
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  };
  return (one) => {
    const key = `${one.name}${one.args}`;
    let found = known.get(key);
    if (found === undefined) {
      found = answer(one);
      length += key.length + (found instanceof AppError ? 100 : found.json.length);
      if (length <= maxCachedLength) known.set(key, found);
    }
    if (found instanceof AppError) throw found;
    return found;
  };
}

function argumentsText(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  const list = new PyList(args.map((one) => (one === undefined ? null : plainValue(runtime, one))));
  return jsonOfValue(list, maxArgumentBytes);
}

function valueOf(runtime: Runtime, { json, floats }: HostAnswer): PyValue {
  runtime.budget.workspace(bytesPerCharacter * json.length);
  runtime.budget.charge(json.length >>> 6);
  return floats.reduce((value, path) => withFloats(value, path), valueOfJson(json));
}
