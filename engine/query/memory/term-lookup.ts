import type { Snapshot } from '../../store/store.js';
import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import type { TextField, TimeSlice } from '../../text/ranked-search.js';
import { fieldKey, type Predicate } from '../predicate/predicate.js';
import { openTextIndex } from '../text/text-field.js';
import type { Unsupported } from '../unsupported.js';
import { termConditions, type FoundTerms, type TermCondition } from './terms.js';

/** The most memory that found rows may take; a condition on 5 million records takes 640 kB at most. */
const maxBytes = 64 << 20;

/** A condition, and the index of its field. */
interface Indexed {
  readonly condition: TermCondition;
  readonly field: TextField;
}

/** Looks up the terms of a predicate in the indexes of a snapshot. */
export class TermLookup {
  readonly #indexed: ReadonlyMap<string, Indexed>;

  private constructor(indexed: ReadonlyMap<string, Indexed>) {
    this.#indexed = indexed;
  }

  /** Opens the indexes of all fields whose terms the predicate looks for; unsupported if a segment has none. */
  static async open(snapshot: Snapshot, predicate: Predicate): Promise<TermLookup | Unsupported> {
    const fields = new Map<string, TextField | undefined>();
    const indexed = new Map<string, Indexed>();
    for (const [key, condition] of termConditions(predicate)) {
      const name = fieldKey(condition.field);
      if (!fields.has(name)) fields.set(name, await openTextIndex(snapshot, condition.field));
      const field = fields.get(name);
      if (field === undefined)
        return {
          unsupported: `a segment has no index of the terms of ${condition.field.name}`,
        };
      indexed.set(key, { condition, field });
    }
    return new TermLookup(indexed);
  }

  /**
   * The rows of some segments, by the segments' numbers, that satisfy each of the conditions; undefined if there are no
   * conditions.
   */
  async rows(
    segments: readonly number[],
    slice: TimeSlice,
  ): Promise<ReadonlyMap<number, FoundTerms> | Unsupported | undefined> {
    if (this.#indexed.size === 0) return undefined;
    const found = new Map<number, FoundTerms>();
    let bytes = 0;
    for (const segment of segments) {
      const ofSegment = new Map<string, 'none' | Int32Array | Uint8Array>();
      for (const [key, { condition, field }] of this.#indexed) {
        const matcher = field.matchers[segment];
        const rows = await matcher?.rows(queryOf(condition));
        matcher?.forget();
        if (rows === undefined || rows.length === 0) {
          ofSegment.set(key, 'none');
        } else {
          ofSegment.set(key, rows);
          bytes += rows.byteLength;
          if (bytes > maxBytes)
            return { unsupported: `the rows of the terms take more than ${maxBytes} bytes` };
        }
        await slice.yieldIfOver();
      }
      found.set(segment, ofSegment);
    }
    return found;
  }
}

function queryOf({ kind, terms: wanted }: TermCondition): TextQuery {
  const terms = wanted.map(foldTerm);
  if (kind === 'phrase') return { kind, terms };
  return { kind: 'and', items: terms.map((term) => ({ kind: 'phrase', terms: [term] })) };
}
