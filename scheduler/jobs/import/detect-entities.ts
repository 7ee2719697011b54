import type { NewField } from '../../../engine/core/dataset-field.js';
import { detectEntity, numericEntityTypes } from '../../../engine/ingest/entities/detect.js';
import { loadHumanGenes } from '../../../engine/ingest/entities/genes.js';
import { SampleMerge } from '../../../engine/ingest/value-samples.js';
import { isNumeric, type Column, type Columns } from '../../../engine/core/types.js';
import type { EntityDetectionRules, SourceSamples } from './entity-samples.js';

/** The entity types that were detected in the columns of an import. */
export interface DetectedEntities {
  /** The fields whose entity type is to be set. */
  readonly fields: readonly Partial<NewField>[];
  /** The value of `metadata.validation.detections`; null if nothing was detected. */
  readonly detections: readonly object[] | null;
}

/**
 * Detects entity types in the samples of the fields of `columns`, except fields in `fixed` (dotted names): those whose entity type is given
 * by the format or the request or is set already, and those that had data before.
 */
export async function detectEntities(
  sources: readonly SourceSamples[],
  columns: Columns,
  fixed: readonly string[],
): Promise<DetectedEntities> {
  const fixedNames = new Set(fixed);
  const fields: Partial<NewField>[] = [];
  const detections: object[] = [];
  if (sources.length === 0) return { fields, detections: null };
  const genes = await loadHumanGenes();
  const mergedRules = mergeSamplesByRules(sources);
  for (const { path, column } of valueColumns(columns)) {
    const name = path.join('.');
    if (fixedNames.has(name)) continue;
    for (const { rules, samples } of mergedRules) {
      const values = samples.get(fieldPathKey(path));
      if (values === undefined) continue;
      const wantedTypes = [...rules.wanted].filter(
        (type) => !isNumeric(column.type) || numericEntityTypes.has(type),
      );
      const detection = detectEntity(column.name, values, new Set(wantedTypes), genes);
      if (detection === null) continue;
      const { entityType, sampled, matched } = detection;
      detections.push({ field: name, entity_type: entityType, sampled, matched });
      if (rules.isApplied) fields.push({ name, path, entityType });
      break;
    }
  }
  return { fields, detections: detections.length === 0 ? null : detections };
}

/** Merges the samples of sources with the same rules, in the order of the first source of each group. */
function mergeSamplesByRules(sources: readonly SourceSamples[]): readonly {
  readonly rules: EntityDetectionRules;
  readonly samples: ReadonlyMap<string, readonly string[]>;
}[] {
  const groups = Map.groupBy(sources, ({ rules }) =>
    JSON.stringify([[...rules.wanted], rules.size, rules.isApplied]),
  );
  return [...groups.values()].map((group) => {
    const { rules } = group[0]!;
    const merge = new SampleMerge(rules.size);
    for (const { samples } of group) merge.add(samples);
    const sampleEntries = merge
      .result()
      .map(({ path, values }) => [fieldPathKey(path), values] as const);
    return { rules, samples: new Map(sampleEntries) };
  });
}

/** Returns the columns that are not objects, members of objects included, with their paths. Only some of them have samples. */
function valueColumns(
  columns: Columns,
  above: readonly string[] = [],
): readonly { readonly path: readonly string[]; readonly column: Column }[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    return column.type === 'object'
      ? valueColumns(column.children ?? [], path)
      : [{ path, column }];
  });
}

/** Returns a string that is different for every path. */
function fieldPathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
