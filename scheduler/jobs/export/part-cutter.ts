import type { CheckedFile } from '../../../engine/core/block-checksums.js';
import { rowGroupRows } from '../../../engine/parquet/file-encoder.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import type { Writer } from '../../../writers/writer.js';
import type { PartRows } from './part.js';

/** The number of rows below which a row group does not get a separate part. */
const fewestGroupRows = 8_192;
/** Bytes of a segment file that a row group may have which is copied: several parts are in memory at the same time. */
const mostGroupBytes = 32 << 20;

/** Approximate bytes of segment files that the records of one part take: parts of wide records have fewer records. */
const partBytes = 8 << 20;

/** The limits of a part, as a writer declares them. */
export type PartLimits = Pick<Writer, 'partRecords' | 'copiesRowGroups'>;

/** Collects rows of a snapshot, in order, and cuts them into parts of about the same size. */
export class PartCutter {
  readonly #all: readonly CheckedFile[];
  readonly #segments: Snapshot['segments'];
  /** Bytes of a record in segments, on average. */
  readonly #recordBytes: number;
  readonly #copiesRowGroups: boolean;
  readonly #most: number;
  readonly #parts: PartRows[] = [];
  /** For each segment, its index among the files of the part. */
  #files = new Map<number, number>();
  #rows: Int32Array;
  #length = 0;

  constructor(snapshot: Snapshot, { partRecords, copiesRowGroups }: PartLimits) {
    this.#segments = snapshot.segments;
    this.#recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
    this.#copiesRowGroups = copiesRowGroups === true;
    this.#most = Math.max(256, Math.min(partRecords, Math.floor(partBytes / this.#recordBytes)));
    this.#all = segmentFiles(snapshot);
    this.#rows = new Int32Array(2 * this.#most);
  }

  /** Adds a row of a segment. */
  accept(segment: number, row: number): void {
    let file = this.#files.get(segment);
    if (file === undefined) this.#files.set(segment, (file = this.#files.size));
    this.#rows[this.#length++] = file;
    this.#rows[this.#length++] = row;
    if (this.#length === this.#rows.length) this.cut();
  }

  /** Adds all rows of a segment, its row groups as parts of their own if the writer copies them. Yields after each. */
  *acceptSegment(segment: number): Generator<void> {
    const { rows } = this.#segments[segment]!;
    for (let first = 0; first < rows; first += rowGroupRows) {
      const end = Math.min(rows, first + rowGroupRows);
      const bytes = (end - first) * this.#recordBytes;
      if (this.#copiesRowGroups && end - first >= fewestGroupRows && bytes <= mostGroupBytes) {
        this.cut();
        const own = new Int32Array(2 * (end - first));
        for (let row = first; row < end; row++) own[2 * (row - first) + 1] = row;
        this.#parts.push({ files: [this.#all[segment]!], rows: own });
      } else for (let row = first; row < end; row++) this.accept(segment, row);
      yield;
    }
  }

  /** Ends a part. */
  cut(): void {
    if (this.#length === 0) return;
    const files = [...this.#files.keys()].map((segment) => this.#all[segment]!);
    const rows = this.#rows.slice(0, this.#length);
    this.#parts.push({ files, rows });
    this.#files = new Map();
    this.#rows = new Int32Array(2 * this.#most);
    this.#length = 0;
  }

  /** The parts that were cut since the last call. */
  taken(): readonly PartRows[] {
    return this.#parts.splice(0);
  }
}
