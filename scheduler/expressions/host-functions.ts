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
import { batchFunctions } from './protocol.js';
import type { BatchAnswers, EvaluationOrigin, HostAnswer, HostCall, HostRequest } from './protocol.js'; // prettier-ignore
import { templateFunction } from './template-function.js';

/** The longest JSON text of the arguments of a call. */
const maxArgumentBytes = 4_000_000;
/** The most characters of the answers that a thread keeps for a request or a part of a job. */
const maxCachedLength = 32_000_000;
/** What a character of an answer becomes as values, estimated. */
const bytesPerCharacter = 4;

/** The most calls of a batch, and of their texts. */
const maxBatch = 65_536;
const maxBatchLength = 8_000_000;
/** So few calls are made alone, because others may depend on them. */
const fewCalls = 8;

/** The host of expressions in a thread that calls through `calls`. */
export function expressionHost(
  { user, now }: EvaluationOrigin,
  calls: CallEnd | undefined,
): ExpressionHost {
  const ask = <T>(request: HostRequest): T => {
    if (calls === undefined) throw new AppError('internal', 'dataset functions are not available here'); // prettier-ignore
    return callBlocking<T>(calls, request);
  };
  const answers = new Answers(ask);
  const origin = { user: () => user, now };
  const annotate = templateFunction((call) => answers.of(call));
  const functions = (answer: DatasetFunction) =>
    new Map([...datasetNames.map((name) => [name, answer(name)] as const), ['annotate', annotate]]);
  return {
    ...origin,
    functions: functions((name) => (runtime, args) =>
      valueOf(runtime, answers.of({ name, args: argumentsText(runtime, args) })),
    ),
    ahead: {
      host: {
        ...origin,
        functions: functions((name) => (runtime, args) => {
          const known = answers.knownOf({ name, args: argumentsText(runtime, args) });
          return known === undefined ? emptyOf(name) : valueOf(runtime, known);
        }),
      },
      answer: () => answers.ahead(),
    },
  };
} // prettier-ignore

type DatasetFunction = (name: string) => HostFunction;

const datasetNames = declarations
  .filter(({ kind }) => kind === 'dataset')
  .map(({ signature }) => signature.slice(0, signature.indexOf('(')));

/** What a function gives where nothing is found: an evaluation ahead gets further with it than with None. */
function emptyOf(name: string): PyValue {
  if (name === 'dataset_count' || name === 'dataset_field_terms_count') return 0;
  return name === 'dataset_query' || name === 'dataset_field_values' ? new PyList([]) : null;
}

/**
 * The answers to calls of a thread, and the errors. The same function with the same arguments has the same answer throughout a request or a
 * part of a job, until there are too many: then those that were not asked for lately are forgotten.
 */
class Answers {
  readonly #ask: <T>(request: HostRequest) => T;
  #latest = new Map<string, HostAnswer | AppError>();
  #earlier = new Map<string, HostAnswer | AppError>();
  /** The characters of the latest ones. */
  #length = 0;
  /** Calls that are not answered, by their keys. */
  readonly #noted = new Map<string, HostCall>();
  #notedLength = 0;

  constructor(ask: <T>(request: HostRequest) => T) {
    this.#ask = ask;
  }

  /** The answer to a call. Throws an `AppError`. */
  of(call: HostCall): HostAnswer {
    const key = call.name + call.args;
    const found = this.#find(key) ?? this.#asked(key, call);
    if (found instanceof AppError) throw found;
    return found;
  }

  /** The answer to a call if it is known; a call that is not is noted. Throws an `AppError`. */
  knownOf(call: HostCall): HostAnswer | undefined {
    const key = call.name + call.args;
    const found = this.#find(key);
    if (found instanceof AppError) throw found;
    if (found !== undefined) return found;
    if (this.#noted.size === maxBatch || this.#notedLength > maxBatchLength) return undefined;
    if (!isForBatch(call.name) || this.#noted.has(key)) return undefined;
    this.#noted.set(key, call);
    this.#notedLength += key.length;
    return undefined;
  }

  /** Has the noted calls answered that others are like; false if there are none. */
  ahead(): boolean {
    const noted = [...this.#noted];
    this.#noted.clear();
    this.#notedLength = 0;
    if (noted.length > fewCalls) {
      const answers = this.#ask<BatchAnswers>({ batch: noted.map(([, call]) => call) });
      for (const [i, [key]] of noted.entries()) if (answers[i]) this.#keep(key, answers[i]);
    } else for (const [key, call] of noted) this.#asked(key, call);
    return noted.length > 0;
  }

  #find(key: string): HostAnswer | AppError | undefined {
    const latest = this.#latest.get(key);
    if (latest !== undefined) return latest;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.#keep(key, earlier);
    return earlier;
  }

  #asked(key: string, call: HostCall): HostAnswer | AppError {
    const answer = this.#answerTo(call);
    this.#keep(key, answer);
    return answer;
  }

  #answerTo(call: HostCall): HostAnswer | AppError {
    try {
      return this.#ask<HostAnswer>(call);
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }

  #keep(key: string, answer: HostAnswer | AppError): void {
    this.#length += key.length + (answer instanceof AppError ? 100 : answer.json.length);
    if (this.#length > maxCachedLength / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#length = 0;
    }
    this.#latest.set(key, answer);
  }
}

const forBatch: ReadonlySet<string> = new Set(batchFunctions);

function isForBatch(name: string): boolean {
  return forBatch.has(name);
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
