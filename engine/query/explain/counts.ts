import { compilePredicate } from '../sql/compile.js';
import { leavesOf, type ExplainGroup, type ExplainLeaf, type ExplainNode } from './node.js';
import type { RunSelect, SelectStatement } from '../sql/statement.js';
import { and, type Predicate } from '../predicate/predicate.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Statement } from '../sql/statement.js';

/** The numbers of records that a node of the condition tree matches. */
export interface NodeCounts {
  /** Number of records that satisfy the node. */
  readonly matches: number;
  /** Number of records that satisfy the node and all nodes before it in the ANDs that contain it. */
  readonly left: number;
}

/** Counts, for each predicate, the records that satisfy it. */
export type CountRecordsOfEach = (
  predicates: readonly Predicate[],
) => Promise<readonly number[] | Unsupported>;

/**
 * The maximum number of nodes of a condition tree that are counted by predicates, which evaluates a condition of an AND many times. Larger
 * trees are counted by SQL, which evaluates each condition once.
 */
const maxCountedNodes = 64;

/** Returns the counts of every node of the tree except the root, with one predicate per count. */
export async function countNodesByPredicate(
  root: ExplainGroup,
  count: CountRecordsOfEach,
): Promise<ReadonlyMap<ExplainNode, NodeCounts> | Unsupported> {
  if (descendantCount(root) > maxCountedNodes)
    return { unsupported: `more than ${maxCountedNodes} conditions` };
  const predicatesLeft = new Map<ExplainNode, Predicate>();
  const visit = (node: ExplainNode, before: readonly Predicate[]): void => {
    if (node.kind === 'condition') return;
    let passed = before;
    for (const child of node.nodes) {
      const after = [...passed, child.predicate];
      predicatesLeft.set(child, and(after));
      visit(child, passed);
      if (node.kind !== 'or') passed = after;
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

/** Returns the number of nodes below a node. */
function descendantCount(node: ExplainNode): number {
  if (node.kind === 'condition') return 0;
  return node.nodes.reduce((sum, child) => sum + 1 + descendantCount(child), 0);
}

/** Returns the counts of every node of the tree except the root, with one SQL statement. */
export async function countNodes(
  statement: Statement,
  root: ExplainGroup,
  rows: RunSelect,
): Promise<ReadonlyMap<ExplainNode, NodeCounts>> {
  const countStatement = new CountStatement(statement, leavesOf(root));
  const nodes: ExplainNode[] = [];
  const countedConditions: (readonly string[])[] = [];
  /** Adds the counts of `node` among records that satisfy all conditions in `left`, and of its descendants among those that satisfy `before`. */
  const visit = (node: ExplainNode, before: readonly string[], left: readonly string[]): void => {
    if (node !== root) {
      nodes.push(node);
      countedConditions.push([countStatement.condition(node)], left);
    }
    if (node.kind === 'condition') return;
    if (node.kind === 'or') {
      for (const child of node.nodes)
        visit(child, before, [countStatement.condition(child), ...before]);
      return;
    }
    const passed = countStatement.addSatisfiedCount(node);
    for (const [i, child] of node.nodes.entries()) {
      const conditionsInside = i === 0 ? before : [...before, `${passed} >= ${i}`];
      visit(child, conditionsInside, [`${passed} > ${i}`, ...before]);
    }
  };
  visit(root, [], []);
  if (nodes.length === 0) return new Map();
  const [row = []] = await rows(countStatement.countingSelect(countedConditions));
  const count = (column: number): number => Number(row[column] ?? 0);
  return new Map(
    nodes.map((node, i) => [node, { matches: count(2 * i), left: count(2 * i + 1) }] as const),
  );
}

/**
 * Builds a counting statement of three nested SELECTs, so that each condition is evaluated once per record, no matter in how many counts it
 * is used: the innermost SELECT evaluates the conditions (`b0`…), the next derives values from them (`f0`…), and the outermost counts.
 */
export class CountStatement {
  readonly #conditions: string[] = [];
  readonly #derived: string[] = [];
  readonly #names = new Map<ExplainLeaf, string>();

  constructor(
    readonly statement: Statement,
    leaves: readonly ExplainLeaf[],
  ) {
    for (const leaf of leaves) this.#names.set(leaf, this.addCondition(leaf.predicate));
  }

  /** Adds a column that tells whether a record satisfies the predicate, and returns its name. The column is never null. */
  addCondition(predicate: Predicate): string {
    const name = `b${this.#conditions.length}`;
    this.#conditions.push(
      `coalesce(${compilePredicate(this.statement, predicate)}, false) AS ${name}`,
    );
    return name;
  }

  /** Returns the SQL condition of a node; `others` replace the conditions of some of its descendants. */
  condition(node: ExplainNode, others?: ReadonlyMap<ExplainNode, string>): string {
    const otherCondition = others?.get(node);
    if (otherCondition !== undefined) return otherCondition;
    if (node.kind === 'condition') return this.#names.get(node)!;
    const items = node.nodes.map((child) => this.condition(child, others));
    if (items.length === 0) return node.kind === 'and' ? 'true' : 'false';
    const joinedConditions = `(${items.join(node.kind === 'or' ? ' OR ' : ' AND ')})`;
    return node.kind === 'not' ? `(NOT ${joinedConditions})` : joinedConditions;
  }

  /** Adds a column with the number of the group's leading nodes that a record satisfies, and returns its name. */
  addSatisfiedCount(node: ExplainGroup): string {
    const cases = node.nodes.map((child, i) => `WHEN NOT ${this.condition(child)} THEN ${i}`);
    const name = `f${this.#derived.length}`;
    this.#derived.push(
      `${cases.length === 0 ? '0' : `CASE ${cases.join(' ')} ELSE ${cases.length} END`} AS ${name}`,
    );
    return name;
  }

  /** Returns the statement that counts, for each list of conditions, the records that satisfy all of them. */
  countingSelect(conditions: readonly (readonly string[])[]): SelectStatement {
    const { params, source } = this.statement;
    if (this.#conditions.length === 0) this.#conditions.push('true AS b0'); // the condition tree is empty
    const names = this.#conditions.map((_, i) => `b${i}`);
    // DuckDB needs ten times as long to plan a thousand counts (2.3 s) with AND as with nested CASEs.
    const counts = conditions.map(
      (all) => `count(${all.reduceRight((then, one) => `CASE WHEN ${one} THEN ${then} END`, '1')})`,
    );
    const singles = `(SELECT ${this.#conditions.join(', ')} FROM ${source}) AS s`;
    const relation =
      this.#derived.length === 0
        ? singles
        : `(SELECT ${[...names, ...this.#derived].join(', ')} FROM ${singles}) AS m`;
    return { sql: `SELECT ${counts.join(', ')} FROM ${relation}`, params: params.boundValues };
  }
}
