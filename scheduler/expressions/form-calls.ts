import { AppError } from '../../engine/core/errors.js';
import { packLiterals, textAt, type PackedTexts } from '../../engine/core/packed-texts.js'; // prettier-ignore
import type { PendingCall, SameTemplateAnswers, SameTemplateCalls } from '../../engine/expression/values/python-values.js'; // prettier-ignore
import {
  textsOfForm,
  type CallForm,
  type HostCallResult,
  type HostBatch,
  type HostReply,
  type PackedAnswers,
} from './host-call-protocol.js';
import { answerAt, packAnswers } from './packed.js';

/** Creates a call from its text and its answer. */
type CreateAnsweredCall = (text: string, answer: HostCallResult | null) => PendingCall;

/** The calls of one thread that differ in one argument only (`CallForm`). An argument or answer is decoded only when it is read. */
export class CallFormBatcher implements SameTemplateCalls {
  readonly #form: CallForm;
  readonly #ask: (request: HostBatch) => HostReply;
  readonly #answered: CreateAnsweredCall;

  constructor(
    form: CallForm,
    ask: (request: HostBatch) => HostReply,
    answered: CreateAnsweredCall,
  ) {
    this.#form = form;
    this.#ask = ask;
    this.#answered = answered;
  }

  get key(): string {
    return JSON.stringify(this.#form);
  }

  answers(texts: PackedTexts, some: readonly number[]): SameTemplateAnswers {
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

  /** Returns the answers to a batch. If the batch fails, all answers are null; each call is then made alone, which shows the error. */
  #asked(batch: PackedTexts): PackedAnswers {
    try {
      return this.#ask({ batch, form: this.#form }) as PackedAnswers;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return packAnswers(Array.from({ length: batch.offsets.length - 1 }, () => null));
    }
  }
}
