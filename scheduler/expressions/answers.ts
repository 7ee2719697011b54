import { AppError } from '../../engine/core/errors.js';
import { packStrings } from '../../engine/core/packed-strings.js';
import { valueOfJson } from '../../engine/expression/annotate/json-values.js';
import { copyValue } from '../../engine/expression/values/plain-result.js';
import { convertToFloats } from '../../engine/expression/annotate/record-schema.js';
import { maxPendingValueLength, PyList } from '../../engine/expression/values/python-values.js';
import type { PendingCall, PyValue, Runtime, CallsSharingTemplate } from '../../engine/expression/values/python-values.js'; // prettier-ignore
import { unpackAnswers } from './packed-answers.js';
import { batchFunctions, callOfText, callText } from './host-call-protocol.js';
import { CallTemplateBatcher } from './call-template-batcher.js';
import type { BatchAnswers, HostCallResult, HostReply, HostRequest, PackedAnswers } from './host-call-protocol.js'; // prettier-ignore

/** Approximate limit of the estimated size in bytes of the answers that a thread keeps for a request or an attempt at a job. */
const maxCachedBytes = 64_000_000;
/** Maximum length in characters of an answer whose decoded value is kept. */
const maxKeptAnswerLength = 1000;
/** The estimated number of bytes of the decoded value per character of an answer. */
const bytesPerCharacter = 4;

/** Maximum number of calls noted for a batch, and the number of characters of their texts above which no further call is noted. */
const maxBatchCalls = 65_536;
const maxBatchTextLength = 8_000_000;
/** Up to this number of noted calls are made one by one, and their answers are kept; more calls are sent as a batch. */
const maxSingleCalls = 8;

/** Asks the host and waits for its reply. Throws an `AppError`. */
type AskHost = (request: HostRequest) => HostReply;

/** A call that has been made, with its answer or error. The value of a short answer is created once and copied. */
interface KnownCall {
  readonly text: string;
  readonly outcome: HostCallResult | AppError;
  value?: PyValue;
}

/** A call of a dataset function that was noted for a batch, or that was sent together with other calls of its template. */
class NotedCall implements PendingCall {
  readonly text: string;
  answer: HostCallResult | null;
  /**
   * The number of times that the answer was asked for without this object being taken by `missedCall`; unless it is 0, the cache keeps the
   * answer of a batch to this call.
   */
  missesElsewhere = 0;

  readonly #answers: HostAnswerCache;

  constructor(text: string, answers: HostAnswerCache, answer: HostCallResult | null = null) {
    this.text = text;
    this.#answers = answers;
    this.answer = answer;
  }

  value(runtime: Runtime): PyValue | undefined {
    if (this.answer === null || this.answer.json.length > maxPendingValueLength) return undefined;
    return parseAnswerValue(runtime, this.answer);
  }

  keep(): void {
    this.#answers.keep(this);
  }
}

/**
 * The answers to calls, and their errors, that a thread keeps for a request or an attempt at a job. If the cache becomes too large, it
 * forgets answers that were not used recently; a call whose answer is not kept is sent again.
 */
