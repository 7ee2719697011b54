import { dataViewOf } from '../../engine/core/buffers.js';
import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import {
  gatherStrings,
  packStrings,
  unpackStrings,
  type PackedStrings,
} from '../../engine/core/packed-strings.js';
import { answerAt, gatherAnswers, hasAnswer, packAnswers } from './packed-answers.js';
import { SentCalls, createSentBatch, type SentCallTable, type SentBatch } from './sent-calls.js';
import { callText, callTextsOfTemplate } from './host-call-protocol.js';
import type { HostCallResult, HostBatch, HostCall, HostReply, HostRequest, PackedAnswers } from './host-call-protocol.js'; // prettier-ignore

/** A call or batch of calls of a dataset function by a job's expressions, which the worker process sends to the API process. */
export interface HostCallMessage {
  /** The number of the message within the attempt. */
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
 * Limit of the total size of the texts of calls and answers that are kept for one attempt at a job. If it is exceeded, all of them are
 * forgotten at the next request.
 */
const maxKeptBytes = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobHostCalls {
  readonly #send: (call: HostCallMessage) => void;
  readonly #waitingReplies = new Map<number, PromiseWithResolvers<HostReply>>();
  #sentCalls = new SentCalls();
  #keptLength = 0;
  #nextCall = 0;

  constructor(send: (call: HostCallMessage) => void) {
    this.#send = send;
  }

  /** Asks the host. Rejects with an `AppError` whose message users may see. */
  ask(request: HostRequest): Promise<HostReply> {
    return 'batch' in request ? this.#batch(request) : this.#call(request);
  }

  /** Receives an answer from the API process. */
  receiveAnswer({ call, outcome }: HostAnswerMessage): void {
    const waitingReply = this.#waitingReplies.get(call);
    this.#waitingReplies.delete(call);
    if (outcome.ok) waitingReply?.resolve(outcome.value);
    else waitingReply?.reject(fromErrorValue(outcome.error));
  }

  async #call(request: HostCall): Promise<HostCallResult> {
    const keptCalls = this.#currentCalls();
    const { calls, text } = keptCalls.findByCallText(callText(request));
    const texts = packStrings([text]);
    const textIndex = this.#addTexts(calls, texts)[0]!;
    const earlierBatch = calls.batches[textIndex];
    if (earlierBatch !== undefined) {
      const answers = earlierBatch.answers ?? (await earlierBatch.pendingAnswers);
      const answer = answerAt(answers, calls.indicesInBatch[textIndex]!);
      if (answer !== null) return answer;
      // While the answer was awaited, another thread may have made the same call, or all calls may have been forgotten.
      if (calls.batches[textIndex] !== earlierBatch || keptCalls !== this.#sentCalls)
        return this.#call(request);
    }
    const answer = this.#ask(request) as Promise<HostCallResult>;
    const ownBatch = createSentBatch(answer.then((one) => packAnswers([one])));
    calls.batches[textIndex] = ownBatch;
    calls.indicesInBatch[textIndex] = 0;
    ownBatch.pendingAnswers.then(
      (answers) => this.#keep(ownBatch, answers),
      () => this.#addKeptLength(100), // the caller gets the error from `answer`
    );
    return answer;
  }

  /**
   * Returns the answers to the calls of a batch. Calls that match a template in `SentCalls` are kept under it, even if they come as whole
   * texts.
   */
  async #batch({ batch, template }: HostBatch): Promise<PackedAnswers> {
    const keptCalls = this.#currentCalls();
    const callsOfTemplate = template && keptCalls.callsOfTemplate(template);
    if (callsOfTemplate !== undefined) return this.#answerTogether(callsOfTemplate, batch);
    const texts = unpackStrings(batch);
    const wholeTexts = template === undefined ? texts : callTextsOfTemplate(template, texts);
    if (!keptCalls.hasTemplates) {
      const wholeBatch = template === undefined ? batch : packStrings(wholeTexts);
      return this.#answerTogether(keptCalls.callsWithoutTemplate, wholeBatch);
    }
    const groups = new Map<SentCallTable, number[]>();
    const textsInTables = wholeTexts.map((one, i) => {
      const { calls, text } = keptCalls.findByCallText(one);
      const group = groups.get(calls);
      if (group === undefined) groups.set(calls, [i]);
      else group.push(i);
      return text;
    });
    const answers: PackedAnswers[] = [];
    const indicesInBatch: number[] = [];
    const pendingGroups = Array.from(groups, async ([calls, group]) => {
      const groupTexts = packStrings(group.map((i) => textsInTables[i]!));
      const groupAnswers = await this.#answerTogether(calls, groupTexts);
      for (const [at, i] of group.entries()) {
        answers[i] = groupAnswers;
        indicesInBatch[i] = at;
      }
    });
    await Promise.all(pendingGroups);
    return gatherAnswers(answers, indicesInBatch);
  }

