import { findCausesOfNoMatch } from './causes.js';
import { findHints } from './hints.js';
import type { ExplainGroup, ExplainNode } from '../request/condition-node.js';
import { liveSegmentTest } from '../predicate/kinds/prune.js';
import type { ExplainedRequest } from '../request/condition-tree.js';
import { liveRowCount, type Snapshot } from '../../store/store.js';
import type { Predicate, CaseVariants } from '../predicate/predicate.js';
import type { SegmentAccess } from '../executor/executor.js';
import type { CountsByNode, NodeCounts, RecordInspector } from '../executor/record-inspector.js';
import { roundMs, type PlanStep, type StepTimes } from '../executor/step.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';

/** The query to explain, and the inspector of its records. */
export interface ExplainScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly total: number;
  readonly steps: StepTimes;
  /** The steps by which the query was answered. */
  readonly plan: readonly PlanStep[];
  readonly access?: SegmentAccess | undefined;
  /** The stored case variants of the values in the predicate, as far as they are known. */
  readonly caseVariants: CaseVariants;
  /**
   * Counts the matches of the nodes by columns in memory if a step other than `read` used them, otherwise by SQL. If the result is
   * unsupported, the inspector counts.
   */
  readonly countNodes: (root: ExplainGroup) => Promise<CountsByNode | Unsupported>;
  readonly inspector: RecordInspector;
}

/** A node of the condition tree as the answer shows it. */
interface NodeView extends NodeCounts {
  readonly path: string;
  readonly condition: string;
  readonly nodes?: readonly NodeView[];
}

/** The numbers of segments that may contain a match (`touched`) and that cannot (`skipped`), according to the statistics of the log. */
interface SegmentCounts {
  readonly total: number;
  readonly touched: number;
  readonly skipped: number;
  /** Number of records in the touched segments. */
  readonly rows: number;
  /** The paths of the first touched segments, relative to the dataset's folder. */
  readonly paths: readonly string[];
  /** Number of touched segments that `paths` leaves out. */
  readonly more: number;
}

/**
 * Returns the `explain` member of a query's answer as JSON text: the matches of every condition, hints, causes if no record matches, the
 * segments, the plan and the times of its steps.
 */
export async function explanationJson(
  scope: ExplainScope,
  explaining: ExplainedRequest,
): Promise<string> {
  const { snapshot, predicate, steps, inspector } = scope;
  const { root, parseMs } = explaining;
  const counts = await steps.measure('counts', async () => {
    const nodeCounts = await scope.countNodes(root);
    return isUnsupported(nodeCounts) ? inspector.countNodes(root) : nodeCounts;
  });
  const view = (node: ExplainNode): NodeView => ({
    path: node.path,
    condition: node.kind === 'condition' ? node.text : node.kind,
    ...counts.get(node)!,
    ...(node.kind !== 'condition' && { nodes: node.nodes.map(view) }),
  });
  const nodes = root.nodes.map(view);
  const causes =
    scope.total === 0
      ? await steps.measure('causes', () =>
          findCausesOfNoMatch({ recordCount: snapshot.rows, inspector }, explaining, counts),
        )
      : undefined;
  const hints = await steps.measure('counts', () => findHints(root, explaining.index, inspector));
  return JSON.stringify({
    records: snapshot.rows,
    nodes,
    ...(hints.length > 0 && { hints }),
    ...(causes && { causes }),
    segments: segmentsTouched(snapshot, predicate, scope.caseVariants),
    ...(scope.access && { access: scope.access }),
    plan: scope.plan,
    steps: { parse: roundMs(parseMs), ...steps.roundedTimes },
  });
}

const maxTouchedPaths = 20;

function segmentsTouched(
  { segments }: Snapshot,
  predicate: Predicate,
  caseVariants: CaseVariants,
): SegmentCounts {
  const touchedSegments = segments.filter(liveSegmentTest(predicate, caseVariants));
  return {
    total: segments.length,
    touched: touchedSegments.length,
    skipped: segments.length - touchedSegments.length,
    rows: touchedSegments.reduce((sum, segment) => sum + liveRowCount(segment), 0),
    paths: touchedSegments.slice(0, maxTouchedPaths).map(({ path }) => path),
    more: Math.max(0, touchedSegments.length - maxTouchedPaths),
  };
}
