import type { CallForm, PackedAnswers } from './protocol.js';
import { ValueTable } from './value-table.js';

/** Calls that were sent together, or a single call. */
export interface SentBatch {
  readonly asked: Promise<PackedAnswers>;
  /** The result of `asked`; null until it resolves. */
  answers: PackedAnswers | null;
}

/** The batch of calls that are in progress. */
export function sentBatch(asked: Promise<PackedAnswers>): SentBatch {
  return { asked, answers: null };
}

/** Calls of one form, found by the texts that they differ in, or those without a form, found by whole texts. */
export interface CallsOfForm {
  readonly form?: CallForm;
  readonly texts: ValueTable;
  /** The batch in which each call was sent, by code of its text, and its index in the batch. */
  readonly sent: (SentBatch | undefined)[];
  readonly places: number[];
}

/** The calls that an attempt at a job made. The same call is always found in the same way, whether it came with a form or as a text. */
export class MadeCalls {
  readonly whole: CallsOfForm = emptyCalls();
  readonly #ofForms: Required<CallsOfForm>[] = [];

  get hasForms(): boolean {
    return this.#ofForms.length > 0;
  }

  /** The calls of a form; undefined if some may be stored in another way, so that their whole texts have to be looked up. */
  ofForm(form: CallForm): CallsOfForm | undefined {
    const knownForm = this.#ofForms.find((one) => isSame(one.form, form));
    if (knownForm !== undefined) return knownForm;
    if (this.whole.texts.size > 0 || this.#ofForms.some((one) => mayShare(one.form, form)))
      return undefined;
    const calls = { form, ...emptyCalls() };
    this.#ofForms.push(calls);
    return calls;
  }

  /** The calls that a text belongs to, and the text under which they are stored. */
  ofText(text: string): { readonly calls: CallsOfForm; readonly text: string } {
    for (const calls of this.#ofForms) {
      const { before, after } = calls.form;
      const inner = text.slice(before.length, text.length - after.length);
      // Two texts of JSON that begin and end alike may differ in more than one text.
      if (text.startsWith(before) && text.endsWith(after) && isText(inner))
        return { calls, text: inner };
    }
    return { calls: this.whole, text };
  }
}

function emptyCalls(): CallsOfForm {
  return { texts: new ValueTable(), sent: [], places: [] };
}

function isSame(one: CallForm, other: CallForm): boolean {
  return one.before === other.before && one.after === other.after;
}

/** Whether a call may have both forms. */
function mayShare(one: CallForm, other: CallForm): boolean {
  const beginAlike = one.before.startsWith(other.before) || other.before.startsWith(one.before);
  return beginAlike && (one.after.endsWith(other.after) || other.after.endsWith(one.after));
}

/** Whether a part of a JSON text is a string. */
function isText(part: string): boolean {
  return /^"(?:[^"\\]|\\.)*"$/s.test(part);
}
