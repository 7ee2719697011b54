import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import {
  gatherTexts,
  packTexts,
  unpackTexts,
  type PackedTexts,
} from '../../engine/core/packed-texts.js';
import { answerAt, gatherAnswers, hasAnswer, packAnswers } from './packed.js';
import { MadeCalls, sentBatch, type CallsOfForm, type SentBatch } from './made-calls.js';
import { callText, textsOfForm } from './protocol.js';
import type { HostAnswer, HostBatch, HostCall, HostReply, HostRequest, PackedAnswers } from './protocol.js'; // prettier-ignore

/** A call of a job's expressions, which the worker process sends to the API process. */
export interface JobCall {
  /** Number of the question within the attempt. */
  readonly call: number;
  readonly request: HostRequest;
}

/** The answer to a `JobCall`. */
export interface JobAnswer {
  readonly call: number;
  readonly outcome: Outcome<HostReply>;
}

/** Answers what expressions ask with the rights of a user; the signal aborts when nobody waits any more. */
export type AnswerCall = (
  userId: number,
  request: HostRequest,
  signal: AbortSignal,
) => Promise<HostReply>;

/** The bytes of the texts of calls and answers that one attempt at a job keeps; then all are forgotten. */
const maxKeptLength = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobCalls {
  readonly #send: (call: JobCall) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostReply>>();
  #made = new MadeCalls();
  #keptLength = 0;
  #calls = 0;

  constructor(send: (call: JobCall) => void) {
    this.#send = send;
  }

  /** Asks the host. Rejects with an `AppError` for users. */
  ask(request: HostRequest): Promise<HostReply> {
    return 'batch' in request ? this.#batch(request) : this.#call(request);
  }

  /** Takes an answer of the API process. */
  answered({ call, outcome }: JobAnswer): void {
    const waitingCall = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (outcome.ok) waitingCall?.resolve(outcome.value);
    else waitingCall?.reject(fromErrorValue(outcome.error));
  }

  async #call(request: HostCall): Promise<HostAnswer> {
    const keptAnswers = this.#kept();
    const { calls, text } = keptAnswers.ofText(callText(request));
    const texts = packTexts([text]);
    const code = this.#codes(calls, texts)[0]!;
    const before = calls.sent[code];
    if (before !== undefined) {
      const answers = before.answers ?? (await before.asked);
      const answer = answerAt(answers, calls.places[code]!);
      if (answer !== null) return answer;
      // Meanwhile, another thread may have begun the same call, or all calls were forgotten.
      if (calls.sent[code] !== before || keptAnswers !== this.#made) return this.#call(request);
    }
    const answer = this.#ask(request) as Promise<HostAnswer>;
    const sentAnswers = sentBatch(answer.then((one) => packAnswers([one])));
    calls.sent[code] = sentAnswers;
    calls.places[code] = 0;
    sentAnswers.asked.then(
      (answers) => this.#keep(sentAnswers, answers),
      () => this.#count(100), // the caller gets the error from `answer`
    );
    return answer;
  }

  /** The answers to the calls of a batch. Calls with a form are kept by their form, even if they were sent as texts. */
  async #batch({ batch, form }: HostBatch): Promise<PackedAnswers> {
    const keptAnswers = this.#kept();
    const knownForm = form && keptAnswers.ofForm(form);
    if (knownForm !== undefined) return this.#together(knownForm, batch);
    const texts = unpackTexts(batch);
    const wholeTexts = form === undefined ? texts : textsOfForm(form, texts);
    if (!keptAnswers.hasForms) return this.#together(keptAnswers.whole, form === undefined ? batch : packTexts(wholeTexts)); // prettier-ignore
    const groups = new Map<CallsOfForm, number[]>();
    const ownCalls = wholeTexts.map((one, i) => {
      const { calls, text } = keptAnswers.ofText(one);
      const group = groups.get(calls);
      if (group === undefined) groups.set(calls, [i]);
      else group.push(i);
      return text;
    });
    const answers: PackedAnswers[] = [];
    const places: number[] = [];
    const askedGroups = Array.from(groups, async ([calls, group]) => {
      const found = await this.#together(calls, packTexts(group.map((i) => ownCalls[i]!)));
      for (const [at, i] of group.entries()) {
        answers[i] = found;
        places[i] = at;
      }
    });
    await Promise.all(askedGroups);
    return gatherAnswers(answers, places);
  }

  /** The answers that are known, that other threads wait for, and that the API process gives. */
  async #together(kept: CallsOfForm, texts: PackedTexts): Promise<PackedAnswers> {
    const codes = this.#codes(kept, texts);
    const open: number[] = [];
    for (let i = 0; i < codes.length; i++) if (kept.sent[codes[i]!] === undefined) open.push(i);
    const ownBatch = open.length === 0 ? null : sentBatch(this.#asked(kept, texts, open));
    for (let at = 0; at < open.length; at++) {
      kept.sent[codes[open[at]!]!] = ownBatch!;
      kept.places[codes[open[at]!]!] = at;
    }
    const sentCalls = Array.from(codes, (code) => kept.sent[code]!);
    const places = codes.map((code) => kept.places[code]!);
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
    return gatherAnswers(answers, places);
  }

  /** The answers of the API process to some calls. If the request fails, each call is made alone, which shows the error. */
  async #asked(
    { form }: CallsOfForm,
    texts: PackedTexts,
    some: readonly number[],
  ): Promise<PackedAnswers> {
    const isAll = some.length === texts.offsets.length - 1;
    const batch = isAll ? texts : gatherTexts(some.map(() => texts), some); // prettier-ignore
    try {
      return (await this.#ask({ batch, ...(form && { form }) })) as PackedAnswers;
    } catch {
      return packAnswers(some.map(() => null));
    }
  }

  /** The calls that are kept. They are forgotten when they take too much. */
  #kept(): MadeCalls {
    if (this.#keptLength > maxKeptLength) {
      this.#made = new MadeCalls();
      this.#keptLength = 0;
    }
    return this.#made;
  }

  #codes({ texts }: CallsOfForm, { bytes, offsets }: PackedTexts): Int32Array {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const before = texts.byteLength;
    const codes = new Int32Array(offsets.length - 1);
    for (let i = 0; i < codes.length; i++) codes[i] = texts.code(view, offsets, i, i + 1);
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

/** Answers what a job asks, in the API process. Errors that are not for users become `internal`. */
export async function answerJobCall(
  answer: AnswerCall,
  userId: number,
  { call, request }: JobCall,
  signal: AbortSignal,
): Promise<JobAnswer> {
  try {
    return { call, outcome: { ok: true, value: await answer(userId, request, signal) } };
  } catch (error) {
    const knownError = error instanceof AppError ? error : new AppError('internal', 'Internal server error'); // prettier-ignore
    return { call, outcome: { ok: false, error: toErrorValue(knownError) } };
  }
}
