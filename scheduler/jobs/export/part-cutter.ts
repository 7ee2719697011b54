import type { CheckedFile } from '../../../engine/core/block-checksums.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import type { FileContext, Writer } from '../../../writers/writer.js';
import type { ExportAnnotation } from './export-types.js';
import type { PartJob } from './part.js';

/** Approximate bytes of segment files that the records of one part take: parts of wide records have fewer records. */
const partBytes = 8 << 20;

/** Collects rows of a snapshot, in order, and cuts them into parts of about the same size. */
export class PartCutter {
  readonly #format: string;
  readonly #context: FileContext;
  readonly #all: readonly CheckedFile[];
  readonly #most: number;
  readonly #jobs: PartJob[] = [];
  /** By segment: its index among the files of the part. */
  #files = new Map<number, number>();
  #rows: Int32Array;
  #length = 0;

  readonly #annotation: ExportAnnotation | null;

  constructor(
    format: string,
    context: FileContext,
    snapshot: Snapshot,
    writer: Writer,
    annotation: ExportAnnotation | null = null,
  ) {
    this.#annotation = annotation;
    const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
    this.#most = Math.max(256, Math.min(writer.partRecords, Math.floor(partBytes / recordBytes)));
    this.#format = format;
    this.#context = context;
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
    this.#jobs.push({
      format: this.#format,
      context: this.#context,
      files,
      rows,
      annotation: this.#annotation,
    });
    this.#files = new Map();
    this.#rows = new Int32Array(2 * this.#most);
    this.#length = 0;
  }

  /** The parts that were cut since the last call. */
  taken(): readonly PartJob[] {
    return this.#jobs.splice(0);
  }
}
