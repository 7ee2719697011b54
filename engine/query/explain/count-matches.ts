import { distinctFields, predicateWithReplacements } from './emptiness-causes.js';
import type { RecordInspector } from '../executor/record-inspector.js';
import type { ConditionGuess } from './reword.js';
import {
  leavesOf,
  type ExplainGroup,
  type ExplainLeaf,
  type ExplainNode,
} from '../request/condition-node.js';
import { all, freezePredicate, not, or, type Predicate } from '../predicate/predicate.js';

/** What to count for a query that matches no record. */
interface CountRequest {
  /** Conditions that match no record. */
  readonly empty: readonly ExplainLeaf[];
  readonly guesses: readonly ConditionGuess[];
  readonly clashes: readonly ExplainGroup[];
}

/** The counts that a `CountRequest` asks for. */
export interface MatchCounts {
  /**
   * For each guess, the number of records that satisfy all of its corrected conditions (`matches`), and of those that satisfy the whole
   * request after the corrections (`left`).
   */
  readonly guesses: readonly { readonly matches: number; readonly left: number }[];
  /** For each condition of `empty`, the number of records that have a value in any of its fields. */
  readonly present: ReadonlyMap<ExplainLeaf, number>;
  readonly clashes: readonly ClashingGroup[];
}

/** An AND that matches no record although each of its nodes matches some. */
export interface ClashingGroup {
  readonly group: ExplainGroup;
  /** The pairs of the first `maxPairedNodes` nodes that no record satisfies together. */
  readonly apart: readonly (readonly [ExplainNode, ExplainNode])[];
  /** For each of the first `maxPairedNodes` nodes, the number of records that the request would match without it. */
  readonly without: ReadonlyMap<ExplainNode, number>;
}

/** The maximum number of nodes of an AND that are compared in pairs; the number of pairs grows with the square. */
const maxPairedNodes = 30;

/** Counts everything that a `CountRequest` asks for with one call of the inspector. */
export async function countMatches(
  inspector: RecordInspector,
  root: ExplainGroup,
  { empty, guesses, clashes }: CountRequest,
): Promise<MatchCounts> {
  const countedConjunctions: (readonly Predicate[])[] = [];
  const conditions = leavesOf(root).map(({ predicate }) => predicate);
  const count = (...all: readonly Predicate[]): number => countedConjunctions.push(all) - 1;
  const guessCounts = guesses.map(({ changes }) => {
    conditions.push(...changes.values());
    return {
      matches: count(...changes.values()),
      left: count(predicateWithReplacements(root, changes)),
    };
  });
  const presentCounts = empty.map((leaf) => {
    const values = distinctFields(leaf.predicate).map((field) =>
      not(freezePredicate({ kind: 'missing', field })),
    );
    const isPresent = or(values);
    conditions.push(isPresent);
    return [leaf, count(isPresent)] as const;
  });
  const clashCounts = clashes.map((group) => {
    const nodes = group.nodes.slice(0, maxPairedNodes);
    const pairs = nodes.flatMap((one, i) => nodes.slice(i + 1).map((other) => [one, other] as const));
    return {
      group,
      pairs: pairs.map((pair) => ({ pair, at: count(...pair.map(({ predicate }) => predicate)) })),
      without: nodes.map((child) => ({ child, at: count(predicateWithReplacements(root, new Map([[child, all]]))) })),
    };
  }); // prettier-ignore
  const counts = await inspector.countConjunctions(countedConjunctions, conditions);
  const at = (index: number): number => counts[index]!;
  return {
    guesses: guessCounts.map(({ matches, left }) => ({ matches: at(matches), left: at(left) })),
    present: new Map(presentCounts.map(([leaf, index]) => [leaf, at(index)])),
    clashes: clashCounts.map(({ group, pairs, without }) => ({
      group,
      apart: pairs.filter((pair) => at(pair.at) === 0).map(({ pair }) => pair),
      without: new Map(without.map((one) => [one.child, at(one.at)])),
    })),
  };
}
