import { newExplainGroup, type ExplainNode, type ExplainSource } from './condition-node.js';
import type { FieldIndex } from './field-index.js';
import type { Predicate, WildPart } from '../predicate/predicate.js';
import { parseGrammar, type Atom, type Clause, type Disjunction } from './query-string-grammar.js';
import { compileQueryString } from './query-string.js';
import type { RangeEndText } from './ranges.js';

/** Returns the conditions of a query string as a tree. Clauses that only affect the ranking are left out. */
export function queryNode(text: string, path: string, index: FieldIndex): ExplainNode {
  return disjunctionNode(parseGrammar(text), path, index);
}

/**
 * Returns the node of one disjunction of a query string, with the semantics of query-string.ts: all required clauses if there are any, else
 * one of the alternatives; and none of the excluded clauses.
 */
function disjunctionNode(
  { alternatives }: Disjunction,
  path: string,
  index: FieldIndex,
): ExplainNode {
  const isExcluded = (clauses: readonly Clause[]): boolean =>
    clauses.length === 1 && clauses[0]!.sign === 'prohibited';
  const wantedClauses = alternatives.filter((clauses) => !isExcluded(clauses));
  const required = wantedClauses.filter((clauses) =>
    clauses.some(({ sign }) => sign === 'required'),
  );
  const excluded = alternatives.filter(isExcluded);
  const isOne = (required.length > 0 ? required.length : Math.min(wantedClauses.length, 1)) + excluded.length === 1; // prettier-ignore
  const pathOf = (number: number): string => (isOne ? path : `${path}.and[${number}]`);
  const nodes: ExplainNode[] = [];
  if (required.length > 0) {
    for (const clauses of required) nodes.push(clausesNode(clauses, pathOf(nodes.length), index));
  } else if (wantedClauses.length === 1) {
    nodes.push(clausesNode(wantedClauses[0]!, pathOf(0), index));
  } else if (wantedClauses.length > 1) {
    const parent = pathOf(0);
    const items = wantedClauses.map((clauses, i) =>
      clausesNode(clauses, `${parent}.or[${i}]`, index),
    );
    nodes.push(newExplainGroup('or', parent, items));
  }
  for (const [clause] of excluded) {
    const parent = pathOf(nodes.length);
    nodes.push(newExplainGroup('not', parent, [atomNode(clause!.atom, `${parent}.not`, index)]));
  }
  return nodes.length === 1 ? nodes[0]! : newExplainGroup('and', path, nodes);
}

function clausesNode(clauses: readonly Clause[], path: string, index: FieldIndex): ExplainNode {
  const [only] = clauses;
  if (clauses.length === 1) return clauseNode(only!, path, index);
  const items = clauses.map((clause, i) => clauseNode(clause, `${path}.and[${i}]`, index));
  return newExplainGroup('and', path, items);
}

function clauseNode({ sign, atom }: Clause, path: string, index: FieldIndex): ExplainNode {
  return sign === 'not' || sign === 'prohibited'
    ? newExplainGroup('not', path, [atomNode(atom, `${path}.not`, index)])
    : atomNode(atom, path, index);
}

function atomNode(atom: Atom, path: string, index: FieldIndex): ExplainNode {
  if (atom.kind === 'group') return disjunctionNode(atom.disjunction, path, index);
  return {
    kind: 'condition',
    path,
    text: atomText(atom),
    predicate: atomPredicate(atom, index),
    source: sourceOf(atom),
  };
}

function sourceOf(atom: Exclude<Atom, { kind: 'group' }>): ExplainSource {
  if (atom.kind === 'element') return { kind: 'element' };
  return atom.kind === 'exists' || atom.kind === 'missing' ? { kind: 'presence' } : { kind: 'term', atom }; // prettier-ignore
}

/** Returns the predicate of a single atom, such as a term, phrase or range. */
export function atomPredicate(atom: Atom, index: FieldIndex): Predicate {
  // prettier-ignore
  return compileQueryString({ alternatives: [[{ sign: 'none', atom, boost: 1 }]] }, index).predicate;
}

/** Returns an atom in the syntax of query strings; a condition on an element as it was written. */
export function atomText(atom: Exclude<Atom, { kind: 'group' }>): string {
  if (atom.kind === 'element') return atom.text;
  if (atom.kind === 'exists' || atom.kind === 'missing')
    return `_${atom.kind}_:${escapeText(atom.field)}`;
  const field = atom.field === null ? '' : `${escapeText(atom.field)}:`;
  if (atom.kind === 'phrase') return `${field}"${atom.text.replaceAll(/["\\]/g, '\\$&')}"`;
  if (atom.kind === 'term') return field + atom.parts.map(wildcardPartText).join('');
  const { low, high } = atom;
  return `${field}${low?.inclusive === false ? '{' : '['}${rangeEndText(low)} TO ${rangeEndText(high)}${high?.inclusive === false ? '}' : ']'}`; // prettier-ignore
}

function wildcardPartText(part: WildPart): string {
  return part === 'any' ? '*' : part === 'one' ? '?' : escapeText(part.text);
}

function rangeEndText(end: RangeEndText | null): string {
  return end === null ? '*' : escapeText(end.text);
}

function escapeText(text: string): string {
  return text.replaceAll(/[\s"()[\]{}:*?\\^~]|^[-+!]/g, '\\$&');
}
