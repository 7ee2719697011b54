import { AppError } from '../../engine/core/errors.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { copyValue } from '../../engine/expression/annotate/plain.js';
import { withFloats } from '../../engine/expression/annotate/record-schema.js';
import type { PyValue, Runtime } from '../../engine/expression/values/values.js';
import { packTexts, unpackAnswers, type PackedAnswers } from './packed.js';
import { batchFunctions, callOfText } from './protocol.js';
import type { BatchAnswers, HostAnswer, HostCall, HostReply, HostRequest } from './protocol.js'; // prettier-ignore

/** What the answers take that a thread keeps for a request or an attempt at a job, estimated. */
const maxCachedBytes = 64_000_000;
/** The longest answer of which the value is kept, in characters. */
const longestValue = 1000;
/** What a character of an answer becomes as values, estimated. */
const bytesPerCharacter = 4;

/** The most calls of a batch, and of their texts. */
const maxBatch = 65_536;
const maxBatchLength = 8_000_000;
/** So few calls are made alone, because others may depend on them. */
const fewCalls = 8;

/** Asks the host and waits for its reply. Throws an `AppError`. */
type AskHost = (request: HostRequest) => HostReply;

/** An answer that is kept; the value of a short one is made once and copied. */
interface KnownAnswer {
  readonly outcome: HostAnswer | AppError;
  value?: PyValue;
}

/**
 * The answers to calls of a thread, and the errors. The same function with the same arguments has the same answer throughout a request or an
 * attempt at a job, until there are too many: then those that were not asked for lately are forgotten.
 */
export class Answers {
  #ask: AskHost = () => {
    throw new AppError('internal', 'nobody is asked');
  };
  #latest = new Map<string, KnownAnswer>();
  #earlier = new Map<string, KnownAnswer>();
  /** An estimate of what the latest ones take, in bytes. */
  #bytes = 0;
  /** Calls that are not answered, by their texts. */
  readonly #noted = new Set<string>();
  #notedLength = 0;
  /** How often an answer was not known. */
  missed = 0;

  /** Asks through a channel from now on. */
  through(ask: AskHost): void {
    this.#ask = ask;
    this.#noted.clear();
    this.#notedLength = 0;
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
    this.#noted.add(key);
    this.#notedLength += key.length;
    return undefined;
  }

  /** Has the noted calls answered that others are like; false if there are none. */
  ahead(): boolean {
    const noted = [...this.#noted];
    this.#noted.clear();
    this.#notedLength = 0;
    if (noted.length <= fewCalls) for (const key of noted) this.#asked(key, callOfText(key));
    else {
      const answers = this.#batch(noted);
      for (let i = 0; i < noted.length; i++) {
        const outcome = answers[i];
        if (outcome) this.#keep(noted[i]!, { outcome });
      }
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
    return this.#keep(key, { outcome: outcomeOf(() => this.#ask(call) as HostAnswer) });
  }

  /** The answers to a batch. If it fails, its calls are made alone; they tell why. */
  #batch(texts: readonly string[]): BatchAnswers {
    const answers = outcomeOf(() => this.#ask({ batch: packTexts(texts) }) as PackedAnswers);
    return answers instanceof AppError ? [] : unpackAnswers(answers);
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
