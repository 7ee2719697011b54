import type { Columns } from '../../core/types.js';
import { facetRefusal } from '../memory/facets/facet-support.js';
import { memorySupport as predicateSupport } from '../memory/support.js';
import { fieldKey, termConditions } from '../memory/terms.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Facet } from '../request/facets.js';
import { isIndexable } from '../text/text-field.js';

/** Why columns in memory do not answer this predicate or these facets; undefined if they do, as far as the schema tells. */
export function memorySupport(
  predicate: Predicate,
  facets: readonly Facet[] | null,
  columns: Columns,
): string | undefined {
  const indexed = new Set<string>();
  for (const { field } of termConditions(predicate).values())
    if (isIndexable(columns, field)) indexed.add(fieldKey(field));
  const support = predicateSupport(predicate, columns, indexed);
  if (!support.supported) return support.reason;
  return facets ? facetRefusal(facets, columns) : undefined;
}
