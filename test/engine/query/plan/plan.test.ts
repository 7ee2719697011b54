import { describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Columns } from '../../../../engine/core/types.js';
import { planQuery, type Available, type PlanRequest } from '../../../../engine/query/plan/plan.js';
import type { CursorProgress } from '../../../../engine/query/plan/position.js';
import { parseQuery } from '../../../../engine/query/request/request.js';
import { project } from '../../../../engine/query/results/projection.js';
import type { LeafStats, Snapshot } from '../../../../engine/store/store.js';
import { column, fieldRows, listOf } from '../dataset.js';

/*
 * plan.txt holds cases `SETTING request ==> plan`. A plan is written as its steps, joined by ` | `, each as
 * `step executor columns: reason`, behind the number of segments and records that can match. STRANDLAKE_PLANS=write writes the plans
 * that are found into the file, to be read before they are committed.
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
  listOf(column('clnsig', 'string')),
  listOf(column('remarks', 'text')),
  column('info', 'object', [column('AF', 'double'), listOf(column('AC', 'integer'))]),
  listOf(column('sample', 'object', [column('name', 'string'), column('GT', 'string')])),
  listOf(column('report', 'object', [column('finding', 'text')])),
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
];
const fields = fieldRows(columns, []);

/** Segments of a million records sorted by chromosome 1, 2, 3 …, from whose places their variants follow; depth lies from 0 to 100, gene from A to Z. */
function snapshotOf(segments: number, rows = 1_000_000): Snapshot {
  const statsOf = (i: number): Readonly<Record<string, LeafStats>> => ({
    depth: { nulls: 0, min: 0, max: 100 },
    gene: { nulls: 10, min: 'A', max: 'Z' },
    variant: { nulls: 0, min: 'GRCH38-', max: 'GRCH38-9' },
    'genomic_coordinates.chromosome': { nulls: 0, min: String(i + 1), max: String(i + 1) },
    'genomic_coordinates.start': { nulls: 0, min: 1, max: 240_000_000 },
  });
  const all = Array.from({ length: segments }, (_, i) => ({
    path: `part-${i}.parquet`,
    rows,
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
    segments: all,
    rows: segments * rows,
    bytes: segments,
    files: ['schema', ...all.map(({ path }) => path)],
  };
}

interface Setting {
  readonly snapshot: Snapshot;
  readonly available: Partial<Available>;
  readonly cursor?: CursorProgress;
}

const refusing = (key: string, reason: string): Partial<Available> => ({
  refused: new Map([[key, reason]]),
});
const fourSegments = snapshotOf(4);
const cursorRequest = { after: { keys: [], file: 2, row: 7n }, total: 100, seen: 10 };

/** The statistics and what is available, by the word that a case begins with. */
const settings: Readonly<Record<string, Setting>> = {
  memory: { snapshot: fourSegments, available: {} },
  small: { snapshot: snapshotOf(1, 1_000), available: {} },
  empty: { snapshot: snapshotOf(0), available: {} },
  sql: { snapshot: fourSegments, available: { memory: false } },
  ids: { snapshot: fourSegments, available: { rowNumbers: false } },
  begin: { snapshot: fourSegments, available: {}, cursor: { after: null, total: null, seen: 0 } },
  cursor: { snapshot: fourSegments, available: {}, cursor: cursorRequest },
  'begin-ids': {
    snapshot: fourSegments,
    available: { rowNumbers: false },
    cursor: { after: null, total: null, seen: 0 },
  },
  'cursor-ids': { snapshot: fourSegments, available: { rowNumbers: false }, cursor: cursorRequest },
  'no-index': {
    snapshot: fourSegments,
    available: refusing('select index', 'a segment has no text index'),
  },
  'no-weigh': {
    snapshot: fourSegments,
    available: refusing('weigh memory', 'a segment has no text index'),
  },
  'no-select': {
    snapshot: fourSegments,
    available: refusing('select memory', 'too many different values'),
  },
  'no-facets': {
    snapshot: fourSegments,
    available: refusing('facets memory', 'too many different values'),
  },
  'no-read': {
    snapshot: fourSegments,
    available: refusing('read memory', 'a worker thread exited'),
  },
};

function planOf(name: string, body: unknown): string {
  const { snapshot, available, cursor } = settings[name]!;
  const parsed = parseQuery(body, fields);
  const request: PlanRequest = {
    ...parsed,
    ...(cursor && { cursor }),
    returned: project(columns, fields, parsed).map((each) => each.column.name),
    isExplained: parsed.explain !== undefined,
  };
  const whole = { memory: true, rowNumbers: true, refused: new Map(), ...available };
  const { steps, segments, rows, isHeavy } = planQuery(request, snapshot, whole);
  const shownSteps = steps.map(({ step, executor, columns: read, reason }) => {
    const names = step === 'read' && read.length > 5 ? '*' : read.join(' ');
    return `${step} ${executor}${names === '' ? '' : ` ${names}`}: ${reason}`;
  });
  return `${segments} of ${rows}${isHeavy ? ' heavy' : ''} | ${shownSteps.join(' | ')}`;
}

const path = 'test/engine/query/plan/plan.txt';
const lines = readFileSync(path, 'utf8').split('\n');
const cases = lines.flatMap((line, i) => {
  const match = /^([a-z-]+) (.*?)(?: ==> (.*))?$/.exec(line);
  return match ? [{ i, name: match[1]!, body: match[2]!, wanted: match[3] }] : [];
});

if (process.env['STRANDLAKE_PLANS'] === 'write') {
  for (const { i, name, body } of cases) {
    lines[i] = `${name} ${body} ==> ${planOf(name, JSON.parse(body))}`;
  }
  writeFileSync(path, lines.join('\n'));
}

describe('a plan', () => {
  test.each(cases)('$name $body', ({ name, body, wanted }) => {
    expect(planOf(name, JSON.parse(body))).toBe(wanted);
  });

  test('is found in at least 60 cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(60);
  });

  test('is the same each time, and frozen data that survives a structured clone', () => {
    const parsed = parseQuery({ filters: [['gene', 'TTN']] }, fields);
    const request = { ...parsed, returned: ['gene'], isExplained: false };
    const available = { memory: true, rowNumbers: true, refused: new Map() };
    const first = planQuery(request, fourSegments, available);
    expect(planQuery(request, fourSegments, available)).toEqual(first);
    expect(structuredClone(first)).toEqual(first);
  });

  test('costs in proportion to the records of the segments that can match', () => {
    const cost = (snapshot: Snapshot): number => {
      const parsed = parseQuery({ filters: [['af__gt', 0.5]], limit: 0 }, fields);
      const request = { ...parsed, returned: [], isExplained: false };
      const available = { memory: true, rowNumbers: true, refused: new Map() };
      return planQuery(request, snapshot, available).steps[0]!.cost;
    };
    expect(cost(snapshotOf(8)) / cost(snapshotOf(4))).toBeCloseTo(2, 1);
  });
});
