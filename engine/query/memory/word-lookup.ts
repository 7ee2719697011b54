import type { Predicate } from '../predicate/predicate.js';
import { textField } from '../text/text-field.js';
import type { Snapshot } from '../../store/store.js';
import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import type { TextField, TimeSlice } from '../../text/ranked-search.js';
import type { Unsupported } from '../plan/executor.js';
import { isReadable } from './match/text-words.js';
import { wordConditions, type FoundWords, type WordCondition } from './words.js';

/** What is found may take so much memory; of 5 million records a condition takes 640 kB at most. */
const mostBytes = 64 << 20;

/** A condition, and the index that answers it. */
interface Indexed {
  readonly condition: WordCondition;
  readonly field: TextField;
}

/** Looks up in the indexes of words, for a predicate over a snapshot. */
export class WordLookup {
  readonly #indexed: ReadonlyMap<string, Indexed>;

  private constructor(indexed: ReadonlyMap<string, Indexed>) {
    this.#indexed = indexed;
  }

  /** Opens the indexes of all text fields whose words the predicate is about; unsupported if a segment has none. */
  static async open(snapshot: Snapshot, predicate: Predicate): Promise<WordLookup | Unsupported> {
    const fields = new Map<string, TextField | undefined>();
    const indexed = new Map<string, Indexed>();
    for (const [key, condition] of wordConditions(predicate)) {
      if (!isReadable(condition)) continue;
      const name = JSON.stringify(condition.field.path);
      if (!fields.has(name)) fields.set(name, await textField(snapshot, condition.field));
      const field = fields.get(name);
      if (field === undefined)
        return {
          unsupported: `a segment without an index of the words of ${condition.field.name}`,
        };
      indexed.set(key, { condition, field });
    }
    return new WordLookup(indexed);
  }

  /** The rows of some segments, by their number, that satisfy each of the conditions; undefined if there are none. */
  async rows(
    segments: readonly number[],
    turns: TimeSlice,
  ): Promise<ReadonlyMap<number, FoundWords> | Unsupported | undefined> {
    if (this.#indexed.size === 0) return undefined;
    const found = new Map<number, FoundWords>();
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
          if (bytes > mostBytes)
            return { unsupported: 'more than 64 MB of rows from the index of words' };
        }
        await turns.yieldIfOver();
      }
      found.set(segment, ofSegment);
    }
    return found;
  }
}

function queryOf({ kind, words }: WordCondition): TextQuery {
  const folded = words.map(foldTerm);
  if (kind === 'phrase') return { kind, terms: folded };
  return { kind: 'and', items: folded.map((word) => ({ kind: 'phrase', terms: [word] })) };
}
