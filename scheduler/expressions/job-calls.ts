import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import type { HostAnswer, HostCall } from './protocol.js';

/** A call of a function of the host by an expression of a job; the worker process sends it to the API process. */
export interface JobCall {
  /** Number of the call within the attempt. */
  readonly call: number;
  readonly request: HostCall;
}

/** The answer to a call. */
export interface JobAnswer {
  readonly call: number;
  readonly outcome: Outcome<HostAnswer>;
}

/** Answers the functions of the host with the rights of a user; the signal aborts when nobody waits any more. */
export type AnswerCall = (
  userId: number,
  call: HostCall,
  signal: AbortSignal,
) => Promise<HostAnswer>;

/** The JSON texts of answers that one attempt at a job keeps. */
const maxKeptLength = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobCalls {
  readonly #send: (call: JobCall) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostAnswer>>();
  readonly #known = new Map<string, Promise<HostAnswer>>();
  #keptLength = 0;
  #calls = 0;

  constructor(send: (call: JobCall) => void) {
    this.#send = send;
  }

  /** Calls a function of the host. Rejects with an `AppError` for users. */
  call(request: HostCall): Promise<HostAnswer> {
    const key = `${request.name}${request.args}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const call = this.#calls++;
    const waiting = Promise.withResolvers<HostAnswer>();
    this.#waiting.set(call, waiting);
    this.#known.set(key, waiting.promise);
    const settled = (length: number): void => {
      this.#keptLength += key.length + length;
      if (this.#keptLength > maxKeptLength) this.#known.delete(key);
    };
    waiting.promise.then(
      ({ json }) => settled(json.length),
      () => settled(100),
    );
    this.#send({ call, request });
    return waiting.promise;
  }

  /** To be called with an answer of the API process. */
  answered({ call, outcome }: JobAnswer): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (outcome.ok) waiting?.resolve(outcome.value);
    else waiting?.reject(fromErrorValue(outcome.error));
  }
}

/** Answers a call in the API process. Errors that are not for users become `internal`. */
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
