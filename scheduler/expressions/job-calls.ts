import { dataViewOf } from '../../engine/core/buffers.js';
import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import {
  gatherStrings,
  packStrings,
  unpackStrings,
  type PackedStrings,
} from '../../engine/core/packed-strings.js';
import { answerAt, gatherAnswers, hasAnswer, packAnswers } from './packed.js';
import { SentCalls, sentBatch, type SentCallTable, type SentBatch } from './sent-calls.js';
import { callText, callTextsOfTemplate } from './host-call-protocol.js';
import type { HostCallResult, HostBatch, HostCall, HostReply, HostRequest, PackedAnswers } from './host-call-protocol.js'; // prettier-ignore

/** A call or batch of calls of a dataset function by a job's expressions, which the worker process sends to the API process. */
export interface HostCallMessage {
  /** The number of the call within the attempt. */
  readonly call: number;
  readonly request: HostRequest;
}

/** The answer to a `HostCallMessage`. */
export interface HostAnswerMessage {
  readonly call: number;
  readonly outcome: Outcome<HostReply>;
}

/** Answers calls of expressions with the permissions of a user; the signal aborts when nobody waits for the answer any more. */
export type AnswerHostRequest = (
  userId: number,
  request: HostRequest,
  signal: AbortSignal,
) => Promise<HostReply>;

/**
 * Maximum total size of the texts of calls and answers that are kept for one attempt at a job. When it is exceeded, all of them are
 * forgotten.
 */
