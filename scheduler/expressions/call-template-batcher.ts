import { AppError } from '../../engine/core/errors.js';
import { packLiterals, stringAt, type PackedStrings } from '../../engine/core/packed-strings.js'; // prettier-ignore
import type { PendingCall, TemplateCallAnswers, CallsSharingTemplate } from '../../engine/expression/values/python-values.js'; // prettier-ignore
import {
  callTextsOfTemplate,
  type CallTemplate,
  type HostCallResult,
  type HostBatch,
  type HostReply,
  type PackedAnswers,
} from './host-call-protocol.js';
import { answerAt, packAnswers } from './packed-answers.js';

/** Creates a call from its text and its answer. */
type CreateAnsweredCall = (text: string, answer: HostCallResult | null) => PendingCall;

/** Sends the calls of a thread that share a template. Each answer is decoded only when it is read. */
export class CallTemplateBatcher implements CallsSharingTemplate {
  readonly #template: CallTemplate;
  readonly #ask: (request: HostBatch) => HostReply;
  readonly #createCall: CreateAnsweredCall;

  constructor(
    template: CallTemplate,
    ask: (request: HostBatch) => HostReply,
    createCall: CreateAnsweredCall,
  ) {
    this.#template = template;
    this.#ask = ask;
    this.#createCall = createCall;
  }

  get key(): string {
    return JSON.stringify(this.#template);
  }

  answers(texts: PackedStrings, indices: readonly number[]): TemplateCallAnswers {
    const literals = packLiterals(texts, indices);
    const answers = this.#askForAnswers(literals);
    return {
      texts: answers.texts,
      call: (at) => {
        const [text] = callTextsOfTemplate(this.#template, [stringAt(literals, at)]);
        return this.#createCall(text!, answerAt(answers, at));
      },
    };
  }

  /** Returns the answers to a batch. If the batch fails, all of them are missing. */
  #askForAnswers(batch: PackedStrings): PackedAnswers {
    try {
      return this.#ask({ batch, template: this.#template }) as PackedAnswers;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return packAnswers(Array.from({ length: batch.offsets.length - 1 }, () => null));
    }
  }
}
