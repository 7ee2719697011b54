import type { Predicate } from '../predicate/predicate.js';

/** A condition on the words of a field. */
export type WordCondition = Extract<Predicate, { kind: 'words' | 'phrase' }>;

/** Which rows of a segment satisfy conditions on words, by the conditions' keys: their numbers, ascending, or their bits. */
export type FoundWords = ReadonlyMap<string, 'none' | Int32Array | Uint8Array>;

/** The same for conditions that ask the same. */
export function wordsKey({ kind, field, words }: WordCondition): string {
  return JSON.stringify([kind, field.path, words]);
}

/** The conditions in a predicate on words of texts, each once: what is looked up before a matcher is asked. */
export function wordConditions(predicate: Predicate): ReadonlyMap<string, WordCondition> {
  const found = new Map<string, WordCondition>();
  collect(predicate, found);
  return found;
}

function collect(predicate: Predicate, found: Map<string, WordCondition>): void {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      for (const item of predicate.items) collect(item, found);
      break;
    case 'not':
      collect(predicate.item, found);
      break;
    case 'words':
    case 'phrase':
      if (predicate.field.type === 'text') found.set(wordsKey(predicate), predicate);
  }
}
