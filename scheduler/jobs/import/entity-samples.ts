import { entityTypes, type EntityType, type JsonObject } from '../../../engine/core/types.js';
import {
  SampleMerge,
  type FieldSample,
  type SampleSize,
} from '../../../engine/ingest/value-samples.js';

/** The entity types that are detected in the fields of a source, and the size of the samples. */
export interface EntityDetectionRules {
  readonly wanted: ReadonlySet<EntityType>;
  readonly size: SampleSize;
  /** Whether a detected type is set on the field; otherwise it is only reported. */
  readonly isApplied: boolean;
}

/** The samples of a source, with the rules for detecting entity types in them. */
export interface SourceSamples {
  readonly rules: EntityDetectionRules;
  readonly samples: readonly FieldSample[];
}

/** The types that are detected unless the request names others (specification, "Entity parameters"). */
const defaultEntityTypes: readonly EntityType[] = ['gene', 'variant'];
// Choice: of the distinct values of a field, at most `sample_count` are sampled, and at most the share `sample_rate`.
const defaultSampleCount = 64;

/** Returns the rules in `entity_params`, which were checked when the import was created; null if no entity type is to be detected. */
export function parseEntityRules(params: JsonObject): EntityDetectionRules | null {
  const { disable, entity_types: types, sample_count: count, sample_rate: rate } = params;
  const wantedTypes = Array.isArray(types)
    ? entityTypes.filter((type) => types.includes(type))
    : defaultEntityTypes;
  if (disable === true || wantedTypes.length === 0) return null;
  return {
    wanted: new Set(wantedTypes),
    size: {
      count: typeof count === 'number' ? count : defaultSampleCount,
      rate: typeof rate === 'number' ? rate : 1,
    },
    isApplied: params['apply_detection'] !== false,
  };
}

/**
 * Merges the samples of a source's chunks in the order of the chunks, although they are added in any order. Only the samples of a few
 * chunks are in memory.
 */
export class ChunkSamples {
  readonly #merge: SampleMerge;
  /** The samples of chunks that wait until the samples of an earlier chunk have been added. */
  readonly #waitingSamples = new Map<number, readonly FieldSample[]>();
  #nextChunk = 0;
  #lastChunk = Infinity;

  constructor(size: SampleSize) {
    this.#merge = new SampleMerge(size);
  }

  /** Adds the samples of a chunk. They are ignored if the records end in an earlier chunk. */
  addChunk(index: number, samples: readonly FieldSample[], hasEnded: boolean): void {
    if (hasEnded) this.#lastChunk = Math.min(this.#lastChunk, index);
    this.#waitingSamples.set(index, samples);
    for (
      let nextSamples;
      (nextSamples = this.#waitingSamples.get(this.#nextChunk)) !== undefined;
      this.#nextChunk++
    ) {
      if (this.#nextChunk <= this.#lastChunk) this.#merge.add(nextSamples);
      this.#waitingSamples.delete(this.#nextChunk);
    }
  }

  /** Adds the samples of a chunk that was read a second time; values that were sampled before are not counted twice. */
  addRereadChunk(samples: readonly FieldSample[]): void {
    this.#merge.add(samples);
  }

  result(): readonly FieldSample[] {
    return this.#merge.result();
  }
}
