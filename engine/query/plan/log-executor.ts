import { rowsOfRecords } from '../../store/deletion-vector.js';
import { liveRowCount, type Snapshot, type RowRef } from '../../store/store.js';
import { touchedSegments } from '../predicate/kinds/prune.js';
import { emptyAnswerJson } from '../results/facet-answer.js';
import type { Executor, SegmentRows, Selection } from '../executor/executor.js';
import { rowNumbers } from './rows-by-segment.js';

/** The executor that reads no data: the log of the dataset shows that every record matches, or that none can. */
export const logExecutor: Executor = {
  async select(snapshot, selection) {
    const { predicate, facets, cursor } = selection;
    const total = touchedSegments(snapshot, predicate).length > 0 ? snapshot.rows : 0;
    return {
      total: cursor?.total ?? total,
      rows: [...pageRows(snapshot, selection)].flatMap(({ segment, rows }) =>
        Array.from(rowNumbers(rows, snapshot.segments[segment]!), (row): RowRef => [segment, row]),
      ),
      facets: facets && facets.map(emptyAnswerJson),
    };
  },
  find: async (snapshot, selection) => pageRows(snapshot, selection),
};

/** Maximum number of rows in one batch, unless it consists of a whole segment without deleted rows. */
const rowsPerBatch = 16_384;

/** Yields the rows of a page in the order of the segments; none if, by the statistics of the log, no record can match. */
function* pageRows(
  snapshot: Snapshot,
  { predicate, offset, limit }: Selection,
): Generator<SegmentRows> {
  if (touchedSegments(snapshot, predicate).length === 0) return;
  let before = 0;
  for (const [segment, stored] of snapshot.segments.entries()) {
    if (before >= offset + limit) return;
    const recordCount = liveRowCount(stored);
    const from = Math.max(0, offset - before);
    const end = Math.min(recordCount, offset + limit - before);
    before += recordCount;
    if (from === 0 && end === stored.rows) yield { segment, rows: 'all' };
    else {
      const rows = rowsOfRecords(stored.deletion, from, end);
      for (let at = 0; at < rows.length; at += rowsPerBatch)
        yield { segment, rows: rows.subarray(at, at + rowsPerBatch) };
    }
  }
}
