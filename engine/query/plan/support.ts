import type { Columns } from '../../core/types.js';
import { canMatch } from '../memory/can-match.js';
import { canCount } from '../memory/facets/cover.js';
import { isReadable } from '../memory/match/text-words.js';
import { wordConditions } from '../memory/words.js';
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
  for (const [key, condition] of wordConditions(predicate))
    if (isReadable(condition) && isIndexable(columns, condition.field)) indexed.add(key);
  if (!canMatch(predicate, columns, indexed)) return 'memory does not evaluate a condition';
  if (facets && !canCount(facets, columns)) return 'memory does not count a facet';
  return undefined;
}
