import type { CallTemplate, PackedAnswers } from './host-call-protocol.js';
import { ValueTable } from './columns/value-table.js';

/** Calls that were sent together, or a single call. */
export interface SentBatch {
  readonly pendingAnswers: Promise<PackedAnswers>;
  /** The result of `pendingAnswers`; null until it resolves. */
  answers: PackedAnswers | null;
}

/** Returns a batch whose answers are not known yet. */
export function createSentBatch(pendingAnswers: Promise<PackedAnswers>): SentBatch {
  return { pendingAnswers, answers: null };
}

/**
 * The calls of one `CallTemplate`, found by the argument in which they differ; or all calls without a template, found by their whole texts.
 */
export interface SentCallTable {
  readonly template?: CallTemplate;
  readonly texts: ValueTable;
  /**
   * The batch in which each call was last sent, by the dictionary index of its text in `texts`; undefined for a call that was not sent yet
   * or that its batch left unanswered. `indicesInBatch` has the index of the call in that batch.
   */
  readonly batches: (SentBatch | undefined)[];
  readonly indicesInBatch: number[];
}

/** Calls that an attempt at a job has made. A call is found whether it comes with a `CallTemplate` or as a whole text. */
export class SentCalls {
  readonly callsWithoutTemplate: SentCallTable = createSentCallTable();
  readonly #callsOfTemplates: Required<SentCallTable>[] = [];

  get hasTemplates(): boolean {
    return this.#callsOfTemplates.length > 0;
  }

  /**
   * Returns the table of the calls of a template, which is added if it is new. Returns undefined if some calls of a new template may be
   * stored under another template or as whole texts, so that whole texts have to be looked up.
   */
  callsOfTemplate(template: CallTemplate): SentCallTable | undefined {
    const knownCalls = this.#callsOfTemplates.find((one) => isSameTemplate(one.template, template));
    if (knownCalls !== undefined) return knownCalls;
    if (
      this.callsWithoutTemplate.texts.size > 0 ||
      this.#callsOfTemplates.some((one) => canShareCall(one.template, template))
    )
      return undefined;
    const calls = { template, ...createSentCallTable() };
    this.#callsOfTemplates.push(calls);
    return calls;
  }

  /** Returns the table to which the call with a text belongs, and the text that stands for the call in that table. */
  findByCallText(text: string): { readonly calls: SentCallTable; readonly text: string } {
    for (const calls of this.#callsOfTemplates) {
      const { before, after } = calls.template;
      const inner = text.slice(before.length, text.length - after.length);
      // If the part between `before` and `after` is not exactly one JSON string, the call does not have this template.
      if (text.startsWith(before) && text.endsWith(after) && isJsonString(inner))
        return { calls, text: inner };
    }
    return { calls: this.callsWithoutTemplate, text };
  }
}

function createSentCallTable(): SentCallTable {
  return { texts: new ValueTable(), batches: [], indicesInBatch: [] };
}

function isSameTemplate(one: CallTemplate, other: CallTemplate): boolean {
  return one.before === other.before && one.after === other.after;
}

/** Whether one call may match both templates. */
function canShareCall(one: CallTemplate, other: CallTemplate): boolean {
  const beginAlike = one.before.startsWith(other.before) || other.before.startsWith(one.before);
  return beginAlike && (one.after.endsWith(other.after) || other.after.endsWith(one.after));
}

/** Whether a part of a JSON text is exactly one string. */
function isJsonString(text: string): boolean {
  return /^"(?:[^"\\]|\\.)*"$/s.test(text);
}
