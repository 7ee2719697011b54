import type { ExplainGroup, ExplainNode } from '../request/condition-node.js';
import type { CountsByNode } from '../executor/record-inspector.js';
import { and, type Predicate } from '../predicate/predicate.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';

/**
 * If a condition tree has more nodes than this besides its root, they are counted by SQL, which evaluates each condition once. Counting in
 * memory evaluates a condition of an AND many times.
 */
const maxCountedNodes = 64;

/** Returns the counts of every node of the tree except the root. `count` counts, for each predicate, the records that satisfy it. */
export async function countNodesByPredicate(
  root: ExplainGroup,
  count: (predicates: readonly Predicate[]) => Promise<readonly number[] | Unsupported>,
): Promise<CountsByNode | Unsupported> {
  if (descendantCount(root) > maxCountedNodes)
    return { unsupported: `more than ${maxCountedNodes} conditions` };
  const predicatesLeft = new Map<ExplainNode, Predicate>();
  const visit = (node: ExplainNode, predicatesBefore: readonly Predicate[]): void => {
    if (node.kind === 'condition') return;
    let passedPredicates = predicatesBefore;
    for (const child of node.nodes) {
      const predicatesAfter = [...passedPredicates, child.predicate];
      predicatesLeft.set(child, and(predicatesAfter));
      visit(child, passedPredicates);
      if (node.kind !== 'or') passedPredicates = predicatesAfter;
    }
  };
  visit(root, []);
  const predicates = [
    ...new Set([...predicatesLeft].flatMap(([node, all]) => [node.predicate, all])),
  ];
  const counts = await count(predicates);
  if (isUnsupported(counts)) return counts;
  const countOf = new Map(predicates.map((predicate, i) => [predicate, counts[i]!]));
  return new Map(
    [...predicatesLeft].map(([node, all]) => {
      const matches = countOf.get(node.predicate)!;
      return [node, { matches, left: countOf.get(all)! }] as const;
    }),
  );
}

function descendantCount(node: ExplainNode): number {
  if (node.kind === 'condition') return 0;
  return node.nodes.reduce((sum, child) => sum + 1 + descendantCount(child), 0);
}