  /** Returns the answers to calls: those already known, those that other threads wait for, and those that the API process gives now. */
  async #answerTogether(calls: SentCallTable, texts: PackedStrings): Promise<PackedAnswers> {
    const textIndices = this.#addTexts(calls, texts);
    const newIndices: number[] = [];
    for (let i = 0; i < textIndices.length; i++)
      if (calls.batches[textIndices[i]!] === undefined) newIndices.push(i);
    const ownBatch =
      newIndices.length === 0 ? null : createSentBatch(this.#askForCalls(calls, texts, newIndices));
    for (let at = 0; at < newIndices.length; at++) {
      calls.batches[textIndices[newIndices[at]!]!] = ownBatch!;
      calls.indicesInBatch[textIndices[newIndices[at]!]!] = at;
    }
    const batches = Array.from(textIndices, (textIndex) => calls.batches[textIndex]!);
    const indicesInBatch = textIndices.map((textIndex) => calls.indicesInBatch[textIndex]!);
    if (ownBatch !== null) {
      const answers = await ownBatch.pendingAnswers;
      this.#keep(ownBatch, answers);
      for (let at = 0; at < newIndices.length; at++) {
        const textIndex = textIndices[newIndices[at]!]!;
        if (!hasAnswer(answers, at) && calls.batches[textIndex] === ownBatch)
          calls.batches[textIndex] = undefined;
      }
      if (newIndices.length === textIndices.length) return answers;
    }
    const answers: (PackedAnswers | null)[] = [];
    for (const one of batches)
      answers.push(one.answers ?? (await one.pendingAnswers.catch(() => null)));
    return gatherAnswers(answers, indicesInBatch);
  }

  /** Returns the answers of the API process to the calls at `indices`. If the request fails, all of these answers are missing. */
  async #askForCalls(
    { template }: SentCallTable,
    texts: PackedStrings,
    indices: readonly number[],
  ): Promise<PackedAnswers> {
    const isAll = indices.length === texts.offsets.length - 1;
    const batch = isAll ? texts : gatherStrings(indices.map(() => texts), indices); // prettier-ignore
    try {
      return (await this.#ask({ batch, ...(template && { template }) })) as PackedAnswers;
    } catch {
      return packAnswers(indices.map(() => null));
    }
  }

  /** Returns the calls that are kept. When they exceed `maxKeptBytes`, all are forgotten first. */
  #currentCalls(): SentCalls {
    if (this.#keptLength > maxKeptBytes) {
      this.#sentCalls = new SentCalls();
      this.#keptLength = 0;
    }
    return this.#sentCalls;
  }

  /** Adds texts to those of a table, and returns the dictionary index of each. */
  #addTexts({ texts }: SentCallTable, { bytes, offsets }: PackedStrings): Int32Array {
    const view = dataViewOf(bytes);
    const lengthBefore = texts.byteLength;
    const textIndices = new Int32Array(offsets.length - 1);
    for (let i = 0; i < textIndices.length; i++)
      textIndices[i] = texts.addValue(view, offsets, i, i + 1);
    this.#addKeptLength(texts.byteLength - lengthBefore);
    return textIndices;
  }

  #ask(request: HostRequest): Promise<HostReply> {
    const call = this.#nextCall++;
    const waitingReply = Promise.withResolvers<HostReply>();
    this.#waitingReplies.set(call, waitingReply);
    this.#send({ call, request });
    return waitingReply.promise;
  }

  #keep(batch: SentBatch, answers: PackedAnswers): void {
    batch.answers = answers;
    this.#addKeptLength(answers.texts.bytes.length);
  }

  #addKeptLength(length: number): void {
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
