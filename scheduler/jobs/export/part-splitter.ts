import type { ChecksummedFile } from '../../../engine/core/block-checksums.js';
import { rowsPerRowGroup } from '../../../engine/parquet/file-encoder.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import type { Writer } from '../../../writers/writer.js';
import type { PartRows } from './part.js';

/** Minimum number of rows of a row group that becomes a part of its own. */
const minRowGroupRows = 8_192;
/** Maximum size in bytes of a row group that is copied: several parts are in memory at the same time. */
const maxRowGroupBytes = 32 << 20;

/** Approximate size in bytes, in segment files, of the records of one part: parts of wide records have fewer records. */
const targetPartBytes = 8 << 20;

/** The limits of the parts of an export, as the writer declares them. */
export type PartLimits = Pick<Writer, 'partRecords' | 'copiesRowGroups'>;

/** Collects rows of a snapshot, in order, and splits them into parts of about the same size. */
export class PartSplitter {
  readonly #segmentFiles: readonly ChecksummedFile[];
  readonly #segments: Snapshot['segments'];
  /** The average size of a record in segment files, in bytes. */
  readonly #recordBytes: number;
  readonly #copiesRowGroups: boolean;
  readonly #maxRows: number;
  readonly #parts: PartRows[] = [];
  /** For each segment, its index among the files of the current part. */
  #fileIndexBySegment = new Map<number, number>();
  #rows: Int32Array;
  #length = 0;

  constructor(snapshot: Snapshot, { partRecords, copiesRowGroups }: PartLimits) {
    this.#segments = snapshot.segments;
    this.#recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
    this.#copiesRowGroups = copiesRowGroups === true;
    this.#maxRows = Math.max(
      256,
      Math.min(partRecords, Math.floor(targetPartBytes / this.#recordBytes)),
    );
    this.#segmentFiles = segmentFiles(snapshot);
    this.#rows = new Int32Array(2 * this.#maxRows);
  }

  /** Adds a row of a segment to the current part. */
  addRow(segment: number, row: number): void {
    let fileIndex = this.#fileIndexBySegment.get(segment);
    if (fileIndex === undefined)
      this.#fileIndexBySegment.set(segment, (fileIndex = this.#fileIndexBySegment.size));
    this.#rows[this.#length++] = fileIndex;
    this.#rows[this.#length++] = row;
    if (this.#length === this.#rows.length) this.endPart();
  }

  /**
   * Adds all rows of a segment. If the writer copies row groups, a row group becomes a part of its own if it has at least
   * `minRowGroupRows` rows and at most `maxRowGroupBytes` bytes. Yields after each row group.
   */
  *addWholeSegment(segment: number): Generator<void> {
    const { rows } = this.#segments[segment]!;
    for (let first = 0; first < rows; first += rowsPerRowGroup) {
      const end = Math.min(rows, first + rowsPerRowGroup);
      const bytes = (end - first) * this.#recordBytes;
      if (this.#copiesRowGroups && end - first >= minRowGroupRows && bytes <= maxRowGroupBytes) {
        this.endPart();
        const ownRows = new Int32Array(2 * (end - first));
        for (let row = first; row < end; row++) ownRows[2 * (row - first) + 1] = row;
        this.#parts.push({ files: [this.#segmentFiles[segment]!], rows: ownRows });
      } else for (let row = first; row < end; row++) this.addRow(segment, row);
      yield;
    }
  }

  endPart(): void {
    if (this.#length === 0) return;
    const files = [...this.#fileIndexBySegment.keys()].map(
      (segment) => this.#segmentFiles[segment]!,
    );
    const rows = this.#rows.slice(0, this.#length);
    this.#parts.push({ files, rows });
    this.#fileIndexBySegment = new Map();
    this.#rows = new Int32Array(2 * this.#maxRows);
    this.#length = 0;
  }

  /** Returns the parts that were completed since the last call. */
  takeParts(): readonly PartRows[] {
    return this.#parts.splice(0);
  }
}
