import type { JsonObject } from '../../../engine/core/types.js';
import type { SampleSize } from '../../../engine/ingest/value-samples.js';
import { entityTypes, type EntityType } from '../../../engine/core/types.js';

/** How the fields of one source are looked at for entities. */
export interface EntityRules {
  readonly wanted: ReadonlySet<EntityType>;
  readonly size: SampleSize;
  /** What is found is set on the field; otherwise it is only told. */
  readonly isApplied: boolean;
}

/** Genes and variants unless the request names others (specification, "Entity parameters"). */
const usual: readonly EntityType[] = ['gene', 'variant'];
// Choice: `sample_count` is how many different values of a field are looked at, `sample_rate` which share of them may be.
const usualCount = 64;

/** The rules of `entity_params`, which were checked when the import was created; null when nothing is to be detected. */
export function entityRules(params: JsonObject): EntityRules | null {
  const { disable, entity_types: types, sample_count: count, sample_rate: rate } = params;
  const wanted = Array.isArray(types) ? entityTypes.filter((type) => types.includes(type)) : usual;
  if (disable === true || wanted.length === 0) return null;
  return {
    wanted: new Set(wanted),
    size: {
      count: typeof count === 'number' ? count : usualCount,
      rate: typeof rate === 'number' ? rate : 1,
    },
    isApplied: params['apply_detection'] !== false,
  };
}
