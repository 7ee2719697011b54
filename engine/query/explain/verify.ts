import { fieldsOf } from './blame.js';
import { Layers, type Rows } from './counts.js';
import type { Guess } from './guesses.js';
import { leavesOf, type ExplainGroup, type ExplainLeaf, type ExplainNode } from './node.js';
import { node, not, or } from '../predicate/predicate.js';
import type { Statement } from '../sql/statement.js';

/** What is to be found out about a query without an answer. */
export interface Doubts {
  readonly barren: readonly ExplainLeaf[];
  readonly guesses: readonly Guess[];
  readonly clashes: readonly ExplainGroup[];
}

/** What the records say of guesses. */
export interface Verified {
  /** Of every guess: records that satisfy what it puts in place, and those that satisfy the whole request then. */
  readonly guesses: readonly { readonly matches: number; readonly left: number }[];
  /** Records that have a value of any of the condition's fields. */
  readonly present: ReadonlyMap<ExplainLeaf, number>;
  readonly clashes: readonly Clash[];
}

/** What is known of nodes that never match together. */
export interface Clash {
  readonly group: ExplainGroup;
  /** Pairs that no record satisfies both of. */
  readonly apart: readonly (readonly [ExplainNode, ExplainNode])[];
  /** The records that the request would find without a node. */
  readonly without: ReadonlyMap<ExplainNode, number>;
}

/** Pairs grow with the square of this. */
const mostNodes = 30;

/** Counts what is to be found out in one pass over the records. */
export async function verify(
  statement: Statement,
  root: ExplainGroup,
  { barren, guesses, clashes }: Doubts,
  rows: Rows,
): Promise<Verified> {
  const layers = new Layers(statement, leavesOf(root));
  const counted: (readonly string[])[] = [];
  const count = (all: readonly string[]): number => counted.push(all) - 1;
  const guessed = guesses.map(({ changes }) => {
    const others = new Map([...changes].map(([leaf, other]) => [leaf, layers.add(other)] as const));
    return { matches: count([...others.values()]), left: count([layers.condition(root, others)]) };
  });
  const present = barren.map((leaf) => {
    const values = fieldsOf(leaf.predicate).map((field) => not(node({ kind: 'missing', field })));
    return [leaf, count([layers.add(or(values))])] as const;
  });
  const apart = clashes.map((group) => {
    const nodes = group.nodes.slice(0, mostNodes);
    const pairs = nodes.flatMap((one, i) => nodes.slice(i + 1).map((other) => [one, other] as const));
    return {
      group,
      pairs: pairs.map((pair) => ({ pair, at: count(pair.map((each) => layers.condition(each))) })),
      without: nodes.map((child) => ({ child, at: count([layers.condition(root, new Map([[child, 'true']]))]) })),
    };
  }); // prettier-ignore
  if (counted.length === 0) return { guesses: [], present: new Map(), clashes: [] };
  const [row = []] = await rows(layers.counts(counted));
  const at = (column: number): number => Number(row[column] ?? 0);
  return {
    guesses: guessed.map(({ matches, left }) => ({ matches: at(matches), left: at(left) })),
    present: new Map(present.map(([leaf, column]) => [leaf, at(column)])),
    clashes: apart.map(({ group, pairs, without }) => ({
      group,
      apart: pairs.filter((pair) => at(pair.at) === 0).map(({ pair }) => pair),
      without: new Map(without.map((one) => [one.child, at(one.at)])),
    })),
  };
}
