import type { NodeCounts } from '../executor/record-inspector.js';
import type { ExplainGroup, ExplainLeaf, ExplainNode } from '../request/condition-node.js';
import { fieldsRead } from '../predicate/kinds/index.js';
import { and, not, or, type FieldRef, type Predicate } from '../predicate/predicate.js';

/** The parts of a condition tree that explain why no record matches. */
export interface EmptinessCauses {
  /** Conditions that match no record. */
  readonly leaves: readonly ExplainLeaf[];
  /** ANDs that match no record although each of their nodes matches some records. */
  readonly clashes: readonly ExplainGroup[];
  /** Negations of conditions that every record satisfies. */
  readonly excluding: readonly ExplainGroup[];
}

/**
 * Finds why a node matches no record. The causes of an AND are those of its nodes that match none or, if each of them matches some, the
 * AND itself; the causes of an OR are those of its nodes; a condition or a negation is its own cause.
 */
export function findEmptinessCauses(
  node: ExplainNode,
  counts: ReadonlyMap<ExplainNode, NodeCounts>,
): EmptinessCauses {
  if (node.kind === 'condition') return { leaves: [node], clashes: [], excluding: [] };
  if (node.kind === 'not') return { leaves: [], clashes: [], excluding: [node] };
  const empty = node.nodes.filter((child) => counts.get(child)?.matches === 0);
  if (node.kind === 'and' && empty.length === 0 && node.nodes.length > 0)
    return { leaves: [], clashes: [node], excluding: [] };
  const all = empty.map((child) => findEmptinessCauses(child, counts));
  return {
    leaves: all.flatMap(({ leaves }) => leaves),
    clashes: all.flatMap(({ clashes }) => clashes),
    excluding: all.flatMap(({ excluding }) => excluding),
  };
}

/** Returns the fields that a predicate reads, each once. */
export function distinctFields(predicate: Predicate): readonly FieldRef[] {
  const fields = fieldsRead(predicate);
  return fields.filter(
    (field, i) => fields.findIndex(({ path }) => isSamePath(path, field.path)) === i,
  );
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Returns the predicate of the tree, with the predicates of some nodes replaced. */
export function predicateWithReplacements(
  node: ExplainNode,
  others: ReadonlyMap<ExplainNode, Predicate>,
): Predicate {
  const replacement = others.get(node);
  if (replacement) return replacement;
  if (node.kind === 'condition') return node.predicate;
  const items = node.nodes.map((child) => predicateWithReplacements(child, others));
  return node.kind === 'or' ? or(items) : node.kind === 'and' ? and(items) : not(and(items));
}
