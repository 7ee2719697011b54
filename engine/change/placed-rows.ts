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

const deletedMark = 1;
const namedMark = 2;

/**
 * Runs of rows whose `_id`s are those of consecutive rows of one chunk, ordered by chunk: run i has the rows of the chunk from `firsts[i]` to before `ends[i]`,
 * which are the rows of the segment `segments[i]` from `offsets[i]` on.
 */
interface PlacedRuns {
  readonly segments: Int32Array;
  readonly offsets: Int32Array;
  readonly firsts: Int32Array;
  readonly ends: Int32Array;
}

/** Finds records by their `_id`s in segments whose ids the log has, without reading these segments. */
export class PlacedRows {
  /** The row that `take` has found: the number of its segment, and its number there. */
  segment = -1;
  row = -1;
  readonly #segments: readonly SegmentOfIds[];
  readonly #chunks = new StringTable(Infinity, new Overflow());
  readonly #runs: PlacedRuns;
  /** The first run of each chunk, by number of the chunk, and the number of runs. */
  readonly #firstRuns: Int32Array;
  /** For each row of a segment: 0, `deletedMark` or `namedMark`; undefined until a row of the segment is asked for. */
  readonly #states: (Uint8Array | undefined)[];
  /** The `_id` before, and the number of its chunk: the next one often is of the same chunk. */
  #lastBytes: Buffer = noChunk;
  #lastView = viewOf(noChunk);
  #lastStart = 0;
  #lastChunk = -1;

  constructor(segments: readonly SegmentOfIds[]) {
    this.#segments = segments;
    this.#states = segments.map(() => undefined);
    const found: { chunk: number; segment: number; offset: number; first: number; end: number }[] =
      [];
    for (const [segment, { idRuns = [] }] of segments.entries()) {
      let offset = 0;
      for (const { firstId, rows } of idRuns) {
        const place = placeOfRecord(firstId);
        if (place === undefined) throw new Error(`${firstId} is no _id of a run`);
        const [name, first] = place;
        const chunk = this.#chunks.add(Buffer.from(name), 0, chunkLength);
        found.push({ chunk, segment, offset, first, end: first + rows });
        offset += rows;
      }
    }
    found.sort((a, b) => a.chunk - b.chunk);
    this.#runs = {
      segments: Int32Array.from(found, (run) => run.segment),
      offsets: Int32Array.from(found, (run) => run.offset),
      firsts: Int32Array.from(found, (run) => run.first),
      ends: Int32Array.from(found, (run) => run.end),
    };
    this.#firstRuns = new Int32Array(this.#chunks.size + 1).fill(found.length);
    for (let i = found.length - 1; i >= 0; i--) this.#firstRuns[found[i]!.chunk] = i;
  }

  /**
   * Sets `segments[i]` and `rows[i]` to the position of the record with the `_id` from `offsets[i]` to `offsets[i + 1]`, for each of `count`. Returns false
   * as soon as there is no such record, or it was found before.
   */
  takeAll(
    bytes: Buffer,
    offsets: Int32Array,
    count: number,
    segments: Int32Array,
    rows: Int32Array,
  ): boolean {
    for (let i = 0; i < count; i++) {
      if (this.take(bytes, offsets[i]!, offsets[i + 1]!) !== 'first') return false;
      segments[i] = this.segment;
      rows[i] = this.row;
    }
    return true;
  }

  /** Sets `segment` and `row` to the position of the record with an `_id`; returns whether it was found before, undefined if there is none. */
  take(bytes: Buffer, start: number, end: number): 'first' | 'again' | undefined {
    if (end - start !== idLength) return undefined;
    const chunk = this.#chunkOf(bytes, start);
    if (chunk < 0) return undefined;
    const number = rowOfRecord(bytes, start);
    const { segments, offsets, firsts, ends } = this.#runs;
    const endOfRuns = this.#firstRuns[chunk + 1]!;
    for (let run = this.#firstRuns[chunk]!; run < endOfRuns; run++) {
      if (number < firsts[run]! || number >= ends[run]!) continue;
      const segment = segments[run]!;
      const states = (this.#states[segment] ??= statesOf(this.#segments[segment]!));
      const row = offsets[run]! + number - firsts[run]!;
      if (states[row] === deletedMark) continue;
      this.segment = segment;
      this.row = row;
      if (states[row] === namedMark) return 'again';
      states[row] = namedMark;
      return 'first';
    }
    return undefined;
  }

  /** The number of the chunk of an `_id`; -1 if no run is of it. */
  #chunkOf(bytes: Buffer, start: number): number {
    const view = bytes === this.#lastBytes ? this.#lastView : viewOf(bytes);
    if (!isSameChunk(this.#lastView, this.#lastStart, view, start)) {
      this.#lastChunk = this.#chunks.find(bytes, start, start + chunkLength);
      this.#lastBytes = bytes;
      this.#lastView = view;
      this.#lastStart = start;
    }
    return this.#lastChunk;
  }
}

function statesOf({ rows, deletion }: SegmentOfIds): Uint8Array {
  const states = new Uint8Array(rows);
  if (deletion) for (const row of deletedRows(deletion)) states[row] = deletedMark;
  return states;
}

const noChunk = Buffer.alloc(chunkLength);

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Whether the `_id`s at these positions belong to the same chunk. The ends of their parts that name it differ most. */
function isSameChunk(a: DataView, aStart: number, b: DataView, bStart: number): boolean {
  for (let i = chunkLength - 4; i > 0; i -= 4)
    if (a.getInt32(aStart + i) !== b.getInt32(bStart + i)) return false;
  return a.getInt32(aStart) === b.getInt32(bStart);
}
