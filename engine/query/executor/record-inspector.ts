import type { ExplainGroup, ExplainNode } from '../request/condition-node.js';
import type { CaseVariants, FieldRef, Predicate, Scalar } from '../predicate/predicate.js';

/** Answers the requests of `explain` about the records of a snapshot. Errors are those of executors. */
export interface RecordInspector {
  /** Returns the stored case variants of the values in the predicate of the query, as far as they are known. */
  caseVariants(): Promise<CaseVariants>;
  /** Returns the counts of every node of a tree of conditions except the root. */
  countNodes(root: ExplainGroup): Promise<CountsByNode>;
  /**
   * Returns, for each list of predicates, the number of records that satisfy all of them. Each predicate in `parts` is evaluated once per
   * record, however many of the predicates contain it.
   */
  countConjunctions(
    lists: readonly (readonly Predicate[])[],
    parts: readonly Predicate[],
  ): Promise<readonly number[]>;
  /** Returns the stored values next to an interval, among the records that satisfy `scope`; undefined if no record stores the field. */
  valuesAround(interval: Interval, scope: Predicate): Promise<ValuesAround | undefined>;
  /**
   * Returns a few stored strings within an edit distance of 1 to 3 (depending on the length of `text`), ignoring case, the nearest first;
   * none for a text of more than 64 characters.
   */
  similarStrings(field: FieldRef, text: string): Promise<readonly string[]>;
  /** Returns the most frequent values of a string field among at most 1,000 records that satisfy `scope`; none for a list. */
  frequentStrings(field: FieldRef, scope: Predicate): Promise<readonly string[]>;
}

/** The numbers of records that a node of the condition tree matches. */
export interface NodeCounts {
  /** Number of records that satisfy the node. */
  readonly matches: number;
  /** Number of records that satisfy the node and all nodes before it in the ANDs and negations that contain it. */
  readonly left: number;
}

/** The counts of the nodes of a tree of conditions. */
export type CountsByNode = ReadonlyMap<ExplainNode, NodeCounts>;

/** An interval of the values of a number or date field; an end that is null is unbounded. */
export interface Interval {
  readonly field: FieldRef;
  readonly low: Scalar | null;
  readonly high: Scalar | null;
}

/** The stored values next to an interval, and the least and the greatest stored value, all among the records of a scope. */
export interface ValuesAround {
  readonly field: FieldRef;
  /** The largest stored value below the interval and the smallest above it; null if there is none. */
  readonly below: unknown;
  readonly above: unknown;
  readonly least: unknown;
  readonly most: unknown;
}
