import { callBlocking, type CallEnd } from '../../engine/core/blocking-calls.js';
import { AppError } from '../../engine/core/errors.js';
import { jsonOfValue } from '../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { copyValue, plainValue } from '../../engine/expression/annotate/plain.js';
import { withFloats } from '../../engine/expression/annotate/record-schema.js';
import { declarations } from '../../engine/expression/library/declarations.js';
import { PyList, PyTuple } from '../../engine/expression/values/values.js';
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
/** What the answers take that a thread keeps for a request or a part of a job, estimated. */
const maxCachedBytes = 64_000_000;
/** The longest answer of which the value is kept, and the longest text that `plainText` makes, in characters. */
const longestValue = 1000;
const longestPlainText = 100_000;
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
          answers.knownValueOf(runtime, name, argumentsText(runtime, args)) ?? emptyOf(name),
        ),
      },
      get missed() {
        return answers.missed;
      },
      answer: () => answers.ahead(),
    },
  };
} // prettier-ignore

type FunctionByName = (name: string) => HostFunction;

const datasetNames = declarations
  .filter(({ kind }) => kind === 'dataset')
  .map(({ signature }) => signature.slice(0, signature.indexOf('(')));

/** What a function gives where nothing is found: an evaluation ahead gets further with it than with None. */
function emptyOf(name: string): PyValue {
  if (name === 'dataset_count' || name === 'dataset_field_terms_count') return 0;
  return name === 'dataset_query' || name === 'dataset_field_values' ? new PyList([]) : null;
}

/** An answer that is kept; the value of a short one is made once and copied. */
interface KnownAnswer {
  readonly outcome: HostAnswer | AppError;
  value?: PyValue;
}

/**
 * The answers to calls of a thread, and the errors. The same function with the same arguments has the same answer throughout a request or a
 * part of a job, until there are too many: then those that were not asked for lately are forgotten.
 */
class Answers {
  readonly #ask: <T>(request: HostRequest) => T;
  #latest = new Map<string, KnownAnswer>();
  #earlier = new Map<string, KnownAnswer>();
  /** An estimate of what the latest ones take, in bytes. */
  #bytes = 0;
  /** Calls that are not answered, by their keys. */
  readonly #noted = new Map<string, HostCall>();
  #notedLength = 0;
  /** How often an answer was not known. */
  missed = 0;

  constructor(ask: <T>(request: HostRequest) => T) {
    this.#ask = ask;
  }

  /** The answer to a call. Throws an `AppError`. */
  of(name: string, args: string): HostAnswer {
    return answerOf(this.#known(name, args));
  }

  /** The value that a call returns. Throws an `AppError`. */
  valueOf(runtime: Runtime, name: string, args: string): PyValue {
    return valueOf(runtime, this.#known(name, args));
  }

  /** The same if the answer is known; a call of which it is not is noted. */
  knownValueOf(runtime: Runtime, name: string, args: string): PyValue | undefined {
    const key = name + args;
    const known = this.#find(key);
    if (known !== undefined) return valueOf(runtime, known);
    this.missed++;
    if (this.#noted.size === maxBatch || this.#notedLength > maxBatchLength) return undefined;
    if (!forBatch.has(name) || this.#noted.has(key)) return undefined;
    this.#noted.set(key, { name, args });
    this.#notedLength += key.length;
    return undefined;
  }

  /** Has the noted calls answered that others are like; false if there are none. */
  ahead(): boolean {
    const noted = [...this.#noted];
    this.#noted.clear();
    this.#notedLength = 0;
    if (noted.length <= fewCalls) for (const [key, call] of noted) this.#asked(key, call);
    else {
      const answers = this.#batch(noted.map(([, call]) => call));
      for (const [i, [key]] of noted.entries())
        if (answers[i]) this.#keep(key, { outcome: answers[i] });
    }
    return noted.length > 0;
  }

  #known(name: string, args: string): KnownAnswer {
    const key = name + args;
    return this.#find(key) ?? this.#asked(key, { name, args });
  }

  #find(key: string): KnownAnswer | undefined {
    const latest = this.#latest.get(key);
    if (latest !== undefined) return latest;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.#keep(key, earlier);
    return earlier;
  }

  #asked(key: string, call: HostCall): KnownAnswer {
    return this.#keep(key, { outcome: outcomeOf(() => this.#ask<HostAnswer>(call)) });
  }

  /** The answers to a batch. If it fails, its calls are made alone; they tell why. */
  #batch(batch: readonly HostCall[]): BatchAnswers {
    const answers = outcomeOf(() => this.#ask<BatchAnswers>({ batch }));
    return answers instanceof AppError ? [] : answers;
  }

  #keep(key: string, known: KnownAnswer): KnownAnswer {
    const { outcome } = known;
    this.#bytes += key.length + (outcome instanceof AppError ? 100 : 2 * outcome.json.length) + 200;
    if (this.#bytes > maxCachedBytes / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#bytes = 0;
    }
    this.#latest.set(key, known);
    return known;
  }
}

/** The result of work, or its error if that is one for users. */
function outcomeOf<T>(work: () => T): T | AppError {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function answerOf({ outcome }: KnownAnswer): HostAnswer {
  if (outcome instanceof AppError) throw outcome;
  return outcome;
}

function valueOf(runtime: Runtime, known: KnownAnswer): PyValue {
  const { json, floats } = answerOf(known);
  runtime.budget.workspace(bytesPerCharacter * json.length);
  runtime.budget.charge(json.length >>> 6);
  const value =
    known.value ?? floats.reduce((one, path) => withFloats(one, path), valueOfJson(json));
  if (json.length > longestValue) return value;
  known.value = value;
  return copyValue(value);
}

const forBatch: ReadonlySet<string> = new Set(batchFunctions);

function argumentsText(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  return plainText(runtime, args) ?? writtenText(runtime, args);
}

/** The JSON text of texts, numbers and lists of these; undefined for other values. It is much faster than the writer. */
function plainText(runtime: Runtime, items: readonly (PyValue | undefined)[]): string | undefined {
  let text = '[';
  for (const [i, item] of items.entries()) {
    if (i > 0) text += ',';
    if (item === null || item === undefined) text += 'null';
    else if (typeof item === 'string') text += JSON.stringify(item);
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

function writtenText(runtime: Runtime, args: readonly (PyValue | undefined)[]): string {
  const list = new PyList(args.map((one) => (one === undefined ? null : plainValue(runtime, one))));
  return jsonOfValue(list, maxArgumentBytes);
}
