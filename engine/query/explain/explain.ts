import { findCauses } from './causes.js';
import type { DialectFactory } from '../sql/dialect.js';
import type { RunSelect } from '../sql/statement.js';
import {
  countNodes,
  countNodesByPredicate,
  type CountRecordsOfEach,
  type NodeCounts,
} from './counts.js';
import { findHints } from './hints.js';
import { leavesOf, type ExplainNode } from './node.js';
import { liveSegmentTest } from '../predicate/prune.js';
import type { ExplainedRequest } from './tree.js';
import type { Snapshot } from '../../store/store.js';
import { and, type Predicate, type CaseVariants } from '../predicate/predicate.js';
import { newStatement, type Statement } from '../sql/statement.js';
import type { SegmentAccess } from '../plan/executor.js';
import type { Plan } from '../plan/plan.js';
import { roundMs } from '../plan/cost.js';
import type { StepTimes } from '../plan/steps.js';
import { isUnsupported } from '../unsupported.js';

/** The query to explain, and how statements about it run. */
export interface ExplainScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly total: number;
  readonly steps: StepTimes;
  /** How the query was answered. */
  readonly plan: Plan;
  readonly access?: SegmentAccess | undefined;
  readonly language: DialectFactory;
  readonly rows: RunSelect;
  /** The stored case variants of the values in the predicate, as far as they are known. */
  readonly caseVariants: CaseVariants;
  readonly findCaseVariants: (predicate: Predicate) => Promise<CaseVariants>;
  /** Absent if the query was answered by SQL: then SQL also does the counting. */
  readonly count?: CountRecordsOfEach | undefined;
}

/** A node of the condition tree as the answer shows it. */
interface NodeView extends NodeCounts {
  readonly path: string;
  readonly condition: string;
  readonly nodes?: readonly NodeView[];
}

/** The segments that may contain a match, according to the statistics of the log. */
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
 * Returns the `explain` member of a query's answer as JSON text: matches of every condition, causes if the answer is empty, segments, plan.
 */
export async function explanationJson(
  scope: ExplainScope,
  explaining: ExplainedRequest,
): Promise<string> {
  const { snapshot, predicate, steps } = scope;
  const { root, parseMs } = explaining;
  const counts = await steps.measure('counts', async () => {
    const nodeCounts = scope.count && (await countNodesByPredicate(root, scope.count));
    if (nodeCounts !== undefined && !isUnsupported(nodeCounts)) return nodeCounts;
    const caseVariants = await scope.findCaseVariants(
      and(leavesOf(root).map((leaf) => leaf.predicate)),
    );
    return countNodes(newStatement(snapshot, caseVariants, scope.language), root, scope.rows);
  });
  const view = (node: ExplainNode): NodeView => ({
    path: node.path,
    condition: node.kind === 'condition' ? node.text : node.kind,
    ...counts.get(node)!,
    ...(node.kind !== 'condition' && { nodes: node.nodes.map(view) }),
  });
  const nodes = root.nodes.map(view);
  const beginStatement = (): Statement => newStatement(snapshot, undefined, scope.language);
  const search = { records: snapshot.rows, begin: beginStatement, rows: scope.rows };
  const causes =
    scope.total === 0
      ? await steps.measure('causes', () => findCauses(search, explaining, counts))
      : undefined;
  const hints = await steps.measure('counts', () =>
    findHints(root, explaining.index, beginStatement, scope.rows),
  );
  return JSON.stringify({
    records: snapshot.rows,
    nodes,
    ...(hints.length > 0 && { hints }),
    ...(causes && { causes }),
    segments: segmentsTouched(snapshot, predicate, scope.caseVariants),
    ...(scope.access && { access: scope.access }),
    plan: scope.plan.steps,
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
    rows: touchedSegments.reduce((sum, { rows }) => sum + rows, 0),
    paths: touchedSegments.slice(0, maxTouchedPaths).map(({ path }) => path),
    more: Math.max(0, touchedSegments.length - maxTouchedPaths),
  };
}
