import { chunkLength, idLength, placeOfRecord, rowOfRecord } from '../ingest/record-ids.js';
import { Overflow } from '../query/memory/facets/overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import { deletedRows, type DeletionVector } from '../store/deletion-vector.js';
import type { IdRun } from '../store/store.js';

/** A segment whose `_id`s are known without reading them, if it has `idRuns`. */
interface SegmentOfIds {
  readonly idRuns?: readonly IdRun[] | undefined;
  readonly rows: number;
  readonly deletion: DeletionVector | undefined;
}

/** Rows of a segment, from `offset` on, whose `_id`s are those of the rows from `first` to before `end` of one chunk. */
interface PlacedRun {
  readonly segment: number;
  readonly offset: number;
  readonly first: number;
  readonly end: number;
}

const deletedMark = 1;
const namedMark = 2;

/** Finds records by their `_id`s in segments whose ids the log has, without reading these segments. */
export class PlacedRows {
  /** The row that `take` has found: the number of its segment, and its number there. */
  segment = -1;
  row = -1;
  readonly #segments: readonly SegmentOfIds[];
  readonly #chunks = new StringTable(Infinity, new Overflow());
  /** The runs of ids, by number of their chunk. */
  readonly #runs: PlacedRun[][] = [];
  /** For each row of a segment: 0, `deletedMark` or `namedMark`; undefined until a row of the segment is asked for. */
  readonly #states: (Uint8Array | undefined)[] = [];
  /** The runs of the `_id` before, which often is of the same chunk. */
  #last: { readonly bytes: Uint8Array; readonly start: number; readonly runs: readonly PlacedRun[] } | undefined; // prettier-ignore

  constructor(segments: readonly SegmentOfIds[]) {
    this.#segments = segments;
    for (const [segment, { idRuns = [] }] of segments.entries()) {
      let offset = 0;
      for (const { firstId, rows } of idRuns) {
        const place = placeOfRecord(firstId);
        if (place === undefined) throw new Error(`${firstId} is no _id of a run`);
        const [chunk, first] = place;
        const number = this.#chunks.add(Buffer.from(chunk), 0, chunkLength);
        (this.#runs[number] ??= []).push({ segment, offset, first, end: first + rows });
        offset += rows;
      }
    }
  }

  /** Sets `segment` and `row` to the position of the record with an `_id`; returns whether it was found before, undefined if there is none. */
  take(bytes: Buffer, start: number, end: number): 'first' | 'again' | undefined {
    if (end - start !== idLength || this.#runs.length === 0) return undefined;
    const number = rowOfRecord(bytes, start);
    for (const { segment, offset, first, end: after } of this.#runsOf(bytes, start)) {
      if (number < first || number >= after) continue;
      const states = (this.#states[segment] ??= statesOf(this.#segments[segment]!));
      const row = offset + number - first;
      if (states[row] === deletedMark) continue;
      this.segment = segment;
      this.row = row;
      if (states[row] === namedMark) return 'again';
      states[row] = namedMark;
      return 'first';
    }
    return undefined;
  }

  #runsOf(bytes: Buffer, start: number): readonly PlacedRun[] {
    const last = this.#last;
    if (last !== undefined && isSameChunk(last.bytes, last.start, bytes, start)) return last.runs;
    const runs = this.#runs[this.#chunks.find(bytes, start, start + chunkLength)] ?? [];
    this.#last = { bytes, start, runs };
    return runs;
  }
}

function statesOf({ rows, deletion }: SegmentOfIds): Uint8Array {
  const states = new Uint8Array(rows);
  if (deletion) for (const row of deletedRows(deletion)) states[row] = deletedMark;
  return states;
}

/** Whether the `_id`s at these positions belong to the same chunk. */
function isSameChunk(a: Uint8Array, aStart: number, b: Uint8Array, bStart: number): boolean {
  for (let i = chunkLength - 1; i >= 0; i--) if (a[aStart + i] !== b[bStart + i]) return false;
  return true;
}
