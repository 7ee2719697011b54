import type { SelectionBytes, SegmentView } from '../../../../engine/query/memory/column.js';
import { selectionBytesOf } from '../../../../engine/query/memory/match/selection-vector.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import { matcher } from '../../../../engine/query/memory/evaluate.js';
import type { Predicate } from '../../../../engine/query/predicate/predicate.js';

/** The rows that satisfy a predicate, which the memory executor has to support over these columns. */
export function selectedBy(predicate: Predicate): (view: SegmentView) => SelectionBytes {
  const match = matcher(predicate);
  return (view) => {
    const found = runToEnd(match(view));
    if (isUnsupported(found)) throw new Error(found.unsupported);
    return selectionBytesOf(found, view.rows);
  };
}
