import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { haveAllEqualScores } from '../../../engine/query/text/relevance.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from './dataset.js';
import { Random } from './random.js';

const columns = [column('gene', 'string'), column('note', 'text'), column('depth', 'integer'), listColumn(column('tags', 'string'))]; // prettier-ignore

let engineFixtures: readonly [memory: EngineFixture, sql: EngineFixture];
let datasets: readonly [memory: TestDataset, sql: TestDataset];
beforeAll(async () => {
  engineFixtures = [await openEngineFixture(0), await openEngineFixture()];
  const random = new Random(20_261_121);
  const word = (): string => random.pick(['TTN', 'ttn', 'BRCA1', 'TTN AS1', 'x']);
  const segments = [300, 1, 200].map((rows) => random.list(rows, () => ({ gene: word(), note: random.list(random.integerBelow(4), word).join(' '), depth: random.integerBelow(9), tags: random.list(random.integerBelow(3), word) }))); // prettier-ignore
  const madeDatasets = await Promise.all(
    engineFixtures.map((engineFixture) => engineFixture.newDataset(columns, segments)),
  );
  datasets = madeDatasets as [TestDataset, TestDataset];
});
afterAll(async () => {
  for (const engineFixture of engineFixtures) await engineFixture.close();
});

test.each([
  ['gene:TTN', true],
  ['gene:TTN AND depth:>3', true],
  ['+gene:TTN +tags:brca1', true],
  ['gene:T*', true],
  ['gene:TTN^3 AND NOT tags:x', true],
  ['gene:TTN OR gene:BRCA1', false],
  ['gene:(TTN x)', false],
  ['+gene:TTN tags:brca1', false],
  ['TTN', false],
  ['note:TTN', false],
  ['gene:TTN AND note:x', false],
])('%s ranks all that it finds alike: %s', async (query, isAlike) => {
  const body = { query, filters: [['depth__gt', 0]], limit: 70, offset: 3, facets: { gene: {} } };
  const [memoryAnswer, sqlAnswer] = await Promise.all(
    datasets.map(async ({ snapshot, fields }, i) => {
      const { took: _, ...answer } = await runQuery(engineFixtures[i]!.engine, snapshot, fields, parseQuery(body, fields)); // prettier-ignore
      return answer;
    }),
  );
  expect(memoryAnswer).toEqual(sqlAnswer);
  const parsedRequest = parseQuery(body, datasets[0].fields);
  expect(haveAllEqualScores(parsedRequest.predicate, parsedRequest.scoreClauses)).toBe(isAlike);
  if (!isAlike) return;
  // The ids are ascending in insertion order.
  const ids = (JSON.parse(sqlAnswer!.results) as { _id: string }[]).map(({ _id: id }) => id);
  expect(ids).toEqual(ids.toSorted());
  expect(ids.length).toBeGreaterThan(10);
});
