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

/** A call and its answer, which is missing until the call has been made; the value of a short one is made once and copied. */
interface KnownCall {
  readonly text: string;
  outcome?: HostAnswer | AppError;
  value?: PyValue;
}

/** A call that has been made. */
type AnsweredCall = KnownCall & { readonly outcome: HostAnswer | AppError };

/**
 * The answers to calls of a thread, and the errors. The same function with the same arguments has the same answer throughout a request or an
 * attempt at a job, until there are too many: then those that were not asked for lately are forgotten.
 */
export class Answers {
  #ask: AskHost = () => {
    throw new AppError('internal', 'nobody is asked');
  };
  #latest = new Map<string, KnownCall>();
  #earlier = new Map<string, KnownCall>();
  /** An estimate of what the latest ones take, in bytes. */
  #bytes = 0;
  /** Calls that are not answered. */
  #noted: KnownCall[] = [];
  #notedLength = 0;
  /** How often an answer was not known. */
  missed = 0;

  /** Asks through a channel from now on. */
  through(ask: AskHost): void {
    this.#ask = ask;
    this.#forgetNoted();
  }

  /** The answer to a call. Throws an `AppError`. */
  of(name: string, args: string): HostAnswer {
    return answerOf(this.#known(name + args));
  }

  /** The value that a call returns. Throws an `AppError`. */
  valueOf(runtime: Runtime, name: string, args: string): PyValue {
    return valueOf(runtime, this.#known(name + args));
  }

  /** The same if the answer is known; a call of which it is not is noted. */
  knownValueOf(runtime: Runtime, name: string, args: string): PyValue | undefined {
    const text = name + args;
    const known = this.#find(text);
    if (known !== undefined && isAnswered(known)) return valueOf(runtime, known);
    this.missed++;
    const isFull = this.#noted.length === maxBatch || this.#notedLength > maxBatchLength;
    if (known !== undefined || isFull || !forBatch.has(name)) return undefined;
    const noted = { text };
    this.#latest.set(text, noted);
    this.#noted.push(noted);
    this.#notedLength += text.length;
    return undefined;
  }

  /** Has the noted calls answered that others are like; false if there are none. */
  ahead(): boolean {
    const noted = this.#noted;
    const isFew = noted.length <= fewCalls;
    const answers = isFew ? [] : this.#batch(noted.map(({ text }) => text));
    for (const [i, call] of noted.entries()) {
      const outcome = isFew ? this.#outcomeOf(call.text) : answers[i];
      if (!outcome) continue;
      call.outcome = outcome;
      this.#count(call as AnsweredCall);
    }
    this.#forgetNoted();
    return noted.length > 0;
  }

  #known(text: string): AnsweredCall {
    const known = this.#find(text);
    return known !== undefined && isAnswered(known) ? known : this.#asked(text);
  }

  #find(text: string): KnownCall | undefined {
    const latest = this.#latest.get(text);
    if (latest !== undefined) return latest;
    const earlier = this.#earlier.get(text);
    if (earlier !== undefined && isAnswered(earlier)) this.#keep(earlier);
    return earlier;
  }

  #asked(text: string): AnsweredCall {
    return this.#keep({ text, outcome: this.#outcomeOf(text) });
  }

  #outcomeOf(text: string): HostAnswer | AppError {
    return outcomeOf(() => this.#ask(callOfText(text)) as HostAnswer);
  }

  /** The answers to a batch. If it fails, its calls are made alone; they tell why. */
  #batch(texts: readonly string[]): BatchAnswers {
    const answers = outcomeOf(() => this.#ask({ batch: packTexts(texts) }) as PackedAnswers);
    return answers instanceof AppError ? [] : unpackAnswers(answers);
  }

  #keep(known: AnsweredCall): AnsweredCall {
    this.#latest.set(known.text, known);
    this.#count(known);
    return known;
  }

  /** Counts one of the latest answers. */
  #count({ text, outcome }: AnsweredCall): void {
    this.#bytes +=
      text.length + (outcome instanceof AppError ? 100 : 2 * outcome.json.length) + 200;
    if (this.#bytes <= maxCachedBytes / 2) return;
    this.#earlier = this.#latest;
    this.#latest = new Map();
    this.#bytes = 0;
  }

  /** Forgets which calls were noted; those without an answer are unknown again. */
  #forgetNoted(): void {
    for (const call of this.#noted)
      if (call.outcome === undefined) {
        this.#latest.delete(call.text);
        this.#earlier.delete(call.text);
      }
    this.#noted = [];
    this.#notedLength = 0;
  }
}

function isAnswered(known: KnownCall): known is AnsweredCall {
  return known.outcome !== undefined;
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

function answerOf({ outcome }: AnsweredCall): HostAnswer {
  if (outcome instanceof AppError) throw outcome;
  return outcome;
}

function valueOf(runtime: Runtime, known: AnsweredCall): PyValue {
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
