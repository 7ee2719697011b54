import type { Column, Columns } from '../../core/types.js';
import { reservedColumns } from '../../store/arrow.js';
import {
  unsupported,
  type MemoryContext,
  type MemorySupport,
  type SupportContext,
} from '../predicate/kind.js';
import { costOf, kindOf } from '../predicate/kinds.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { Facet } from '../request/facets.js';
import { isIndexable } from '../text/text-field.js';
import type { SegmentView } from './column.js';
import { facetRefusal } from './facets/facet-support.js';
import type { Tested } from './match/selection-vector.js';
import { fieldKey, termConditions } from './terms.js';

/** Returns the rows of a segment that satisfy a predicate, or why it cannot be evaluated over the segment's columns. */
export type Matcher = (view: SegmentView) => Tested;

/** Prepares a predicate for one query: what is learned about dictionaries is reused from segment to segment. */
export function matcher(predicate: Predicate): Matcher {
  const context: MemoryContext = {
    rowTest: (item) => kindOf(item).memory(item, context),
    costOf,
  };
  const test = context.rowTest(predicate);
  return (view) => (view.rows === 0 ? 'none' : test(view, 'all'));
}

/** Why the memory executor does not support a predicate or facets; undefined if it does, as far as the schema tells. */
export function memoryRefusal(
  predicate: Predicate,
  facets: readonly Facet[] | null,
  columns: Columns,
): string | undefined {
  const indexed = new Set<string>();
  for (const { field } of termConditions(predicate).values())
    if (isIndexable(columns, field)) indexed.add(fieldKey(field));
  const support = memorySupport(predicate, columns, indexed);
  if (!support.supported) return support.reason;
  return facets ? facetRefusal(facets, columns) : undefined;
}

/**
 * The most that evaluation may cost, in nanoseconds per record. A segment is matched in one pass that cannot be interrupted; of 5
 * million records it then takes about a second.
 */
const maxPerRow = 200;

/**
 * Whether the memory executor evaluates a predicate over the columns of a dataset (without the reserved ones). `indexedFields` has
 * the keys (`fieldKey`) of the fields whose terms are indexed in every segment. What only the values can tell is a result of the matcher.
 */
export function memorySupport(
  predicate: Predicate,
  columns: Columns,
  indexedFields: ReadonlySet<string> = new Set(),
): MemorySupport {
  const { perRow } = costOf(predicate);
  if (perRow > maxPerRow)
    return unsupported(
      `the conditions cost about ${Math.round(perRow)} ns per record, more than ${maxPerRow}, in a pass that cannot be interrupted`,
    );
  const context: SupportContext = {
    column: (field) => columnOf(field, columns),
    hasTextIndex: (field) => indexedFields.has(fieldKey(field)),
    memorySupport: (item) => kindOf(item).memorySupport(item, context),
  };
  return context.memorySupport(predicate);
}

function columnOf({ path }: FieldRef, columns: Columns): Column | undefined {
  let siblings: Columns | undefined = [...reservedColumns, ...columns];
  let column: Column | undefined;
  for (const name of path) {
    column = siblings?.find((candidate) => candidate.name === name);
    if (column === undefined) return undefined;
    siblings = column.children;
  }
  return column;
}
