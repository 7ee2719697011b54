import { describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Columns } from '../../../../engine/core/types.js';
import { openMemoryExecutor } from '../../../../engine/query/memory/memory-executor.js';
import {
  planQuery,
  type PlannerContext,
  type PlanRequest,
} from '../../../../engine/query/plan/plan.js';
import type { CursorProgress } from '../../../../engine/query/request/position.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { project } from '../../../../engine/query/results/projection.js';
import { deletionVector } from '../../../../engine/store/deletion-vector.js';
import type { LeafStats, Snapshot } from '../../../../engine/store/store.js';
import { column, fieldRows, listColumn } from '../dataset.js';

/*
 * plan.txt contains cases `SETTING request ==> plan`. A plan is written as the number of segments that may contain a match, the number of
 * their records, `heavy` if the query is, and its steps, joined by ` | `, each as `step executor columns cost ms: reason`. With
 * STRANDLAKE_PLANS=write, the test writes the plans that it finds into the file, to be read before they are committed.
 */

const columns: Columns = [
  column('gene', 'string'),
  column('variant', 'string'),
  column('af', 'double'),
  column('depth', 'integer'),
  column('day', 'date'),
  column('checked', 'boolean'),
  column('note', 'text'),
  column('abstract', 'text'),
  listColumn(column('clnsig', 'string')),
  listColumn(column('remarks', 'text')),
  column('info', 'object', [column('AF', 'double'), listColumn(column('AC', 'integer'))]),
  listColumn(column('sample', 'object', [column('name', 'string'), column('GT', 'string')])),
  listColumn(column('report', 'object', [column('finding', 'text')])),
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
];
const fields = fieldRows(columns, []);

/**
 * Returns a snapshot with segments of `rowsPerSegment` records, sorted by chromosome 1, 2, 3 …; each variant follows from the position. `depth` is
 * from 0 to 100, `gene` from A to Z.
 */
function snapshotOf(segmentCount: number, rowsPerSegment = 1_000_000): Snapshot {
  const statsOf = (i: number): Readonly<Record<string, LeafStats>> => ({
    depth: { nulls: 0, min: 0, max: 100 },
    gene: { nulls: 10, min: 'A', max: 'Z' },
    variant: { nulls: 0, min: 'GRCH38-', max: 'GRCH38-9' },
    'genomic_coordinates.chromosome': { nulls: 0, min: String(i + 1), max: String(i + 1) },
    'genomic_coordinates.start': { nulls: 0, min: 1, max: 240_000_000 },
  });
  const allSegments = Array.from({ length: segmentCount }, (_, i) => ({
    path: `part-${i}.parquet`,
    rows: rowsPerSegment,
    bytes: 1,
    format: 2,
    checksum: '',
    columns,
    stats: statsOf(i),
    areVariantsPlaced: true,
  }));
  return {
    datasetId: 1,
    version: 1,
    columns,
    segments: allSegments,
    rows: segmentCount * rowsPerSegment,
    bytes: segmentCount,
    files: ['schema', ...allSegments.map(({ path }) => path)],
  };
}

/** Returns a snapshot as upserts leave it: some records are deleted, and the new ones in the last segment have row ids among the others. */
function changedSnapshot(segments: number): Snapshot {
  const snapshot = snapshotOf(segments);
  const changedSegments = snapshot.segments.map((segment, i) =>
    i === 0 ? { ...segment, deletion: deletionVector(Int32Array.of(0, 7, 8)) } : segment,
  );
  return { ...snapshot, segments: changedSegments, isInterleaved: true };
}

/** The executors that the planner asks what they support. They start no thread, because no step is carried out. */
const memory = openMemoryExecutor({ threads: 0, cacheMb: 1 });
const everyExecutor = { memory, index: memory.index, hasRowNumbers: true, refused: new Map() };

interface PlanSetting {
  readonly snapshot: Snapshot;
  readonly available: Partial<PlannerContext>;
  readonly cursor?: CursorProgress;
  readonly isBatched?: true;
}

const refusedColumn = (key: string, reason: string): Partial<PlannerContext> => ({
  refused: new Map([[key, reason]]),
});
const fourSegments = snapshotOf(4);
const cursorRequest = { after: { keys: [], file: 2, row: 7n }, total: 100, seen: 10 };

