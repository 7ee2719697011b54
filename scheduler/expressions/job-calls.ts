import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import { packAnswers, packTexts, unpackAnswers, unpackTexts, type PackedAnswers, type PackedTexts } from './packed.js'; // prettier-ignore
import { callText, type BatchAnswers, type HostAnswer, type HostCall, type HostReply, type HostRequest } from './protocol.js'; // prettier-ignore

/** What the expressions of a job ask; the worker process sends it to the API process. */
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

/** A call that was made. */
interface MadeCall {
  /** The place of its answer among those of its batch, as long as they are not there. */
  readonly at: number;
  readonly answers: Promise<BatchAnswers>;
  answer: HostAnswer | null;
}

/** The JSON texts of answers that one attempt at a job keeps. */
const maxKeptLength = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobCalls {
  readonly #send: (call: JobCall) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostReply>>();
  readonly #known = new Map<string, MadeCall>();
  #keptLength = 0;
  #calls = 0;

  constructor(send: (call: JobCall) => void) {
    this.#send = send;
  }

  /** Asks the host. Rejects with an `AppError` for users. */
  ask(request: HostRequest): Promise<HostReply> {
    return 'batch' in request ? this.#batch(request.batch) : this.#call(request);
  }

  /** To be called with an answer of the API process. */
  answered({ call, outcome }: JobAnswer): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (outcome.ok) waiting?.resolve(outcome.value);
    else waiting?.reject(fromErrorValue(outcome.error));
  }

  async #call(request: HostCall): Promise<HostAnswer> {
    const key = callText(request);
    const before = this.#known.get(key);
    const known = before && (await answerOf(before));
    if (known) return known;
    // Meanwhile, another thread may have begun the same call.
    if (this.#known.get(key) !== before) return this.#call(request);
    const answer = this.#ask(request) as Promise<HostAnswer>;
    const answers = answer.then((one) => [one]);
    answers.catch(() => undefined); // whoever asked for the answer gets the error
    const made: MadeCall = { at: 0, answers, answer: null };
    this.#known.set(key, made);
    answer.then(
      (one) => this.#keep(key, made, one),
      () => this.#count(key, 100),
    );
    return answer;
  }

  /** The answers that are known, that other threads wait for, and that the API process gives. */
  async #batch(batch: PackedTexts): Promise<PackedAnswers> {
    const keys = unpackTexts(batch);
    const calls = keys.map((key) => this.#known.get(key));
    const open = keys.filter((_, i) => calls[i] === undefined);
    if (open.length > 0) {
      const answers = this.#answersOf(open);
      let at = 0;
      for (let i = 0; i < keys.length; i++) {
        if (calls[i] !== undefined) continue;
        const made = { at: at++, answers, answer: null };
        calls[i] = made;
        this.#known.set(keys[i]!, made);
      }
      const given = await answers;
      for (let i = 0; i < keys.length; i++) {
        const made = calls[i]!;
        if (made.answers !== answers) continue;
        const answer = given[made.at];
        if (answer) this.#keep(keys[i]!, made, answer);
        else if (this.#known.get(keys[i]!) === made) this.#known.delete(keys[i]!);
      }
    }
    const all: (HostAnswer | null)[] = [];
    for (const made of calls) all.push(made!.answer ?? (await answerOf(made!).catch(() => null)));
    return packAnswers(all);
  }

  /** The answers of the API process to a batch. If it fails, its calls are made alone; they tell why. */
  async #answersOf(texts: readonly string[]): Promise<BatchAnswers> {
    try {
      return unpackAnswers((await this.#ask({ batch: packTexts(texts) })) as PackedAnswers);
    } catch {
      return [];
    }
  }

  #ask(request: HostRequest): Promise<HostReply> {
    const call = this.#calls++;
    const waiting = Promise.withResolvers<HostReply>();
    this.#waiting.set(call, waiting);
    this.#send({ call, request });
    return waiting.promise;
  }

  #keep(key: string, made: MadeCall, answer: HostAnswer): void {
    made.answer = answer;
    this.#count(key, answer.json.length);
  }

  #count(key: string, length: number): void {
    this.#keptLength += key.length + length;
    if (this.#keptLength > maxKeptLength) this.#known.delete(key);
  }
}

/** The answer to a call; null if that was in a batch and the call has to be made alone. */
async function answerOf({ answer, answers, at }: MadeCall): Promise<HostAnswer | null> {
  return answer ?? (await answers)[at] ?? null;
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
    const known = error instanceof AppError ? error : new AppError('internal', 'Internal server error'); // prettier-ignore
    return { call, outcome: { ok: false, error: toErrorValue(known) } };
  }
}
