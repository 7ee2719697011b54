import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import type { BatchAnswers, HostAnswer, HostCall, HostReply, HostRequest } from './protocol.js';

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

/** The JSON texts of answers that one attempt at a job keeps. */
const maxKeptLength = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobCalls {
  readonly #send: (call: JobCall) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostReply>>();
  /** Answers, or calls that are not answered yet: null if that was in a batch and they have to be made alone. */
  readonly #known = new Map<string, HostAnswer | Promise<HostAnswer | null>>();
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
    const key = callKey(request);
    const before = this.#known.get(key);
    const known = await before;
    if (known) return known;
    // Meanwhile, another thread may have begun the same call.
    if (this.#known.get(key) !== before) return this.#call(request);
    const answer = this.#ask(request) as Promise<HostAnswer>;
    this.#known.set(key, answer);
    answer.then(
      (one) => this.#keep(key, one),
      () => this.#count(key, 100),
    );
    return answer;
  }

  /** The answers that are known, that other threads wait for, and that the API process gives. */
  async #batch(batch: readonly HostCall[]): Promise<BatchAnswers> {
    const found = batch.map((call) => this.#known.get(callKey(call)));
    const open = batch.filter((_, i) => found[i] === undefined);
    const known = found.filter((one) => one !== undefined);
    const answers = open.length > 0 ? await this.#newBatch(open) : [];
    const earlier = await Promise.all(known.map((one) => Promise.resolve(one).catch(() => null)));
    let [next, nextEarlier] = [0, 0];
    return found.map((one) => (one ? earlier[nextEarlier++]! : (answers[next++] ?? null)));
  }

  async #newBatch(batch: readonly HostCall[]): Promise<BatchAnswers> {
    // If the batch fails, its calls are made alone; they tell why.
    const asked = (this.#ask({ batch }) as Promise<BatchAnswers>).catch((): BatchAnswers => []);
    const pending = batch.map((call, i): [string, Promise<HostAnswer | null>] => [
      callKey(call),
      asked.then((answers) => answers[i] ?? null),
    ]);
    for (const [key, answer] of pending) this.#known.set(key, answer);
    const answers = await asked;
    for (const [i, [key, answer]] of pending.entries()) {
      if (this.#known.get(key) !== answer) continue;
      if (answers[i]) this.#keep(key, answers[i]);
      else this.#known.delete(key);
    }
    return answers;
  }

  #ask(request: HostRequest): Promise<HostReply> {
    const call = this.#calls++;
    const waiting = Promise.withResolvers<HostReply>();
    this.#waiting.set(call, waiting);
    this.#send({ call, request });
    return waiting.promise;
  }

  #keep(key: string, answer: HostAnswer): void {
    this.#known.set(key, answer);
    this.#count(key, answer.json.length);
  }

  #count(key: string, length: number): void {
    this.#keptLength += key.length + length;
    if (this.#keptLength > maxKeptLength) this.#known.delete(key);
  }
}

/** Equal for calls of the same function with the same arguments. */
function callKey({ name, args }: HostCall): string {
  return name + args;
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
