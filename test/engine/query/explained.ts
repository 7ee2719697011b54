import type { SegmentAccess } from '../../../engine/query/executor/executor.js';
import type { PlanStep } from '../../../engine/query/executor/step.js';
import { expect } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import type { Hint } from '../../../engine/query/explain/hints.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import type { GeneNames } from '../../../engine/query/request/entities.js';
import type { EngineFixture, TestDataset } from './dataset.js';

/** What `access` has if no segment was evaluated. */
export const noAccess: SegmentAccess = { bounds: 0, filters: 0, pages: 0, searches: 0, hashes: 0, columns: 0 }; // prettier-ignore

/** A condition in the `explain` member of an answer. */
export interface ExplainedNode {
  readonly path: string;
  readonly condition: string;
  readonly matches: number;
  readonly left: number;
  readonly nodes?: readonly ExplainedNode[];
}

/** A likely cause of an empty answer. */
export interface Cause {
  readonly path: string;
  readonly cause: string;
  readonly hint: string;
  readonly matches?: number;
  readonly left?: number;
  readonly instead?: string;
  readonly values?: readonly unknown[];
}

/** The `explain` member of an answer. */
export interface ExplainAnswer {
  readonly records: number;
  readonly nodes: readonly ExplainedNode[];
  readonly hints?: readonly Hint[];
  readonly causes?: readonly Cause[];
  readonly segments: {
    readonly total: number;
    readonly touched: number;
    readonly skipped: number;
    readonly rows: number;
    readonly paths: readonly string[];
    readonly more: number;
  };
  readonly access?: SegmentAccess;
  readonly steps: Readonly<Record<string, number>>;
  readonly plan: readonly PlanStep[];
}

/** Returns the explanation of a query. */
export async function explainQuery(
  engineFixture: EngineFixture,
  { snapshot, fields }: TestDataset,
  body: object,
  genes?: GeneNames,
): Promise<{ readonly explain: ExplainAnswer; readonly total: number }> {
  const request = parseQuery({ ...body, explain: true }, fields, genes);
  const { explain, total } = await runQuery(engineFixture.engine, snapshot, fields, request);
  return { explain: JSON.parse(explain!) as ExplainAnswer, total };
}

/** Runs the corrected condition of every cause that has one with a number of matches, and expects as many matches. */
export async function confirmCauses(
  engineFixture: EngineFixture,
  { snapshot, fields }: TestDataset,
  explain: ExplainAnswer,
  genes?: GeneNames,
): Promise<void> {
  for (const { instead, matches, left, path } of explain.causes ?? []) {
    if (instead === undefined || matches === undefined) continue;
    const key = path.replace(/[[.].*/, '');
    const isList = key === 'entities' || key === 'filters';
    const correctedValue = isList && !instead.startsWith('{') ? parseJson(`[${instead}]`) : instead;
    const body = instead.startsWith('{')
      ? (JSON.parse(instead) as object)
      : { [key]: correctedValue };
    const request = parseQuery({ ...body, limit: 0 }, fields, genes);
    const answer = await runQuery(engineFixture.engine, snapshot, fields, request);
    expect([instead, answer.total]).toEqual([instead, matches]);
    expect(left).toBeLessThanOrEqual(matches);
  }
}
