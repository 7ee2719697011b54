import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Walk } from '../../../engine/query/cursor.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request.js';
import { runQuery } from '../../../engine/query/run.js';
import { openBench, type Bench, type Dataset } from './dataset.js';
import { naiveFields } from './naive.js';
import { randomColumns, randomRequest, randomRows } from './random-case.js';
import { Random } from './random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? Date.now() % 1_000_000_007);
const cases = Number(process.env['STRANDLAKE_CASES'] ?? 300);
const casesPerDataset = 15;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** All ids of a walk, with pages of random sizes. */
async function walk(
  { snapshot, fields }: Dataset,
  request: QueryRequest,
  limit: () => number,
): Promise<{ readonly ids: string[]; readonly totals: Set<number> }> {
  const ids: string[] = [];
  const totals = new Set<number>();
  let state: Walk = { after: null, total: null, seen: 0 };
  for (;;) {
    const page = { ...request, offset: 0, limit: limit(), walk: state };
    const answer = await runQuery(bench.engine, snapshot, fields, page);
    ids.push(...(JSON.parse(answer.results) as { _id: string }[]).map(({ _id: id }) => id));
    totals.add(answer.total);
    if (!answer.position) return { ids, totals };
    expect(answer.count).toBe(page.limit);
    state = { after: answer.position, total: answer.total, seen: state.seen + answer.count };
  }
}

test(`the pages of a walk are the whole answer in its order (${cases} cases, STRANDLAKE_SEED=${seed}) (Q8, Q13)`, async () => {
  const random = new Random(seed);
  for (let done = 0; done < cases; done += casesPerDataset) {
    const columns = randomColumns(random);
    const segments = random.list(1 + random.below(4), () =>
      randomRows(random, columns, random.below(25)),
    );
    const dataset = await bench.dataset(columns, segments);
    const known = naiveFields(columns);
    for (let i = 0; i < casesPerDataset; i++) {
      const { filters, ordering } = randomRequest(random, known);
      const request = parseQuery(
        { filters, ordering, fields: ['_id'], limit: 10_000 },
        dataset.fields,
      );
      const whole = await runQuery(bench.engine, dataset.snapshot, dataset.fields, request);
      const wanted = (JSON.parse(whole.results) as { _id: string }[]).map(({ _id: id }) => id);
      const { ids, totals } = await walk(dataset, request, () => 1 + random.below(9));
      const where = `STRANDLAKE_SEED=${seed}, case ${done + i}`;
      expect([where, ids, [...totals]]).toEqual([where, wanted, [wanted.length]]);
    }
  }
}, 300_000);