const maxKeptBytes = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobHostCalls {
  readonly #send: (call: HostCallMessage) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostReply>>();
  #made = new SentCalls();
  #keptLength = 0;
  #calls = 0;

  constructor(send: (call: HostCallMessage) => void) {
    this.#send = send;
  }

  /** Asks the host. Rejects with an `AppError` whose message users may see. */
  ask(request: HostRequest): Promise<HostReply> {
    return 'batch' in request ? this.#batch(request) : this.#call(request);
  }

  /** Receives an answer from the API process. */
  receiveAnswer({ call, outcome }: HostAnswerMessage): void {
    const waitingCall = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (outcome.ok) waitingCall?.resolve(outcome.value);
    else waitingCall?.reject(fromErrorValue(outcome.error));
  }

  async #call(request: HostCall): Promise<HostCallResult> {
    const keptAnswers = this.#kept();
    const { calls, text } = keptAnswers.findByCallText(callText(request));
    const texts = packStrings([text]);
    const code = this.#codes(calls, texts)[0]!;
    const before = calls.sent[code];
    if (before !== undefined) {
      const answers = before.answers ?? (await before.asked);
      const answer = answerAt(answers, calls.batchIndices[code]!);
      if (answer !== null) return answer;
      // While the answer was awaited, another thread may have made the same call, or all calls may have been forgotten.
      if (calls.sent[code] !== before || keptAnswers !== this.#made) return this.#call(request);
    }
    const answer = this.#ask(request) as Promise<HostCallResult>;
    const sentAnswers = sentBatch(answer.then((one) => packAnswers([one])));
    calls.sent[code] = sentAnswers;
    calls.batchIndices[code] = 0;
    sentAnswers.asked.then(
      (answers) => this.#keep(sentAnswers, answers),
      () => this.#count(100), // the caller gets the error from `answer`
    );
    return answer;
  }

  /**
   * Returns the answers to the calls of a batch. Calls that match a `CallTemplate` are kept under it, even if they were sent as whole
   * texts.
   */
  async #batch({ batch, template }: HostBatch): Promise<PackedAnswers> {
    const keptAnswers = this.#kept();
    const callsOfTemplate = template && keptAnswers.callsOfTemplate(template);
    if (callsOfTemplate !== undefined) return this.#together(callsOfTemplate, batch);
    const texts = unpackStrings(batch);
    const wholeTexts = template === undefined ? texts : callTextsOfTemplate(template, texts);
    if (!keptAnswers.hasTemplates) return this.#together(keptAnswers.callsWithoutTemplate, template === undefined ? batch : packStrings(wholeTexts)); // prettier-ignore
    const groups = new Map<SentCallTable, number[]>();
    const ownCalls = wholeTexts.map((one, i) => {
      const { calls, text } = keptAnswers.findByCallText(one);
      const group = groups.get(calls);
      if (group === undefined) groups.set(calls, [i]);
      else group.push(i);
      return text;
    });
    const answers: PackedAnswers[] = [];
    const batchIndices: number[] = [];
    const askedGroups = Array.from(groups, async ([calls, group]) => {
      const found = await this.#together(calls, packStrings(group.map((i) => ownCalls[i]!)));
      for (const [at, i] of group.entries()) {
        answers[i] = found;
        batchIndices[i] = at;
      }
    });
    await Promise.all(askedGroups);
    return gatherAnswers(answers, batchIndices);
  }

  /** Returns the answers to calls: those already known, those that other threads wait for, and those that the API process gives now. */
  async #together(kept: SentCallTable, texts: PackedStrings): Promise<PackedAnswers> {
    const codes = this.#codes(kept, texts);
    const open: number[] = [];
    for (let i = 0; i < codes.length; i++) if (kept.sent[codes[i]!] === undefined) open.push(i);
    const ownBatch = open.length === 0 ? null : sentBatch(this.#asked(kept, texts, open));
    for (let at = 0; at < open.length; at++) {
      kept.sent[codes[open[at]!]!] = ownBatch!;
      kept.batchIndices[codes[open[at]!]!] = at;
    }
    const sentCalls = Array.from(codes, (code) => kept.sent[code]!);
    const batchIndices = codes.map((code) => kept.batchIndices[code]!);
    if (ownBatch !== null) {
      const answers = await ownBatch.asked;
      this.#keep(ownBatch, answers);
      for (let at = 0; at < open.length; at++) {
        const code = codes[open[at]!]!;
        if (!hasAnswer(answers, at) && kept.sent[code] === ownBatch) kept.sent[code] = undefined;
      }
      if (open.length === codes.length) return answers;
    }
    const answers: (PackedAnswers | null)[] = [];
    for (const one of sentCalls) answers.push(one.answers ?? (await one.asked.catch(() => null)));
    return gatherAnswers(answers, batchIndices);
  }

  /** Returns the answers of the API process to some calls. If the request fails, each call is made alone, which shows the error. */
  async #asked(
    { template }: SentCallTable,
    texts: PackedStrings,
    some: readonly number[],
  ): Promise<PackedAnswers> {
    const isAll = some.length === texts.offsets.length - 1;
    const batch = isAll ? texts : gatherStrings(some.map(() => texts), some); // prettier-ignore
    try {
      return (await this.#ask({ batch, ...(template && { template }) })) as PackedAnswers;
    } catch {
      return packAnswers(some.map(() => null));
    }
  }

  /** Returns the calls that are kept. When they exceed `maxKeptBytes`, all are forgotten first. */
  #kept(): SentCalls {
    if (this.#keptLength > maxKeptBytes) {
      this.#made = new SentCalls();
      this.#keptLength = 0;
    }
    return this.#made;
  }

  #codes({ texts }: SentCallTable, { bytes, offsets }: PackedStrings): Int32Array {
    const view = dataViewOf(bytes);
    const before = texts.byteLength;
    const codes = new Int32Array(offsets.length - 1);
    for (let i = 0; i < codes.length; i++) codes[i] = texts.addValueCode(view, offsets, i, i + 1);
    this.#count(texts.byteLength - before);
    return codes;
  }

  #ask(request: HostRequest): Promise<HostReply> {
    const call = this.#calls++;
    const waitingReply = Promise.withResolvers<HostReply>();
    this.#waiting.set(call, waitingReply);
    this.#send({ call, request });
    return waitingReply.promise;
  }

  #keep(sent: SentBatch, answers: PackedAnswers): void {
    sent.answers = answers;
    this.#count(answers.texts.bytes.length);
  }

  #count(length: number): void {
    this.#keptLength += length;
  }
}

/** Answers a call of a job's expressions, in the API process. Errors that are not meant for users become `internal`. */
export async function answerJobCall(
  answer: AnswerHostRequest,
  userId: number,
  { call, request }: HostCallMessage,
  signal: AbortSignal,
): Promise<HostAnswerMessage> {
  try {
    return { call, outcome: { ok: true, value: await answer(userId, request, signal) } };
  } catch (error) {
    const knownError = error instanceof AppError ? error : new AppError('internal', 'Internal server error'); // prettier-ignore
    return { call, outcome: { ok: false, error: toErrorValue(knownError) } };
  }
}
