import { AppError } from '../../engine/core/errors.js';
import { packTexts } from '../../engine/core/packed-texts.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { copyValue } from '../../engine/expression/annotate/plain.js';
import { withFloats } from '../../engine/expression/annotate/record-schema.js';
import { longestMissedValue, PyList } from '../../engine/expression/values/values.js';
import type { MissedCall, PyValue, Runtime, UniformCalls } from '../../engine/expression/values/values.js'; // prettier-ignore
import { unpackAnswers } from './packed.js';
import { batchFunctions, callOfText, callText } from './protocol.js';
import { FormCalls } from './form-calls.js';
import type { BatchAnswers, HostAnswer, HostReply, HostRequest, PackedAnswers } from './protocol.js'; // prettier-ignore

/** The estimated size of the answers that a thread keeps for a request or an attempt at a job. */
const maxCachedBytes = 64_000_000;
/** Maximum length of an answer whose value is kept, in characters. */
const longestValue = 1000;
/** The estimated size of the values that one character of an answer becomes. */
const bytesPerCharacter = 4;

/** The most calls of a batch, and of their texts. */
const maxBatch = 65_536;
const maxBatchLength = 8_000_000;
/** Minimum number of calls that are sent together. Fewer are made one by one, because other calls may depend on them. */
const fewCalls = 8;

/** Asks the host and waits for its reply. Throws an `AppError`. */
type AskHost = (request: HostRequest) => HostReply;

/** A call that has been made, with its answer or error. The value of a short answer is created once and copied. */
interface KnownCall {
  readonly text: string;
  readonly outcome: HostAnswer | AppError;
  value?: PyValue;
}

/** A function call without an answer yet; it is sent to the API process with the next batch, unless it has been sent. */
class NotedCall implements MissedCall {
  readonly text: string;
  answer: HostAnswer | null;
  /** How often the answer was missed by evaluations without this object. */
  others = 0;

  readonly #answers: Answers;

  constructor(text: string, answers: Answers, answer: HostAnswer | null = null) {
    this.text = text;
    this.#answers = answers;
    this.answer = answer;
  }

  value(runtime: Runtime): PyValue | undefined {
    if (this.answer === null || this.answer.json.length > longestMissedValue) return undefined;
    return valueOfAnswer(runtime, this.answer);
  }

