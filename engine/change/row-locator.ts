import { dataViewOf } from '../core/buffers.js';
import { chunkPrefixLength, idLength, parseRecordId, rowOfRecordId } from '../ingest/record-ids.js';
import { FacetOverflow } from '../query/memory/facets/facet-overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import { deletedRows, type DeletionVector } from '../store/deletion-vector.js';
import type { IdRun } from '../store/store.js';

/** A segment; if it has `idRuns`, the `_id`s of its rows are known without reading it. */
interface SegmentWithIdRuns {
  readonly idRuns?: readonly IdRun[] | undefined;
  readonly rows: number;
  readonly deletion: DeletionVector | undefined;
}

/** Bitmaps of the rows of a segment: those that are deleted (undefined if there are none), and those that have been found. */
interface RowBits {
  readonly deletedBits: Uint8Array | undefined;
  readonly foundBits: Uint8Array;
}

/**
 * Runs of rows whose `_id`s belong to consecutive records of one chunk, ordered by chunk. Run i has the records of the chunk from
 * `firsts[i]` to before `ends[i]`; they are the rows of the segment `segments[i]` from `offsets[i]` on.
 */
interface IdRunTable {
  readonly segments: Int32Array;
  readonly offsets: Int32Array;
  readonly firsts: Int32Array;
  readonly ends: Int32Array;
}

/** Finds records by their `_id`s in segments whose `_id`s are in the log, without reading these segments. */
export class RowLocator {
  /** The row that `locate` found last: the index of its segment (`segment`), and the row number in it (`row`). */
  segment = -1;
  row = -1;
  readonly #segments: readonly SegmentWithIdRuns[];
  readonly #chunks = new StringTable(Infinity, new FacetOverflow());
  readonly #runs: IdRunTable;
  /** For each chunk, by number, the index of its first run; at the end, the number of runs. */
  readonly #firstRuns: Int32Array;
  /** The bitmaps of each segment; undefined until a row of the segment is looked up. */
  readonly #rowBits: (RowBits | undefined)[];
  /** The `_id` whose chunk was looked up last, and the number of this chunk: the next `_id` often belongs to the same chunk. */
  #lastBytes: Buffer = emptyChunkId;
  #lastView = dataViewOf(emptyChunkId);
  #lastStart = 0;
  #lastChunk = -1;

  constructor(segments: readonly SegmentWithIdRuns[]) {
    this.#segments = segments;
    this.#rowBits = segments.map(() => undefined);
    const runs: { chunk: number; segment: number; offset: number; first: number; end: number }[] =
      [];
    for (const [segment, { idRuns = [] }] of segments.entries()) {
      let offset = 0;
      for (const { firstId, rows } of idRuns) {
        const parsedId = parseRecordId(firstId);
        if (parsedId === undefined) throw new Error(`${firstId} is no _id of a run`);
        const [chunkName, first] = parsedId;
        const chunk = this.#chunks.add(Buffer.from(chunkName), 0, chunkPrefixLength);
        runs.push({ chunk, segment, offset, first, end: first + rows });
        offset += rows;
      }
    }
    runs.sort((a, b) => a.chunk - b.chunk);
    this.#runs = {
      segments: Int32Array.from(runs, (run) => run.segment),
      offsets: Int32Array.from(runs, (run) => run.offset),
      firsts: Int32Array.from(runs, (run) => run.first),
      ends: Int32Array.from(runs, (run) => run.end),
    };
    this.#firstRuns = new Int32Array(this.#chunks.size + 1).fill(runs.length);
    for (let i = runs.length - 1; i >= 0; i--) this.#firstRuns[runs[i]!.chunk] = i;
  }

  /**
   * Finds `count` records, and sets `segments[i]` and `rows[i]` to the position of the record whose `_id` is the bytes from `offsets[i]` to
   * `offsets[i + 1]`. Returns false as soon as an `_id` has no record or occurs a second time.
   */
  locateAll(
    bytes: Buffer,
    offsets: Int32Array,
    count: number,
    segments: Int32Array,
    rows: Int32Array,
  ): boolean {
    for (let i = 0; i < count; i++) {
      if (this.locate(bytes, offsets[i]!, offsets[i + 1]!) !== 'first') return false;
      segments[i] = this.segment;
      rows[i] = this.row;
    }
    return true;
  }

  /**
   * Sets `segment` and `row` to the position of the record with an `_id`. Returns `first`, or `again` if the record was found before;
   * undefined, without setting them, if no segment with `idRuns` has the record.
   */
  locate(bytes: Buffer, start: number, end: number): 'first' | 'again' | undefined {
    if (end - start !== idLength) return undefined;
    const chunk = this.#chunkOf(bytes, start);
    if (chunk < 0) return undefined;
    const rowInChunk = rowOfRecordId(bytes, start);
    const { segments, offsets, firsts, ends } = this.#runs;
    const endOfRuns = this.#firstRuns[chunk + 1]!;
    for (let run = this.#firstRuns[chunk]!; run < endOfRuns; run++) {
      if (rowInChunk < firsts[run]! || rowInChunk >= ends[run]!) continue;
      const segment = segments[run]!;
      const { deletedBits, foundBits } = (this.#rowBits[segment] ??= rowBitsOf(
        this.#segments[segment]!,
      ));
      const row = offsets[run]! + rowInChunk - firsts[run]!;
      const [byte, bit] = [row >> 3, 1 << (row & 7)];
      if (deletedBits !== undefined && (deletedBits[byte]! & bit) !== 0) continue;
      this.segment = segment;
      this.row = row;
      if ((foundBits[byte]! & bit) !== 0) return 'again';
      foundBits[byte]! |= bit;
      return 'first';
    }
    return undefined;
  }

  /** Returns the number of the chunk to which an `_id` belongs; -1 if no run has records of this chunk. */
  #chunkOf(bytes: Buffer, start: number): number {
    const view = bytes === this.#lastBytes ? this.#lastView : dataViewOf(bytes);
    if (!isSameChunk(this.#lastView, this.#lastStart, view, start)) {
      this.#lastChunk = this.#chunks.find(bytes, start, start + chunkPrefixLength);
      this.#lastBytes = bytes;
      this.#lastView = view;
      this.#lastStart = start;
    }
    return this.#lastChunk;
  }
}

function rowBitsOf({ rows, deletion }: SegmentWithIdRuns): RowBits {
  const foundBits = new Uint8Array((rows + 7) >> 3);
  if (deletion === undefined) return { deletedBits: undefined, foundBits };
  const deletedBits = new Uint8Array(foundBits.length);
  for (const row of deletedRows(deletion)) deletedBits[row >> 3]! |= 1 << (row & 7);
  return { deletedBits, foundBits };
}

const emptyChunkId = Buffer.alloc(chunkPrefixLength);

/**
 * Whether the `_id`s at these positions belong to the same chunk. The end of the chunk's name is compared first, because it differs most
 * often.
 */
function isSameChunk(a: DataView, aStart: number, b: DataView, bStart: number): boolean {
  for (let i = chunkPrefixLength - 4; i > 0; i -= 4)
    if (a.getInt32(aStart + i) !== b.getInt32(bStart + i)) return false;
  return a.getInt32(aStart) === b.getInt32(bStart);
}
