import type { NewField } from '../../../engine/core/dataset-field.js';
import { detectEntity } from '../../../engine/ingest/entities/detect.js';
import { humanGenes } from '../../../engine/ingest/entities/genes.js';
import { SampleMerge, type FieldSample } from '../../../engine/ingest/value-samples.js';
import type { Columns } from '../../../engine/core/types.js';
import type { EntityRules } from './entity-rules.js';

/** The samples of one source, and what is looked for in them. */
export interface Sampled {
  readonly rules: EntityRules;
  readonly samples: readonly FieldSample[];
}

/** What was found. */
export interface Detected {
  /** Fields with the entity types to set. */
  readonly fields: readonly Partial<NewField>[];
  /** `metadata.validation.detections`: null when there are none. */
  readonly detections: readonly object[] | null;
}

/**
 * Looks for entities in the string fields among `columns`, but not in those of `settled` names (dotted): what a format or a request
 * says of a field's entity type counts, and a field that had data before keeps what it has.
 */
export async function detectEntities(
  sources: readonly Sampled[],
  columns: Columns,
  settled: readonly string[],
): Promise<Detected> {
  const known = new Set(settled);
  const fields: Partial<NewField>[] = [];
  const detections: object[] = [];
  if (sources.length === 0) return { fields, detections: null };
  const genes = await humanGenes();
  const merged = mergeByRules(sources);
  for (const path of stringPaths(columns)) {
    const name = path.join('.');
    if (known.has(name)) continue;
    for (const { rules, samples } of merged) {
      const values = samples.get(keyOf(path));
      if (values === undefined) continue;
      const found = detectEntity(path.at(-1)!, values, rules.wanted, genes);
      if (found === null) continue;
      const { entityType, sampled, matched } = found;
      detections.push({ field: name, entity_type: entityType, sampled, matched });
      if (rules.isApplied) fields.push({ name, path, entityType });
      break;
    }
  }
  return { fields, detections: detections.length === 0 ? null : detections };
}

/** Sources with the same rules count as one, in the order of the first of each. */
function mergeByRules(sources: readonly Sampled[]): readonly {
  readonly rules: EntityRules;
  readonly samples: ReadonlyMap<string, readonly string[]>;
}[] {
  const groups = Map.groupBy(sources, ({ rules }) =>
    JSON.stringify([[...rules.wanted], rules.size, rules.isApplied]),
  );
  return [...groups.values()].map((group) => {
    const { rules } = group[0]!;
    const merge = new SampleMerge(rules.size);
    for (const { samples } of group) merge.add(samples);
    const samples = merge.result().map(({ path, values }) => [keyOf(path), values] as const);
    return { rules, samples: new Map(samples) };
  });
}

function stringPaths(
  columns: Columns,
  above: readonly string[] = [],
): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    return column.type === 'string' ? [path] : stringPaths(column.children ?? [], path);
  });
}

/** A text that two different paths never share. */
function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}