  keep(): void {
    this.#answers.keep(this);
  }
}

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
  /** Calls that are not answered, by their texts. */
  #noted = new Map<string, NotedCall>();
  #notedLength = 0;
  /** How often an answer was unknown. */
  missed = 0;
  /** The last empty value that replaced an unknown answer, and its call. */
  #empty: PyValue = null;
  #emptyCall: NotedCall | undefined;

  /** Asks through a channel from now on. */
  through(ask: AskHost): void {
    this.#ask = ask;
    this.#forgetNoted();
  }

  /** The answer to a call. Throws an `AppError`. */
  of(name: string, args: string): HostAnswer {
    return answerOf(this.#known(callText({ name, args })));
  }

  /** The value that a call returns. Throws an `AppError`. */
  valueOf(runtime: Runtime, name: string, args: string): PyValue {
    return valueOf(runtime, this.#known(callText({ name, args })));
  }

  /** The value of a known answer; an unknown call is noted, and an empty value is returned. */
  knownValueOf(runtime: Runtime, name: string, args: string): PyValue {
    const text = callText({ name, args });
    const knownAnswer = this.#find(text);
    if (knownAnswer !== undefined) return valueOf(runtime, knownAnswer);
    this.missed++;
    this.#empty = emptyOf(name);
    this.#emptyCall = forBatch.has(name) ? this.#note(text) : undefined;
    if (this.#emptyCall !== undefined) this.#emptyCall.others++;
    return this.#empty;
  }

  /** The call for which `knownValueOf` returned an empty value last, if this is that value and can be told from others. */
  missedCall(value: PyValue): MissedCall | undefined {
    if (value !== this.#empty || !(value instanceof PyList)) return undefined;
    const call = this.#emptyCall;
    this.#empty = null;
    if (call !== undefined) call.others--;
    return call;
  }

  /** The uniform calls, as in `CallsAhead`. */
  uniformCalls(placeholder: string): UniformCalls | undefined {
    const texts = [...this.#noted.keys()];
    this.#forgetNoted();
    const parts = texts.length === 1 ? texts[0]!.split(JSON.stringify(placeholder)) : [];
    if (parts.length !== 2) return undefined;
    const [before, after] = parts as [string, string];
    return new FormCalls({ before, after }, this.#ask, (text, answer) => new NotedCall(text, this, answer)); // prettier-ignore
  }

  /** Sends those of the noted calls that are similar to each other; returns false if there are none. */
  ahead(): boolean {
    const notedCalls = [...this.#noted.values()];
    this.#forgetNoted();
    if (notedCalls.length <= fewCalls) for (const { text } of notedCalls) this.#asked(text);
    else {
      const answers = this.#batch(notedCalls.map(({ text }) => text));
      for (let i = 0; i < notedCalls.length; i++) {
        const call = notedCalls[i]!;
        call.answer = answers[i] ?? null;
        if (call.others > 0) this.keep(call);
      }
    }
    return notedCalls.length > 0;
  }

  /** Keeps the answer to a call that was noted, if there is one. */
  keep({ text, answer }: NotedCall): void {
    if (answer !== null) this.#keep({ text, outcome: answer });
  }

  #known(text: string): KnownCall {
    return this.#find(text) ?? this.#asked(text);
  }

  #find(text: string): KnownCall | undefined {
    const latestAnswer = this.#latest.get(text);
    if (latestAnswer !== undefined) return latestAnswer;
    const earlierAnswer = this.#earlier.get(text);
    if (earlierAnswer !== undefined) this.#keep(earlierAnswer);
    return earlierAnswer;
  }

  #asked(text: string): KnownCall {
    return this.#keep({
      text,
      outcome: outcomeOf(() => this.#ask(callOfText(text)) as HostAnswer),
    });
  }

  /** Notes a call for a batch, unless the batch is full. */
  #note(text: string): NotedCall | undefined {
    const notedCall = this.#noted.get(text);
    if (notedCall !== undefined) return notedCall;
    if (this.#noted.size === maxBatch || this.#notedLength > maxBatchLength) return undefined;
    const call = new NotedCall(text, this);
    this.#noted.set(text, call);
    this.#notedLength += text.length;
    return call;
  }

  #forgetNoted(): void {
    this.#noted = new Map();
    this.#notedLength = 0;
  }

  /** The answers to a batch. If the batch fails, each call is made alone, which shows the error. */
  #batch(texts: readonly string[]): BatchAnswers {
    const answers = outcomeOf(() => this.#ask({ batch: packTexts(texts) }) as PackedAnswers);
    return answers instanceof AppError ? [] : unpackAnswers(answers);
  }

  #keep(known: KnownCall): KnownCall {
    const { text, outcome } = known;
    this.#bytes +=
      text.length + (outcome instanceof AppError ? 100 : 2 * outcome.json.length) + 200;
    if (this.#bytes > maxCachedBytes / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#bytes = 0;
    }
    this.#latest.set(text, known);
    return known;
  }
}

/** The result of a function that finds nothing: an evaluation ahead gets further with it than with None. */
function emptyOf(name: string): PyValue {
  if (name === 'dataset_count' || name === 'dataset_field_terms_count') return 0;
  return name === 'dataset_query' || name === 'dataset_field_values' ? new PyList([]) : null;
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

function answerOf({ outcome }: KnownCall): HostAnswer {
  if (outcome instanceof AppError) throw outcome;
  return outcome;
}

function valueOf(runtime: Runtime, known: KnownCall): PyValue {
  const answer = answerOf(known);
  const { value } = known;
  if (value !== undefined) {
    chargeAnswer(runtime, answer);
    return copyValue(value);
  }
  const answerValue = valueOfAnswer(runtime, answer);
  if (answer.json.length > longestValue) return answerValue;
  known.value = answerValue;
  return copyValue(answerValue);
}

function valueOfAnswer(runtime: Runtime, answer: HostAnswer): PyValue {
  chargeAnswer(runtime, answer);
  return answer.floats.reduce((one, path) => withFloats(one, path), valueOfJson(answer.json));
}

function chargeAnswer(runtime: Runtime, { json }: HostAnswer): void {
  runtime.budget.workspace(bytesPerCharacter * json.length);
  runtime.budget.charge(json.length >>> 6);
}

const forBatch: ReadonlySet<string> = new Set(batchFunctions);
