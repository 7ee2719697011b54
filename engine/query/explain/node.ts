import { and, not, or, type Predicate } from '../predicate/predicate.js';
import type { ValueAtom } from '../request/query-string/grammar.js';

/** A request's conditions in its own words, each with what it means: what `explain` counts. */
export type ExplainNode = ExplainLeaf | ExplainGroup;

/** A single condition. */
export interface ExplainLeaf {
  readonly kind: 'condition';
  /** Where it stands in the request: `filters[0].or[1]`. */
  readonly path: string;
  /** As the request has it, shortened. */
  readonly text: string;
  readonly predicate: Predicate;
  readonly source: ExplainSource;
}

/** Conditions that are joined. */
export interface ExplainGroup {
  readonly kind: 'and' | 'or' | 'not';
  readonly path: string;
  readonly predicate: Predicate;
  /** Those of a `not` are joined by AND. */
  readonly nodes: readonly ExplainNode[];
}

/** What a condition was read from, so that it can be read again with another value. */
export type ExplainSource =
  | { readonly kind: 'filter'; readonly key: string; readonly value: unknown }
  | { readonly kind: 'entity'; readonly type: string; readonly value: unknown }
  | { readonly kind: 'build'; readonly value: string }
  | { readonly kind: 'term'; readonly atom: ValueAtom }
  | { readonly kind: 'presence' };

/** Joins nodes. */
export function group(
  kind: ExplainGroup['kind'],
  path: string,
  nodes: readonly ExplainNode[],
): ExplainGroup {
  const items = nodes.map(({ predicate }) => predicate);
  const predicate = kind === 'or' ? or(items) : kind === 'and' ? and(items) : not(and(items));
  return { kind, path, predicate, nodes };
}

/** The conditions of a tree, in its order. */
export function leavesOf(node: ExplainNode): readonly ExplainLeaf[] {
  return node.kind === 'condition' ? [node] : node.nodes.flatMap(leavesOf);
}

/** The same without those that are negated. */
export function positiveLeaves(node: ExplainNode): readonly ExplainLeaf[] {
  if (node.kind === 'not') return [];
  return node.kind === 'condition' ? [node] : node.nodes.flatMap(positiveLeaves);
}
