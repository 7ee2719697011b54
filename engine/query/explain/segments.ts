import type { Snapshot } from '../../store/store.js';
import type { CaseVariants, Predicate } from '../predicate/predicate.js';
import { segmentTest } from '../predicate/prune.js';

/** Which segments a query can find something in, by the statistics that the log keeps of them. */
export interface SegmentsTouched {
  readonly total: number;
  readonly touched: number;
  readonly skipped: number;
  /** The records of those that are touched. */
  readonly rows: number;
  /** The first of those that are touched, below the dataset's folder. */
  readonly paths: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

const namedPaths = 20;

/** Sorts out the segments whose statistics say that no record of theirs satisfies the predicate. */
export function segmentsTouched(
  { segments }: Snapshot,
  predicate: Predicate,
  caseVariants: CaseVariants,
): SegmentsTouched {
  const touched = segments.filter(segmentTest(predicate, caseVariants));
  return {
    total: segments.length,
    touched: touched.length,
    skipped: segments.length - touched.length,
    rows: touched.reduce((sum, { rows }) => sum + rows, 0),
    paths: touched.slice(0, namedPaths).map(({ path }) => path),
    more: Math.max(0, touched.length - namedPaths),
  };
}
