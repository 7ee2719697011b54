import type { RowTest } from './row-test.js';
import {
  intersection,
  union,
  complement,
  settleSelection,
  type SelectionVector,
} from './selection-vector.js';
import { isUnsupported } from '../../unsupported.js';

/** Selects the rows that pass all tests. The tests come cheapest first; each sees only the rows that the earlier ones left. */
export function everyTest(tests: readonly RowTest[]): RowTest {
  return function* (view, within) {
    let left = within;
    let isOwn = false;
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const found = yield* test(view, left);
      if (isUnsupported(found)) return found;
      if (found === 'all') continue;
      // `intersection` may write into its first argument, and `within` belongs to the caller.
      left = isOwn ? intersection(left, found) : intersection(found, left);
      isOwn = true;
      if (i + 1 < tests.length) left = settleSelection(left);
      if (left === 'none') break;
    }
    return isOwn ? left : 'all';
  };
}

/** Selects the rows that pass at least one of the tests, which come cheapest first. */
export function someTest(tests: readonly RowTest[]): RowTest {
  return function* (view, within) {
    let found: SelectionVector = 'none';
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const more = yield* test(view, within);
      if (isUnsupported(more)) return more;
      found = union(found, more);
      if (found === 'all') break;
    }
    return found;
  };
}

/** Selects the rows that do not pass the test. */
export function notTest(test: RowTest): RowTest {
  return function* (view, within) {
    const found = yield* test(view, within);
    return isUnsupported(found) ? found : complement(found, view.rows, within);
  };
}
