import type { CheckedFile } from '../../../engine/core/block-checksums.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import type { Writer } from '../../../writers/writer.js';
import type { PartRows } from './part.js';

/** Approximate bytes of segment files that the records of one part take: parts of wide records have fewer records. */
const partBytes = 8 << 20;

/** Collects rows of a snapshot, in order, and cuts them into parts of about the same size. */
export class PartCutter {
  readonly #all: readonly CheckedFile[];
  readonly #most: number;
  readonly #parts: PartRows[] = [];
  /** By segment: its index among the files of the part. */
  #files = new Map<number, number>();
  #rows: Int32Array;
  #length = 0;

  constructor(snapshot: Snapshot, writer: Writer) {
    const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
    this.#most = Math.max(256, Math.min(writer.partRecords, Math.floor(partBytes / recordBytes)));
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
