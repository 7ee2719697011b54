import { chunkLength, idLength, placeOfRecord, rowOfRecord } from '../ingest/record-ids.js';
import { Overflow } from '../query/memory/facets/overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import type { IdRun } from '../store/store.js';

/** Rows of one segment that keys name, in the order of the keys. */
export interface PlacedRows {
  readonly rows: number[];
  readonly keys: number[];
}

/** Rows of a segment, from `offset` on, whose `_id`s are those of the rows `first` to before `end` of one chunk. */
interface PlacedRun {
  readonly segment: number;
  readonly offset: number;
  readonly first: number;
  readonly end: number;
}

/**
 * The rows that the `_id`s of a table name, in segments whose `_id`s are known without reading them; empty for a segment of which they are not. Whether a row
 * is deleted is not asked.
 */
export function placedRows(
  table: StringTable,
  segments: readonly { readonly idRuns?: readonly IdRun[] | undefined }[],
): readonly PlacedRows[] {
  const found = segments.map((): PlacedRows => ({ rows: [], keys: [] }));
  const chunks = new StringTable(Infinity, new Overflow());
  const runs: PlacedRun[][] = [];
  for (const [segment, { idRuns = [] }] of segments.entries()) {
    let offset = 0;
    for (const { firstId, rows } of idRuns) {
      const [chunk, first] = placeOfFirst(firstId);
      const number = chunks.add(Buffer.from(chunk), 0, chunkLength);
      (runs[number] ??= []).push({ segment, offset, first, end: first + rows });
      offset += rows;
    }
  }
  if (chunks.size === 0) return found;
  // Keys that follow each other often name records of the same chunk.
  let [last, chunk] = [-1, -1];
  table.forEach((bytes, start, end, key) => {
    if (end - start !== idLength) return;
    if (last < 0 || !isSameChunk(bytes, last, start)) {
      chunk = chunks.find(bytes, start, start + chunkLength);
      last = start;
    }
    if (chunk < 0) return;
    const row = rowOfRecord(bytes, start);
    for (const run of runs[chunk]!) {
      if (row < run.first || row >= run.end) continue;
      const { rows, keys } = found[run.segment]!;
      rows.push(run.offset + row - run.first);
      keys.push(key);
    }
  });
  return found;
}

/** Whether the `_id`s that begin at `a` and `b` are of the same chunk. */
function isSameChunk(bytes: Uint8Array, a: number, b: number): boolean {
  for (let i = chunkLength - 1; i >= 0; i--) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

function placeOfFirst(firstId: string): readonly [chunk: string, row: number] {
  const place = placeOfRecord(firstId);
  if (place === undefined) throw new Error(`${firstId} is no _id of a run`);
  return place;
}
