import { and, not, or, type Predicate } from '../predicate/predicate.js';
import type { ValueAtom } from './query-string-grammar.js';

/** The conditions of a request as a tree, each as the request writes it and as a predicate. `explain` counts the matches of every node. */
export type ExplainNode = ExplainLeaf | ExplainGroup;

/** A single condition. */
export interface ExplainLeaf {
  readonly kind: 'condition';
  /** The path of the condition in the request: `filters[0].or[1]`. */
  readonly path: string;
  /** The condition as the request writes it, shortened. */
  readonly text: string;
  readonly predicate: Predicate;
  readonly source: ExplainSource;
}

/** A combination of conditions. */
export interface ExplainGroup {
  readonly kind: 'and' | 'or' | 'not';
  readonly path: string;
  readonly predicate: Predicate;
  /** The child nodes, combined as the kind of the group says; those of a `not` are joined by AND. */
  readonly nodes: readonly ExplainNode[];
}

/** The part of the request that a condition was parsed from. A filter, an entity or a term can be parsed again with another value. */
export type ExplainSource =
  | { readonly kind: 'filter'; readonly key: string; readonly value: unknown }
  | { readonly kind: 'entity'; readonly type: string; readonly value: unknown }
  | { readonly kind: 'build'; readonly value: string }
  | { readonly kind: 'term'; readonly atom: ValueAtom }
  | { readonly kind: 'presence' }
  | { readonly kind: 'element' };

/** Returns a group of nodes, with the predicate that combines theirs. */
export function newExplainGroup(
  kind: ExplainGroup['kind'],
  path: string,
  nodes: readonly ExplainNode[],
): ExplainGroup {
  const items = nodes.map(({ predicate }) => predicate);
  const predicate = kind === 'or' ? or(items) : kind === 'and' ? and(items) : not(and(items));
  return { kind, path, predicate, nodes };
}

/** Returns the conditions of a tree, in the order of the request. */
export function leavesOf(node: ExplainNode): readonly ExplainLeaf[] {
  return node.kind === 'condition' ? [node] : node.nodes.flatMap(leavesOf);
}

/** Returns the conditions of a tree that lie outside every negation, in the order of the request. */
export function positiveLeaves(node: ExplainNode): readonly ExplainLeaf[] {
  if (node.kind === 'not') return [];
  return node.kind === 'condition' ? [node] : node.nodes.flatMap(positiveLeaves);
}
