import { AppError } from '../../engine/core/errors.js';
import { packLiterals, textAt, type PackedTexts } from '../../engine/core/packed-texts.js'; // prettier-ignore
import type { MissedCall, UniformAnswers, UniformCalls } from '../../engine/expression/values/values.js'; // prettier-ignore
import {
  textsOfForm,
  type CallForm,
  type HostAnswer,
  type HostBatch,
  type HostReply,
  type PackedAnswers,
} from './protocol.js';
import { answerAt, packAnswers } from './packed.js';

/** Makes a call that has been answered. */
type AnsweredCall = (text: string, answer: HostAnswer | null) => MissedCall;

/** The calls of one thread that differ in one argument only (`CallForm`). Arguments and answers are decoded only when one is read. */
export class FormCalls implements UniformCalls {
  readonly #form: CallForm;
  readonly #ask: (request: HostBatch) => HostReply;
  readonly #answered: AnsweredCall;

  constructor(form: CallForm, ask: (request: HostBatch) => HostReply, answered: AnsweredCall) {
    this.#form = form;
    this.#ask = ask;
    this.#answered = answered;
  }

  get key(): string {
    return JSON.stringify(this.#form);
  }

  answers(texts: PackedTexts, some: readonly number[]): UniformAnswers {
    const literals = packLiterals(texts, some);
    const answers = this.#asked(literals);
    return {
      texts: answers.texts,
      call: (at) => {
        const [text] = textsOfForm(this.#form, [textAt(literals, at)]);
        return this.#answered(text!, answerAt(answers, at));
      },
    };
  }

  /** The answers to a batch. If the batch fails, each call is made alone, which shows the error. */
  #asked(batch: PackedTexts): PackedAnswers {
    try {
      return this.#ask({ batch, form: this.#form }) as PackedAnswers;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return packAnswers(Array.from({ length: batch.offsets.length - 1 }, () => null));
    }
  }
}
