import type { SelectionBytes, SegmentView } from '../../../../engine/query/memory/match/column.js';
import { selectionBytesOf } from '../../../../engine/query/memory/match/selection-vector.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import { compileMatchers, type Matcher } from '../../../../engine/query/memory/evaluate.js';
import { allConditionsIn, type Predicate } from '../../../../engine/query/predicate/predicate.js';

/** Prepares one predicate for evaluation over columns in memory. */
export function compileMatcher(predicate: Predicate): Matcher {
  return compileMatchers([predicate])[0]!;
}

/** Returns a function that selects the rows that satisfy a predicate; it throws if the matcher does not support the columns. */
export function selectionByPredicate(predicate: Predicate): (view: SegmentView) => SelectionBytes {
  const match = compileMatcher(predicate);
  return (view) => {
    const selection = runToEnd(match(view));
    if (isUnsupported(selection)) throw new Error(selection.unsupported);
    return selectionBytesOf(selection, view.rows);
  };
}

/** Returns true if a predicate has a condition on terms that only a text index can answer; views of tests have none. */
export function needsTextIndex(predicate: Predicate): boolean {
  return allConditionsIn(predicate).some(
    ({ kind, field }) => (kind === 'terms' || kind === 'phrase') && field.type === 'text',
  );
}