export class HostAnswerCache {
  #ask: AskHost = () => {
    throw new AppError('internal', 'nobody is asked');
  };
  #latest = new Map<string, KnownCall>();
  #earlier = new Map<string, KnownCall>();
  /** The estimated size in bytes of the calls in `#latest`. */
  #latestBytes = 0;
  /** The calls noted for the next batch, by their texts. */
  #notedCalls = new Map<string, NotedCall>();
  #notedLength = 0;
  /** Number of times that `knownValueOf` was asked for an unknown answer. */
  missedAnswerCount = 0;
  /** The last empty value that was returned in place of an unknown answer, and its call; the call is undefined if it was not noted. */
  #emptyResult: PyValue = null;
  #emptyCall: NotedCall | undefined;

  /** Sets the function that asks the host, and forgets the calls noted so far. */
  connectHost(ask: AskHost): void {
    this.#ask = ask;
    this.#forgetNoted();
  }

  /** Returns the answer to a call. Throws the error of the call, an `AppError`. */
  answerToCall(name: string, args: string): HostCallResult {
    return answerOrThrow(this.#findOrAsk(callText({ name, args })));
  }

  /** Returns the value of the answer to a call. Throws the error of the call, an `AppError`. */
  valueOf(runtime: Runtime, name: string, args: string): PyValue {
    return valueOf(runtime, this.#findOrAsk(callText({ name, args })));
  }

  /**
   * Returns the value of a known answer, or throws a known error. If the answer is unknown, returns an empty value, and notes the call if
   * batches may contain it and the next one is not full.
   */
  knownValueOf(runtime: Runtime, name: string, args: string): PyValue {
    const text = callText({ name, args });
    const knownCall = this.#findKept(text);
    if (knownCall !== undefined) return valueOf(runtime, knownCall);
    this.missedAnswerCount++;
    this.#emptyResult = emptyResultOf(name);
    this.#emptyCall = batchFunctionNames.has(name) ? this.#noteCall(text) : undefined;
    if (this.#emptyCall !== undefined) this.#emptyCall.missesElsewhere++;
    return this.#emptyResult;
  }

  /**
   * Returns the noted call for which `knownValueOf` last returned an empty value, if `value` is that value and a list; undefined otherwise,
   * because other empty values cannot be told apart.
   */
  missedCall(value: PyValue): PendingCall | undefined {
    if (value !== this.#emptyResult || !(value instanceof PyList)) return undefined;
    const call = this.#emptyCall;
    this.#emptyResult = null;
    if (call !== undefined) call.missesElsewhere--;
    return call;
  }

  /**
   * Returns an object that makes calls like the noted one, with other texts in the place of `placeholder`; undefined unless exactly one
   * call was noted and has the string `placeholder` exactly once. Forgets the noted calls.
   */
  callsSharingTemplate(placeholder: string): CallsSharingTemplate | undefined {
    const texts = [...this.#notedCalls.keys()];
    this.#forgetNoted();
    const templateParts = texts.length === 1 ? texts[0]!.split(JSON.stringify(placeholder)) : [];
    if (templateParts.length !== 2) return undefined;
    const [before, after] = templateParts as [string, string];
    return new CallTemplateBatcher({ before, after }, this.#ask, (text, answer) => new NotedCall(text, this, answer)); // prettier-ignore
  }

  /** Has the noted calls answered; returns false if there are none. */
  sendPendingCalls(): boolean {
    const notedCalls = [...this.#notedCalls.values()];
    this.#forgetNoted();
    if (notedCalls.length <= maxSingleCalls) for (const { text } of notedCalls) this.#askOne(text);
    else {
      const answers = this.#askBatch(notedCalls.map(({ text }) => text));
      for (let i = 0; i < notedCalls.length; i++) {
        const call = notedCalls[i]!;
        call.answer = answers[i] ?? null;
        if (call.missesElsewhere > 0) this.keep(call);
      }
    }
    return notedCalls.length > 0;
  }

  /** Keeps the answer to a noted call, if it has one. */
  keep({ text, answer }: NotedCall): void {
    if (answer !== null) this.#keepCall({ text, outcome: answer });
  }

  #findOrAsk(text: string): KnownCall {
    return this.#findKept(text) ?? this.#askOne(text);
  }

  #findKept(text: string): KnownCall | undefined {
    const latestCall = this.#latest.get(text);
    if (latestCall !== undefined) return latestCall;
    const earlierCall = this.#earlier.get(text);
    if (earlierCall !== undefined) this.#keepCall(earlierCall);
    return earlierCall;
  }

  #askOne(text: string): KnownCall {
    return this.#keepCall({
      text,
      outcome: outcomeOf(() => this.#ask(callOfText(text)) as HostCallResult),
    });
  }

  /** Notes a call for a batch, unless the batch is full. */
  #noteCall(text: string): NotedCall | undefined {
    const notedCall = this.#notedCalls.get(text);
    if (notedCall !== undefined) return notedCall;
    if (this.#notedCalls.size === maxBatchCalls || this.#notedLength > maxBatchTextLength)
      return undefined;
    const call = new NotedCall(text, this);
    this.#notedCalls.set(text, call);
    this.#notedLength += text.length;
    return call;
  }

  #forgetNoted(): void {
    this.#notedCalls = new Map();
    this.#notedLength = 0;
  }

  /**
   * Returns the answers to the calls of a batch. If the batch fails, all answers are missing; a call that an evaluation needs is then made
   * alone, which shows the error.
   */
  #askBatch(texts: readonly string[]): BatchAnswers {
    const answers = outcomeOf(() => this.#ask({ batch: packStrings(texts) }) as PackedAnswers);
    return answers instanceof AppError ? [] : unpackAnswers(answers);
  }

  #keepCall(call: KnownCall): KnownCall {
    const { text, outcome } = call;
    this.#latestBytes +=
      text.length + (outcome instanceof AppError ? 100 : 2 * outcome.json.length) + 200;
    if (this.#latestBytes > maxCachedBytes / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#latestBytes = 0;
    }
    this.#latest.set(text, call);
    return call;
  }
}

/**
 * Returns the value that stands for an unknown answer of a dataset function: 0 for a count, an empty list for records or values of a field,
 * otherwise None. With 0 or an empty list, an evaluation gets further than with None.
 */
function emptyResultOf(name: string): PyValue {
  if (name === 'dataset_count' || name === 'dataset_field_terms_count') return 0;
  return name === 'dataset_query' || name === 'dataset_field_values' ? new PyList([]) : null;
}

/** Returns the result of `work`, or the `AppError` that it throws. */
function outcomeOf<T>(work: () => T): T | AppError {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function answerOrThrow({ outcome }: KnownCall): HostCallResult {
  if (outcome instanceof AppError) throw outcome;
  return outcome;
}

function valueOf(runtime: Runtime, call: KnownCall): PyValue {
  const answer = answerOrThrow(call);
  const { value } = call;
  if (value !== undefined) {
    chargeAnswerBudget(runtime, answer);
    return copyValue(value);
  }
  const answerValue = parseAnswerValue(runtime, answer);
  if (answer.json.length > maxKeptAnswerLength) return answerValue;
  call.value = answerValue;
  return copyValue(answerValue);
}

function parseAnswerValue(runtime: Runtime, answer: HostCallResult): PyValue {
  chargeAnswerBudget(runtime, answer);
  return answer.floats.reduce((one, path) => convertToFloats(one, path), valueOfJson(answer.json));
}

function chargeAnswerBudget(runtime: Runtime, { json }: HostCallResult): void {
  runtime.budget.chargeWorkspace(bytesPerCharacter * json.length);
  runtime.budget.charge(json.length >>> 6);
}

const batchFunctionNames: ReadonlySet<string> = new Set(batchFunctions);
