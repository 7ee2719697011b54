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
    let selectionLeft = within;
    let isOwn = false;
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const selection = yield* test(view, selectionLeft);
      if (isUnsupported(selection)) return selection;
      if (selection === 'all') continue;
      // `intersection` may overwrite its first argument, so that must not be `within`, which belongs to the caller.
      const common = isOwn
        ? intersection(selectionLeft, selection)
        : intersection(selection, selectionLeft);
      const nextSelection = i + 1 < tests.length ? chooseSelectionForm(common) : common;
      releaseOthers(isOwn ? [selectionLeft, selection] : [selection], nextSelection);
      selectionLeft = nextSelection;
      isOwn = true;
      if (selectionLeft === 'none') break;
    }
    return isOwn ? selectionLeft : 'all';
  };
}

/** Returns a test that selects the rows that pass at least one of the tests. The tests come cheapest first. */
export function anyOfTests(tests: readonly RowTest[]): RowTest {
  return function* (view, within) {
    let selected: SelectionVector = 'none';
    for (const [i, test] of tests.entries()) {
      if (i > 0) yield;
      const selection = yield* test(view, within);
      if (isUnsupported(selection)) return selection;
      const united = union(selected, selection);
      releaseOthers([selected, selection], united);
      selected = united;
      if (selected === 'all') break;
    }
    return selected;
  };
}

/** Releases the selection vectors other than `result`, which was made of them. */
function releaseOthers(selections: readonly SelectionVector[], result: SelectionVector): void {
  for (const selection of selections) if (selection !== result) releaseBytes(selection);
}

/** Returns a test that selects the rows that do not pass the given test. */
export function negatedTest(test: RowTest): RowTest {
  return function* (view, within) {
    const selection = yield* test(view, within);
    return isUnsupported(selection) ? selection : complement(selection, view.rows, within);
  };
}
