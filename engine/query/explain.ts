import type { Language } from './dialect.js';
import { countNodes, type NodeCounts, type Rows } from './explain-counts.js';
import { leavesOf, type ExplainNode } from './explain-node.js';
import { segmentsTouched } from './explain-segments.js';
import type { Explaining } from './explain-tree.js';
import type { Snapshot } from '../store/store.js';
import { and, type Predicate } from './predicate.js';
import { begin, type Spellings } from './statement.js';
import { rounded, type Steps } from './steps.js';

/** Over which records a query is explained, and how statements run. */
export interface ExplainScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly total: number;
  readonly steps: Steps;
  readonly language: Language;
  readonly rows: Rows;
  readonly spell: (predicate: Predicate) => Promise<Spellings>;
}

/** A node as an answer shows it. */
interface NodeView extends NodeCounts {
  readonly path: string;
  readonly condition: string;
  readonly nodes?: readonly NodeView[];
}

/** What `explain` adds to the answer of a query, as JSON text. */
export async function explanation(scope: ExplainScope, explaining: Explaining): Promise<string> {
  const { snapshot, predicate, steps } = scope;
  const { root, parseMs } = explaining;
  const counts = await steps.time('counts', async () => {
    const spellings = await scope.spell(and(leavesOf(root).map((leaf) => leaf.predicate)));
    return countNodes(begin(snapshot, spellings, scope.language), root, scope.rows);
  });
  const view = (node: ExplainNode): NodeView => ({
    path: node.path,
    condition: node.kind === 'condition' ? node.text : node.kind,
    ...counts.get(node)!,
    ...(node.kind !== 'condition' && { nodes: node.nodes.map(view) }),
  });
  const nodes = root.nodes.map(view);
  return JSON.stringify({
    records: snapshot.rows,
    nodes,
    segments: segmentsTouched(snapshot, predicate),
    steps: { parse: rounded(parseMs), ...steps.list },
  });
}