/** The snapshot, the available executors, the cursor, and whether records are read in batches, by the word with which a case begins. */
const planSettings: Readonly<Record<string, PlanSetting>> = {
  memory: { snapshot: fourSegments, available: {} },
  small: { snapshot: snapshotOf(1, 1_000), available: {} },
  empty: { snapshot: snapshotOf(0), available: {} },
  changed: { snapshot: changedSnapshot(4), available: {} },
  'changed-cursor': { snapshot: changedSnapshot(4), available: {}, cursor: cursorRequest },
  'changed-sql': {
    snapshot: changedSnapshot(4),
    available: { memory: undefined, index: undefined },
  },
  'changed-batches': {
    snapshot: changedSnapshot(4),
    available: { memory: undefined, index: undefined },
    isBatched: true,
  },
  sql: { snapshot: fourSegments, available: { memory: undefined, index: undefined } },
  batches: {
    snapshot: fourSegments,
    available: { memory: undefined, index: undefined },
    isBatched: true,
  },
  ids: { snapshot: fourSegments, available: { hasRowNumbers: false } },
  begin: { snapshot: fourSegments, available: {}, cursor: { after: null, total: null, seen: 0 } },
  cursor: { snapshot: fourSegments, available: {}, cursor: cursorRequest },
  'begin-ids': {
    snapshot: fourSegments,
    available: { hasRowNumbers: false },
    cursor: { after: null, total: null, seen: 0 },
  },
  'cursor-ids': {
    snapshot: fourSegments,
    available: { hasRowNumbers: false },
    cursor: cursorRequest,
  },
  'no-index': {
    snapshot: fourSegments,
    available: refusedColumn('select index', 'a segment has no text index'),
  },
  'no-weigh': {
    snapshot: fourSegments,
    available: refusedColumn('weigh memory', 'a segment has no text index'),
  },
  'no-select': {
    snapshot: fourSegments,
    available: refusedColumn('select memory', 'too many different values'),
  },
  'no-facets': {
    snapshot: fourSegments,
    available: refusedColumn('facets memory', 'too many different values'),
  },
};

function planText(name: string, body: unknown): string {
  const { snapshot, available, cursor, isBatched } = planSettings[name]!;
  const parsedRequest = parseQuery(body, fields);
  const request: PlanRequest = {
    ...parsedRequest,
    ...(cursor && { cursor }),
    ...(isBatched && { isBatched }),
    returned: project(columns, fields, parsedRequest).map((each) => each.column.name),
    isExplained: parsedRequest.explain !== undefined,
  };
  const context = { ...everyExecutor, ...available };
  const { steps, segments, rows, isHeavy } = planQuery(request, snapshot, context);
  const shownSteps = steps.map(({ step, executor, columns: readColumns, cost, reason }) => {
    const names = step === 'read' && readColumns.length > 5 ? '*' : readColumns.join(' ');
    return `${step} ${executor}${names === '' ? '' : ` ${names}`} ${cost} ms: ${reason}`;
  });
  return `${segments} of ${rows}${isHeavy ? ' heavy' : ''} | ${shownSteps.join(' | ')}`;
}

const casesFile = 'test/engine/query/plan/plan.txt';
const lines = readFileSync(casesFile, 'utf8').split('\n');
const planCases = lines.flatMap((line, i) => {
  const match = /^([a-z-]+) (.*?)(?: ==> (.*))?$/.exec(line);
  return match ? [{ i, name: match[1]!, body: match[2]!, expectedPlan: match[3] }] : [];
});

if (process.env['STRANDLAKE_PLANS'] === 'write') {
  for (const { i, name, body } of planCases) {
    lines[i] = `${name} ${body} ==> ${planText(name, JSON.parse(body))}`;
  }
  writeFileSync(casesFile, lines.join('\n'));
}

describe('a plan', () => {
  test.each(planCases)('$name $body', ({ name, body, expectedPlan }) => {
    expect(planText(name, JSON.parse(body))).toBe(expectedPlan);
  });

  test('is found in at least 60 cases', () => {
    expect(planCases.length).toBeGreaterThanOrEqual(60);
  });

  test('is the same each time, and plain data that survives a structured clone', () => {
    const parsedRequest = parseQuery({ filters: [['gene', 'TTN']] }, fields);
    const request = { ...parsedRequest, returned: ['gene'], isExplained: false };
    const plan = planQuery(request, fourSegments, everyExecutor);
    expect(planQuery(request, fourSegments, everyExecutor)).toEqual(plan);
    expect(structuredClone(plan)).toEqual(plan);
  });

  test('costs in proportion to the records of the segments that can match', () => {
    const cost = (snapshot: Snapshot): number => {
      const parsedRequest = parseQuery({ filters: [['af__gt', 0.5]], limit: 0 }, fields);
      const request = { ...parsedRequest, returned: [], isExplained: false };
      return planQuery(request, snapshot, everyExecutor).steps[0]!.cost;
    };
    expect(cost(snapshotOf(8)) / cost(snapshotOf(4))).toBeCloseTo(2, 1);
  });
});
