import type { NodeCounts } from './counts.js';
import type { ExplainGroup, ExplainLeaf, ExplainNode } from './node.js';
import { fieldsRead } from '../predicate/kinds.js';
import { and, not, or, type FieldRef, type Predicate } from '../predicate/predicate.js';

/** The parts of a tree because of which no record matches. */
export interface Blame {
  /** Conditions that match no record. */
  readonly leaves: readonly ExplainLeaf[];
  /** ANDs that match no record although each of their nodes matches some. */
  readonly clashes: readonly ExplainGroup[];
  /** Negations of conditions that every record satisfies. */
  readonly excluding: readonly ExplainGroup[];
}

/** Finds why a node matches no record: in an AND because of its nodes that match none, in an OR because of all of its nodes. */
export function blameNode(node: ExplainNode, counts: ReadonlyMap<ExplainNode, NodeCounts>): Blame {
  if (node.kind === 'condition') return { leaves: [node], clashes: [], excluding: [] };
  if (node.kind === 'not') return { leaves: [], clashes: [], excluding: [node] };
  const empty = node.nodes.filter((child) => counts.get(child)?.matches === 0);
  if (node.kind === 'and' && empty.length === 0 && node.nodes.length > 0)
    return { leaves: [], clashes: [node], excluding: [] };
  const all = empty.map((child) => blameNode(child, counts));
  return {
    leaves: all.flatMap(({ leaves }) => leaves),
    clashes: all.flatMap(({ clashes }) => clashes),
    excluding: all.flatMap(({ excluding }) => excluding),
  };
}

/** The fields that a predicate reads, each once. */
export function distinctFields(predicate: Predicate): readonly FieldRef[] {
  const fields = fieldsRead(predicate);
  return fields.filter(
    (field, i) => fields.findIndex(({ path }) => isSame(path, field.path)) === i,
  );
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** The predicate of the tree with the predicates of some nodes replaced. */
export function replaceNode(
  node: ExplainNode,
  others: ReadonlyMap<ExplainNode, Predicate>,
): Predicate {
  const replacement = others.get(node);
  if (replacement) return replacement;
  if (node.kind === 'condition') return node.predicate;
  const items = node.nodes.map((child) => replaceNode(child, others));
  return node.kind === 'or' ? or(items) : node.kind === 'and' ? and(items) : not(and(items));
}
