import type { NodeCounts } from './counts.js';
import type { ExplainGroup, ExplainLeaf, ExplainNode } from './node.js';
import { and, not, or, type FieldRef, type Predicate } from '../predicate/predicate.js';

/** The parts of a tree that keep it from matching anything. */
export interface Blame {
  /** Conditions that no record satisfies. */
  readonly leaves: readonly ExplainLeaf[];
  /** ANDs whose every node some record satisfies, but no record all of them. */
  readonly clashes: readonly ExplainGroup[];
  /** Negations of what every record satisfies. */
  readonly excluding: readonly ExplainGroup[];
}

/** Why no record satisfies the node: in an AND the nodes that none satisfies, in an OR all of them. */
export function blame(node: ExplainNode, counts: ReadonlyMap<ExplainNode, NodeCounts>): Blame {
  if (node.kind === 'condition') return { leaves: [node], clashes: [], excluding: [] };
  if (node.kind === 'not') return { leaves: [], clashes: [], excluding: [node] };
  const barren = node.nodes.filter((child) => counts.get(child)?.matches === 0);
  if (node.kind === 'and' && barren.length === 0 && node.nodes.length > 0)
    return { leaves: [], clashes: [node], excluding: [] };
  const all = barren.map((child) => blame(child, counts));
  return {
    leaves: all.flatMap(({ leaves }) => leaves),
    clashes: all.flatMap(({ clashes }) => clashes),
    excluding: all.flatMap(({ excluding }) => excluding),
  };
}

/** The fields that a condition looks into. */
export function fieldsOf(predicate: Predicate): readonly FieldRef[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') {
    const all = predicate.items.flatMap(fieldsOf);
    return all.filter((field, i) => all.findIndex(({ path }) => isSame(path, field.path)) === i);
  }
  if (predicate.kind === 'not') return fieldsOf(predicate.item);
  return 'field' in predicate ? [predicate.field] : [];
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** What the tree means where other predicates stand in place of some of its nodes. */
export function replaced(
  node: ExplainNode,
  others: ReadonlyMap<ExplainNode, Predicate>,
): Predicate {
  const other = others.get(node);
  if (other) return other;
  if (node.kind === 'condition') return node.predicate;
  const items = node.nodes.map((child) => replaced(child, others));
  return node.kind === 'or' ? or(items) : node.kind === 'and' ? and(items) : not(and(items));
}
