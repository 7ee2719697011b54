import { beforeAll, expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob, type Answer } from '../server.js';
import { pollUntil } from '../../until.js';

const { server, ann, newDataset, runImport } = await startServerFixture({
  scheduler: { startWorker, config: { threads: 1, workerMemoryMb: 512, log: 'debug' } },
});

const variant = 'GRCH38-13-32316461-32316461-G';
let datasetId: number;

beforeAll(async () => {
  datasetId = await newDataset();
  const records = Array.from({ length: 20 }, (_, n) => ({ n, gene: n < 5 ? 'TP53' : 'KRAS', variant }));
  await runImport({
    dataset_id: datasetId,
    records,
    target_fields: [{ name: 'variant', data_type: 'string', entity_type: 'variant' }],
  });
}); // prettier-ignore

const query = { filters: [['gene', 'TP53']], limit: 2 };

function fetchPage(accept: string): Promise<Answer> {
  return ann.call('POST', `/v2/datasets/${datasetId}/data`, query, { accept });
}

test.each<readonly [request: string, send: () => Promise<Answer>]>([
  ['a page of JSON', () => fetchPage('application/json')],
  ['a page of JSON lines', () => fetchPage('application/x-ndjson')],
  ['a page of CSV', () => fetchPage('text/csv')],
  ['a page of Arrow', () => fetchPage('application/vnd.apache.arrow.stream')],
  ['a batch query', () => ann.post('/v2/batch_query', { queries: [{ dataset: datasetId, ...query }] })],
  ['a beacon', () => ann.get(`/v2/datasets/${datasetId}/beacon?${new URLSearchParams({ chromosome: '13', coordinate: '32316461', allele: 'G' })}`)],
])('the plan of %s is in the debug log', async (_, send) => {
  server.logs.length = 0;
  expect((await send()).status).toBe(200);
  expect(plansIn(server.logs)).toEqual([planMatcher('select by memory')]);
}); // prettier-ignore

test.each([
  ['a query', query, 'find by sql'],
  ['all records', {}, 'find by log'],
])('the plan of an export of %s is in the debug log of the worker', async (_, params, step) => {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (line) => lines.push(String(line)) > 0;
  try {
    const request = { dataset_id: datasetId, format: 'csv', params };
    const createdExport = await ann.post('/v2/dataset_exports', request);
    const { json } = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    expect(json['status']).toBe('completed');
    await pollUntil(() => plansIn(lines).length > 0);
    expect(plansIn(lines)).toEqual([planMatcher(step)]);
  } finally {
    process.stderr.write = write;
  }
});

/** Returns the plans among the lines of a log. */
function plansIn(lines: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ event }) => event === 'plan');
}

/** Returns a matcher for the log entry of a plan whose steps begin with the given text. */
function planMatcher(step: string): unknown {
  return expect.objectContaining({
    subject: `dataset ${datasetId}`,
    condition: expect.any(String),
    steps: expect.stringMatching(`^${step}`),
    segments: 1,
    rows: 20,
  });
}
