import { compile } from '../sql/compile.js';
import { leavesOf, type ExplainGroup, type ExplainLeaf, type ExplainNode } from './node.js';
import type { Select } from '../sql/statement.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Statement } from '../sql/statement.js';

/** How many records a node leaves. */
export interface NodeCounts {
  /** That satisfy it. */
  readonly matches: number;
  /** That satisfy it and everything before it in the ANDs that it stands in. */
  readonly left: number;
}

/** Runs a statement. */
export type Rows = (select: Select) => Promise<readonly (readonly unknown[])[]>;

/** Counts what every node of the tree leaves, in one pass over the records. */
export async function countNodes(
  statement: Statement,
  root: ExplainGroup,
  rows: Rows,
): Promise<ReadonlyMap<ExplainNode, NodeCounts>> {
  const layers = new Layers(statement, leavesOf(root));
  const nodes: ExplainNode[] = [];
  const counted: (readonly string[])[] = [];
  /** Counts a node where all of `left` hold, and what is inside it where `before` does. */
  const visit = (node: ExplainNode, before: readonly string[], left: readonly string[]): void => {
    if (node !== root) {
      nodes.push(node);
      counted.push([layers.condition(node)], left);
    }
    if (node.kind === 'condition') return;
    if (node.kind === 'or') {
      for (const child of node.nodes) visit(child, before, [layers.condition(child), ...before]);
      return;
    }
    const passed = layers.passed(node);
    for (const [i, child] of node.nodes.entries()) {
      const inside = i === 0 ? before : [...before, `${passed} >= ${i}`];
      visit(child, inside, [`${passed} > ${i}`, ...before]);
    }
  };
  visit(root, [], []);
  if (nodes.length === 0) return new Map();
  const [row = []] = await rows(layers.counts(counted));
  const count = (column: number): number => Number(row[column] ?? 0);
  return new Map(
    nodes.map((node, i) => [node, { matches: count(2 * i), left: count(2 * i + 1) }] as const),
  );
}

/**
 * A statement in three layers, each of which names what the next one uses, so that a condition is evaluated once for a record
 * however many counts need it: whether each single condition holds (`b0`…), what is made of them (`f0`…), and the counts.
 */
export class Layers {
  readonly #conditions: string[] = [];
  readonly #made: string[] = [];
  readonly #names = new Map<ExplainLeaf, string>();

  constructor(
    readonly statement: Statement,
    leaves: readonly ExplainLeaf[],
  ) {
    for (const leaf of leaves) this.#names.set(leaf, this.add(leaf.predicate));
  }

  /** The name of whether a record satisfies the predicate; true or false, never null. */
  add(predicate: Predicate): string {
    const name = `b${this.#conditions.length}`;
    this.#conditions.push(`coalesce(${compile(this.statement, predicate)}, false) AS ${name}`);
    return name;
  }

  /** Whether a record satisfies the node, where `others` stand in place of some of its nodes. */
  condition(node: ExplainNode, others?: ReadonlyMap<ExplainNode, string>): string {
    const other = others?.get(node);
    if (other !== undefined) return other;
    if (node.kind === 'condition') return this.#names.get(node)!;
    const items = node.nodes.map((child) => this.condition(child, others));
    if (items.length === 0) return node.kind === 'and' ? 'true' : 'false';
    const joined = `(${items.join(node.kind === 'or' ? ' OR ' : ' AND ')})`;
    return node.kind === 'not' ? `(NOT ${joined})` : joined;
  }

  /** The name of how many of the group's nodes a record satisfies before the first that it does not. */
  passed(node: ExplainGroup): string {
    const cases = node.nodes.map((child, i) => `WHEN NOT ${this.condition(child)} THEN ${i}`);
    const name = `f${this.#made.length}`;
    this.#made.push(
      `${cases.length === 0 ? '0' : `CASE ${cases.join(' ')} ELSE ${cases.length} END`} AS ${name}`,
    );
    return name;
  }

  /** The numbers of records that satisfy all of each of these. */
  counts(conditions: readonly (readonly string[])[]): Select {
    const { params, source } = this.statement;
    if (this.#conditions.length === 0) this.#conditions.push('true AS b0'); // a tree of nothing but empty lists
    const names = this.#conditions.map((_, i) => `b${i}`);
    // One CASE in the other: with AND, DuckDB takes ten times longer to plan a thousand of them (2.3 s).
    const counts = conditions.map(
      (all) => `count(${all.reduceRight((then, one) => `CASE WHEN ${one} THEN ${then} END`, '1')})`,
    );
    const singles = `(SELECT ${this.#conditions.join(', ')} FROM ${source}) AS s`;
    const made =
      this.#made.length === 0
        ? singles
        : `(SELECT ${[...names, ...this.#made].join(', ')} FROM ${singles}) AS m`;
    return { sql: `SELECT ${counts.join(', ')} FROM ${made}`, params: params.list };
  }
}
