import { intersectSorted } from '../../core/sorted-sets.js';
import type { ColumnMatcher, FoldedTerms } from '../../text/column-matcher.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { SegmentView } from './match/column.js';
import type { TextFrequencies } from './shard-protocol.js';

/**
 * Returns the numbers of records and tokens of a text field in a segment, and for each phrase the number of rows that contain it, without
 * deleted rows.
 */
export function liveFrequencies(
  matcher: ColumnMatcher,
  view: SegmentView,
  field: FieldRef,
  phrases: readonly FoldedTerms[],
): TextFrequencies {
  const { column } = matcher;
  const { summary } = column;
  const rowCounts = phrases.map((phrase) => matcher.countRowsWithPhrase(phrase));
  const wholeFrequencies = {
    records: summary.records,
    tokens: summary.words,
    recordCounts: rowCounts,
  };
  if (view.deleted === undefined) return wholeFrequencies;
  const textOf = column.sharesTexts ? column.textOfRows() : undefined;
  const lists = column.isList ? column.valueLists() : undefined;
  // A value of `textOf` is the number of a text plus 1, or 0 for a row without a text. If `textOf` is undefined, row i has text i, and a
  // row without a text looks like a row with an empty text.
  const hasGaps = textOf === undefined && lists === undefined && summary.records < view.rows;
  const present = hasGaps ? view.column(field)?.present : undefined;
  const { lengths } = column.texts();
  let { records, tokens } = wholeFrequencies;
  for (const row of view.deleted) {
    const text = textOf === undefined ? row : textOf[row]! - 1;
    const isMissing = lists ? lists.starts[row] === lists.starts[row + 1] : present?.[row] === 0;
    if (text < 0 || isMissing) continue;
    records--;
    tokens -= lengths[text]!;
  }
  const liveCounts = phrases.map(
    (phrase, i) => rowCounts[i]! - countDeletedRowsWith(matcher, phrase, view.deleted!),
  );
  return { records, tokens, recordCounts: liveCounts };
}

function countDeletedRowsWith(
  matcher: ColumnMatcher,
  phrase: FoldedTerms,
  deleted: Int32Array,
): number {
  const rows = matcher.matchingRows({ ...phrase, kind: 'phrase' });
  if (rows instanceof Int32Array) return intersectSorted(rows, deleted).length;
  let count = 0;
  for (const row of deleted) count += (rows[row >> 3]! >> (row & 7)) & 1;
  return count;
}
