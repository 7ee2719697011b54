import type { MemoryContext } from '../predicate/kind.js';
import { costOf, kindOf } from '../predicate/kinds.js';
import type { Predicate } from '../predicate/predicate.js';
import type { SegmentView } from './column.js';
import type { Tested } from './match/selection-vector.js';

/** Returns the rows of a segment that satisfy a predicate, or why it cannot be evaluated over the segment's columns. */
export type Matcher = (view: SegmentView) => Tested;

/** Prepares a predicate for one query: what is learned about dictionaries is reused from segment to segment. */
export function matcher(predicate: Predicate): Matcher {
  const context: MemoryContext = {
    rowTest: (item) => kindOf(item).memory(item, context),
    costOf,
  };
  const test = context.rowTest(predicate);
  return (view) => (view.rows === 0 ? 'none' : test(view, 'all'));
}
