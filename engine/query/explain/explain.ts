import { causesOf } from './causes.js';
import type { Language } from '../sql/dialect.js';
import { countNodes, type NodeCounts, type Rows } from './counts.js';
import { leavesOf, type ExplainNode } from './node.js';
import { segmentsTouched } from './segments.js';
import type { Explaining } from './tree.js';
import type { Snapshot } from '../../store/store.js';
import { and, type Predicate, type CaseVariants } from '../predicate/predicate.js';
import { begin, type Statement } from '../sql/statement.js';
import type { Plan } from '../plan/plan.js';
import { rounded, type Steps } from '../plan/steps.js';

/** Over which records a query is explained, and how statements run. */
export interface ExplainScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly total: number;
  readonly steps: Steps;
  /** How the query was answered. */
  readonly plan: Plan;
  readonly language: Language;
  readonly rows: Rows;
  /** What is known of the caseVariants in the whole predicate. */
  readonly caseVariants: CaseVariants;
  readonly findCaseVariants: (predicate: Predicate) => Promise<CaseVariants>;
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
    const caseVariants = await scope.findCaseVariants(
      and(leavesOf(root).map((leaf) => leaf.predicate)),
    );
    return countNodes(begin(snapshot, caseVariants, scope.language), root, scope.rows);
  });
  const view = (node: ExplainNode): NodeView => ({
    path: node.path,
    condition: node.kind === 'condition' ? node.text : node.kind,
    ...counts.get(node)!,
    ...(node.kind !== 'condition' && { nodes: node.nodes.map(view) }),
  });
  const nodes = root.nodes.map(view);
  const begun = (): Statement => begin(snapshot, undefined, scope.language);
  const search = { records: snapshot.rows, begin: begun, rows: scope.rows };
  const causes =
    scope.total === 0
      ? await steps.time('causes', () => causesOf(search, explaining, counts))
      : undefined;
  return JSON.stringify({
    records: snapshot.rows,
    nodes,
    ...(causes && { causes }),
    segments: segmentsTouched(snapshot, predicate, scope.caseVariants),
    plan: scope.plan.steps,
    steps: { parse: rounded(parseMs), ...steps.list },
  });
}
