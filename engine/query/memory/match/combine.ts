import type { RowTest } from './row-test.js';
import {
  intersection,
  union,
  complement,
  chooseSelectionForm,
  type SelectionVector,
} from './selection-vector.js';
import { releaseBytes } from './selection-bytes.js';
import { isUnsupported } from '../../unsupported.js';

/**
 * Returns a test that selects the rows that pass all tests. The tests come cheapest first; each sees only the rows that the earlier ones
 * selected.
 */
export function allOfTests(tests: readonly RowTest[]): RowTest {
  return function* (view, within) {
    let left = within;
    let isOwn = false;
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const found = yield* test(view, left);
      if (isUnsupported(found)) return found;
      if (found === 'all') continue;
      // `intersection` may overwrite its first argument, so that must not be `within`, which belongs to the caller.
      const both = isOwn ? intersection(left, found) : intersection(found, left);
      const next = i + 1 < tests.length ? chooseSelectionForm(both) : both;
      releaseOthers(isOwn ? [left, found] : [found], next);
      left = next;
      isOwn = true;
      if (left === 'none') break;
    }
    return isOwn ? left : 'all';
  };
}

/** Returns a test that selects the rows that pass at least one of the tests. The tests come cheapest first. */
export function anyOfTests(tests: readonly RowTest[]): RowTest {
  return function* (view, within) {
    let found: SelectionVector = 'none';
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const more = yield* test(view, within);
      if (isUnsupported(more)) return more;
      const either = union(found, more);
      releaseOthers([found, more], either);
      found = either;
      if (found === 'all') break;
    }
    return found;
  };
}

/** Releases the selection vectors other than `result`, which was made of them. */
function releaseOthers(selections: readonly SelectionVector[], result: SelectionVector): void {
  for (const selection of selections) if (selection !== result) releaseBytes(selection);
}

/** Returns a test that selects the rows that do not pass the given test. */
export function negatedTest(test: RowTest): RowTest {
  return function* (view, within) {
    const found = yield* test(view, within);
    return isUnsupported(found) ? found : complement(found, view.rows, within);
  };
}
