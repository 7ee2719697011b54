import type { Columns } from '../../core/types.js';
import type { Snapshot } from '../../store/store.js';
import type { Selection } from '../executor/executor.js';
import type { MemoryContext, MemorySupport, SupportContext } from '../predicate/kinds/kind.js';
import { costOf, kindOf } from '../predicate/kinds/index.js';
import type { Predicate } from '../predicate/predicate.js';
import { isRankedByTerms, sidePredicates } from './ranked-selection.js';
import { columnOfField, isIndexable } from '../text/text-field.js';
import type { SegmentView } from './match/column.js';
import { unsupportedFacetReason } from './facets/facet-support.js';
import { cachedTest, type RowTest } from './match/row-test.js';
import { withoutRows, type TestResult } from './match/selection-vector.js';
import { isUnsupported } from '../unsupported.js';

/**
 * Returns the rows of a segment that satisfy a predicate, without deleted rows, or the reason why the predicate cannot be evaluated over
 * the segment's columns.
 */
export type Matcher = (view: SegmentView) => Generator<void, TestResult>;

/**
 * Prepares predicates for one query: results for the entries of a dictionary are reused from segment to segment. The selections of the
 * conditions in `cached` are stored in the cache of the view, if it has one.
 */
export function compileMatchers(
  predicates: readonly Predicate[],
  cached: ReadonlySet<Predicate> = new Set(),
): readonly Matcher[] {
  const tests = new Map<Predicate, RowTest>();
  const context: MemoryContext = {
    rowTest(item) {
      const knownTest = tests.get(item);
      if (knownTest !== undefined) return knownTest;
      const test = kindOf(item).memory(item, context);
      const newTest = cached.has(item) ? cachedTest(JSON.stringify(item), test) : test;
      tests.set(item, newTest);
      return newTest;
    },
    costOf,
  };
  return predicates.map((predicate) => {
    const test = context.rowTest(predicate);
    return function* match(view) {
      if (view.rows === 0) return 'none';
      const result = yield* test(view, 'all');
      const { deleted } = view;
      return deleted && !isUnsupported(result) ? withoutRows(result, deleted, view.rows) : result;
    };
  });
}

/**
 * Returns why the memory executor does not support a selection; undefined if it does, as far as the schema shows. Restrictions that depend
 * on values are found while the query runs.
 */
export function unsupportedSelection(
  { predicate, scoreClauses, ordering, facets, cursor }: Selection,
  { columns }: Pick<Snapshot, 'columns'>,
): string | undefined {
  if (cursor && ordering.length > 0) return 'the positions of a sorted cursor hold sort keys';
  for (const condition of [predicate, ...sidePredicates(scoreClauses)]) {
    const support = memorySupport(condition, columns);
    if (!support.supported) return support.reason;
  }
  if (!isRankedByTerms(scoreClauses, columns)) return 'the text index does not tell the order';
  return facets ? unsupportedFacetReason(facets, columns) : undefined;
}

/** Returns whether the memory executor evaluates a predicate over the columns of a dataset (without the reserved ones). */
export function memorySupport(predicate: Predicate, columns: Columns): MemorySupport {
  const context: SupportContext = {
    column: (field) => columnOfField(field, columns),
    hasTextIndex: (field) => isIndexable(columns, field),
    memorySupport: (item) => kindOf(item).memorySupport(item, context),
  };
  return context.memorySupport(predicate);
}
