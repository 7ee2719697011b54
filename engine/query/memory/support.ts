import { reservedColumns } from '../../store/arrow.js';
import type { Column, Columns } from '../../core/types.js';
import { unsupported, type MemorySupport, type SupportContext } from '../predicate/kind.js';
import { costOf, kindOf } from '../predicate/kinds.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import { fieldKey } from './terms.js';

/**
 * The most that evaluation may cost, in nanoseconds per record. A segment is matched in one pass that cannot be interrupted; of 5
 * million records it then takes about a second.
 */
const mostPerRow = 200;

/**
 * Whether the memory executor evaluates a predicate over the columns of a dataset (without the reserved ones). `indexedFields` has
 * the keys (`fieldKey`) of the fields whose terms are indexed in every segment. What only the values tell, the matcher returns.
 */
export function memorySupport(
  predicate: Predicate,
  columns: Columns,
  indexedFields: ReadonlySet<string> = new Set(),
): MemorySupport {
  const { perRow } = costOf(predicate);
  if (perRow > mostPerRow)
    return unsupported(
      `the conditions cost about ${Math.round(perRow)} ns per record, more than ${mostPerRow}, in a pass that cannot be interrupted`,
    );
  const context: SupportContext = {
    column: (field) => columnOf(field, columns),
    hasTermIndex: (field) => indexedFields.has(fieldKey(field)),
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
