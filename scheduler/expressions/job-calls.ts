import { AppError, fromErrorValue, toErrorValue } from '../../engine/core/errors.js';
import type { Outcome } from '../../engine/core/outcome.js';
import {
  gatherTexts,
  lengthAt,
  packTexts,
  type PackedTexts,
} from '../../engine/core/packed-texts.js';
import { gatherAnswers, hasAnswer, packAnswers, unpackAnswers } from './packed.js';
import type { AnswerPlace } from './packed.js';
import { callText } from './protocol.js';
import type { HostAnswer, HostCall, HostReply, HostRequest, PackedAnswers } from './protocol.js';
import { ValueTable } from './value-table.js';

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
interface SentCall {
  /** The place of its answer among those of its batch. */
  readonly at: number;
  readonly asked: Promise<PackedAnswers>;
  /** What `asked` gave; null before. */
  answers: PackedAnswers | null;
}

/** The bytes of the texts of calls and answers that one attempt at a job keeps; then all are forgotten. */
const maxKeptLength = 64_000_000;

/**
 * The calls of one attempt at a job, in the worker process. The same function with the same arguments has the same answer throughout the
 * attempt, also while the first call is not answered yet, until there are too many answers to keep.
 */
export class JobCalls {
  readonly #send: (call: JobCall) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<HostReply>>();
  /** The texts of the calls, and the calls by the codes of these. */
  #texts = new ValueTable();
  #made: (SentCall | undefined)[] = [];
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
    const text = packTexts([callText(request)]);
    const before = this.#made[this.#codes(text)[0]!];
    if (before !== undefined) {
      const answers = before.answers ?? (await before.asked);
      const place = { answers, at: before.at };
      if (hasAnswer(place)) return unpackAnswers(gatherAnswers([place]))[0]!;
    }
    const code = this.#codes(text)[0]!;
    // Meanwhile, another thread may have begun the same call.
    if (this.#made[code] !== before) return this.#call(request);
    const answer = this.#ask(request) as Promise<HostAnswer>;
    const asked = answer.then((one) => packAnswers([one]));
    const made: SentCall = { at: 0, asked, answers: null };
    this.#made[code] = made;
    asked.then(
      (answers) => this.#keep(made, answers),
      () => this.#count(100), // whoever asked for the answer gets the error
    );
    return answer;
  }

  /** The answers that are known, that other threads wait for, and that the API process gives. */
  async #batch(texts: PackedTexts): Promise<PackedAnswers> {
    const codes = this.#codes(texts);
    const open: number[] = [];
    for (let i = 0; i < codes.length; i++) if (this.#made[codes[i]!] === undefined) open.push(i);
    const asked = open.length === 0 ? null : this.#asked(texts, open);
    for (let at = 0; at < open.length; at++)
      this.#made[codes[open[at]!]!] = { at, asked: asked!, answers: null };
    const calls = Array.from(codes, (code) => this.#made[code]!);
    if (asked !== null) {
      const [made, answers] = [this.#made, await asked];
      for (const i of open) {
        const call = calls[i]!;
        if (hasAnswer({ answers, at: call.at })) this.#keep(call, answers);
        else if (made[codes[i]!] === call) made[codes[i]!] = undefined;
      }
    }
    const places: (AnswerPlace | null)[] = [];
    for (const { at, asked: others, answers } of calls) {
      const given = answers ?? (await others.catch(() => null));
      places.push(given && { answers: given, at });
    }
    return gatherAnswers(places);
  }

  /** The answers of the API process to some calls. If it fails, they are made alone; they tell why. */
  async #asked(texts: PackedTexts, some: readonly number[]): Promise<PackedAnswers> {
    const batch = gatherTexts(some.map((at) => ({ texts, at })));
    try {
      return (await this.#ask({ batch })) as PackedAnswers;
    } catch {
      return packAnswers(some.map(() => null));
    }
  }

  #codes({ bytes, offsets }: PackedTexts): Int32Array {
    if (this.#keptLength > maxKeptLength) {
      this.#texts = new ValueTable();
      this.#made = [];
      this.#keptLength = 0;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const before = this.#texts.byteLength;
    const codes = new Int32Array(offsets.length - 1);
    for (let i = 0; i < codes.length; i++) codes[i] = this.#texts.code(view, offsets, i, i + 1);
    this.#count(this.#texts.byteLength - before);
    return codes;
  }

  #ask(request: HostRequest): Promise<HostReply> {
    const call = this.#calls++;
    const waiting = Promise.withResolvers<HostReply>();
    this.#waiting.set(call, waiting);
    this.#send({ call, request });
    return waiting.promise;
  }

  #keep(made: SentCall, answers: PackedAnswers): void {
    made.answers = answers;
    this.#count(lengthAt(answers.texts, made.at));
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
    const known = error instanceof AppError ? error : new AppError('internal', 'Internal server error'); // prettier-ignore
    return { call, outcome: { ok: false, error: toErrorValue(known) } };
  }
}
