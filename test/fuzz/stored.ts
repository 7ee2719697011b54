import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { RecordBatch, tableFromIPC, type Data } from 'apache-arrow';
import { readParquet } from 'parquet-wasm/node';
import { makeBatch, type Batch } from '../../engine/ingest/batch.js';
import { withRecordIds } from '../../engine/ingest/record-ids.js';
import { writeSegment } from '../engine/store/write-segment.js';
import { PropertyFailure } from './outcome.js';
import { rowsOf } from '../readers/rows.js';

/** Writes a batch as a segment and reads it with parquet-wasm. Throws a `PropertyFailure` if the rows differ. */
export async function checkBatchStorage(batch: Batch): Promise<void> {
  if (batch.rows === 0) return;
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-fuzz-'));
  const identifiedBatch = withRecordIds(batch, 123_456_789_012_345, 7);
  try {
    const file = join(folder, 'segment.parquet');
    const { rows } = await writeSegment(identifiedBatch, file);
    if (rows !== batch.rows) throw new PropertyFailure('stored', `${rows} rows of ${batch.rows}`);
    const parquetTable = readParquet(readFileSync(file));
    const arrowTable = tableFromIPC(parquetTable.intoIPCStream());
    const foundRows = arrowTable.batches.flatMap((part: RecordBatch) => {
      const children = part.data.children.slice(2) as Data[];
      return rowsOf(makeBatch(batch.columns, part.numRows, children), batch.columns);
    });
    const expectedRows = rowsOf(batch, batch.columns);
    const i = expectedRows.findIndex((row, at) => !isDeepStrictEqual(row, foundRows[at]));
    if (i >= 0 || foundRows.length !== expectedRows.length)
      throw new PropertyFailure(
        'stored',
        `${jsonTextOf(foundRows[i])}\n  instead of: ${jsonTextOf(expectedRows[i])}`,
      );
  } catch (error) {
    if (error instanceof PropertyFailure) throw error;
    throw new PropertyFailure('stored', String((error as Error).stack));
  } finally {
    identifiedBatch.release();
    rmSync(folder, { recursive: true });
  }
}

function jsonTextOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? String(item) : item,
  )?.slice(0, 500);
}
