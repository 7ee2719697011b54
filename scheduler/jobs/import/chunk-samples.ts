import {
  SampleMerge,
  type FieldSample,
  type SampleSize,
} from '../../../engine/ingest/value-samples.js';

/** The samples of one source's chunks, merged as they come, so that they take no more room than one chunk's. */
export class ChunkSamples {
  readonly #merged: SampleMerge;
  /** Of chunks that ended before one in front of them. */
  readonly #early = new Map<number, readonly FieldSample[]>();
  #next = 0;
  #last = Infinity;

  constructor(size: SampleSize) {
    this.#merged = new SampleMerge(size);
  }

  /** A chunk's samples; those behind the chunk in which the records end are of no records. */
  add(index: number, samples: readonly FieldSample[], hasEnded: boolean): void {
    if (hasEnded) this.#last = Math.min(this.#last, index);
    this.#early.set(index, samples);
    for (let next; (next = this.#early.get(this.#next)) !== undefined; this.#next++) {
      if (this.#next <= this.#last) this.#merged.add(next);
      this.#early.delete(this.#next);
    }
  }

  /** Those of a chunk that was read once more: values that were there before are the same ones. */
  addAgain(samples: readonly FieldSample[]): void {
    this.#merged.add(samples);
  }

  result(): readonly FieldSample[] {
    return this.#merged.result();
  }
}
