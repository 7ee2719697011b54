import type { SelectionBytes, SegmentView } from '../../../../engine/query/memory/match/column.js';
import { selectionBytesOf } from '../../../../engine/query/memory/match/selection-vector.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import { compileMatcher } from '../../../../engine/query/memory/evaluate.js';
import { allConditionsIn, type Predicate } from '../../../../engine/query/predicate/predicate.js';

/** Returns the rows that satisfy a predicate; expects that the memory executor supports it over the given columns. */
export function selectionByPredicate(predicate: Predicate): (view: SegmentView) => SelectionBytes {
  const match = compileMatcher(predicate);
  return (view) => {
    const found = runToEnd(match(view));
    if (isUnsupported(found)) throw new Error(found.unsupported);
    return selectionBytesOf(found, view.rows);
  };
}

/** Returns true if a predicate has a condition on terms that only a text index can answer; views of tests have none. */
export function needsTextIndex(predicate: Predicate): boolean {
  return allConditionsIn(predicate).some(
    ({ kind, field }) => (kind === 'terms' || kind === 'phrase') && field.type === 'text',
  );
}
