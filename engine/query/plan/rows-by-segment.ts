import { concatenateArrays } from '../../core/buffers.js';
import { rowsOfRecords } from '../../store/deletion-vector.js';
import { liveRowCount, type Segment, type Snapshot } from '../../store/store.js';
import type { RowBatch, SegmentRows } from '../executor/executor.js';

/** Collects the rows of batches by segment, keeping their order within a segment. Memory is proportional to the number of rows. */
export async function groupRowsBySegment(
  { segments }: Snapshot,
  batches: AsyncIterable<RowBatch> | Iterable<RowBatch>,
): Promise<readonly (readonly [segment: number, rows: Int32Array])[]> {
  const rowsBySegment = new Map<number, Int32Array[]>();
  const add = (segment: number, rows: Int32Array): void => {
    const ownRows = rowsBySegment.get(segment);
    if (ownRows) ownRows.push(rows);
    else rowsBySegment.set(segment, [rows]);
  };
  for await (const batch of batches) {
    if ('refs' in batch) {
      const refsBySegment = Map.groupBy(batch.refs, ([segment]) => segment);
      for (const [segment, refs] of refsBySegment) {
        const rows = refs.map(([, row]) => row);
        add(segment, Int32Array.from(rows));
      }
    } else add(batch.segment, rowNumbers(batch.rows, segments[batch.segment]!));
  }
  return [...rowsBySegment].map(([segment, parts]) => {
    const rows = parts.length === 1 ? parts[0]! : concatenateArrays(Int32Array, parts);
    return [segment, rows] as const;
  });
}

/** Returns the numbers of the rows of a segment, in their order; `all` stands for all rows that are not deleted, ascending. */
export function rowNumbers(rows: SegmentRows['rows'], segment: Segment): Int32Array {
  return rows === 'all' ? rowsOfRecords(segment.deletion, 0, liveRowCount(segment)) : rows;
}
