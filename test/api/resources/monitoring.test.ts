import { expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { budgets } from '../../../engine/core/budgets.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, sendRequest } from '../server.js';

const { server, ann, vaultId, newDataset } = await startServerFixture({
  scheduler: { startWorker },
});

/** A sample of the OpenMetrics text format: name, labels and value. */
interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Parses OpenMetrics 1.0 text without exemplars and timestamps; throws for a malformed line, a missing or repeated type, or a missing
 * `# EOF`.
 */
function parseMetrics(text: string): readonly MetricSample[] {
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.pop() !== '# EOF') throw new Error('does not end with # EOF');
  const types = new Map<string, string>();
  const samples: MetricSample[] = [];
  for (const line of lines) {
    const meta = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][\w:]*) (.*)$/.exec(line);
    if (meta !== null) {
      if (meta[1] === 'TYPE') {
        if (types.has(meta[2]!)) throw new Error(`has ${meta[2]} twice`);
        types.set(meta[2]!, meta[3]!);
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/.exec(line); // prettier-ignore
    if (sample === null) throw new Error(`is no sample: ${line}`);
    const [, name, inner = '', value] = sample as unknown as string[];
    const family = name!.replace(/_(?:total|bucket|sum|count|created)$/, '');
    if (!types.has(name!) && !types.has(family)) throw new Error(`has no type of ${name}`);
    const pairs = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const labels = Object.fromEntries(pairs.map(([, key, text]) => [key!, text!]));
    const sampleValue = value === '+Inf' ? Infinity : Number(value);
    if (Number.isNaN(sampleValue) && value !== 'Nan' && value !== 'NaN') throw new Error(`is no number: ${line}`); // prettier-ignore
    samples.push({ name: name!, labels, value: sampleValue });
  }
  return samples;
}

async function readMetrics(): Promise<readonly MetricSample[]> {
  const { status, text } = await sendRequest(server.url, 'GET', '/metrics');
  expect(status).toBe(200);
  return parseMetrics(text);
}

const metricValueOf = (
  samples: readonly MetricSample[],
  name: string,
  labels: Record<string, string> = {},
): number =>
  // prettier-ignore
  samples
    .filter((one) => one.name === name)
    .filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);

test('metrics are OpenMetrics, and count what is asked and stored', async () => {
  const route = { route: '/v2/datasets/:id/data', method: 'POST', status: '200' };
  const countMetric = 'strandlake_http_request_duration_seconds_count';
  const samplesBefore = await readMetrics();
  const id = await newDataset();
  const records = Array.from({ length: 7 }, (_, n) => ({ n }));
  await ann.post('/v2/dataset_imports', { dataset_id: id, records });
  for (let i = 0; i < 3; i++) await ann.post(`/v2/datasets/${id}/data`, { limit: 1 });
  await ann.get('/v2/nowhere');
  const samplesAfter = await readMetrics();
  const increaseOf = (name: string, labels = {}): number =>
    metricValueOf(samplesAfter, name, labels) - metricValueOf(samplesBefore, name, labels);
  expect(increaseOf(countMetric, route)).toBe(3);
  expect(increaseOf('strandlake_datasets')).toBe(1);
  expect(increaseOf('strandlake_records')).toBe(7);
  expect(increaseOf('strandlake_dataset_bytes')).toBeGreaterThan(0);
  expect(increaseOf('strandlake_tasks', { kind: 'import', status: 'completed' })).toBe(1);
  expect(metricValueOf(samplesAfter, 'strandlake_worker_up')).toBe(1);
  expect(metricValueOf(samplesAfter, 'strandlake_free_disk_bytes')).toBeGreaterThan(1 << 20);
  // The buckets of a histogram are cumulative, and the last one counts all requests.
  const buckets = samplesAfter.filter(({ name, labels }) => name === 'strandlake_http_request_duration_seconds_bucket' && labels['route'] === route.route); // prettier-ignore
  const values = buckets.map(({ value }) => value);
  expect(values).toEqual(values.toSorted((a, b) => a - b));
  expect([buckets.at(-1)!.labels['le'], values.at(-1)]).toEqual(['+Inf', 3]);
  // No `route` label contains an id or a path that a client sent.
  const routes = new Set(samplesAfter.map(({ labels }) => labels['route'] ?? ''));
  expect([...routes].filter((one) => /\d{4}|nowhere/.test(one))).toEqual([]);
});

test('metrics tell how full the cache of columns is, and how often queries found there what they read', async () => {
  const id = await newDataset();
  const records = Array.from({ length: 500 }, (_, n) => ({ n, text: `value ${n}` }));
  await ann.post('/v2/dataset_imports', { dataset_id: id, records });
  const lookupsOf = (samples: readonly MetricSample[], result: string): number =>
    metricValueOf(samples, 'strandlake_query_cache_lookups_total', { result });
  const sort = (): Promise<unknown> => ann.post(`/v2/datasets/${id}/data`, { ordering: ['n'] });
  const samplesBefore = await readMetrics();
  await sort();
  const firstSamples = await readMetrics();
  expect(lookupsOf(firstSamples, 'miss')).toBeGreaterThan(lookupsOf(samplesBefore, 'miss'));
  const bytes = metricValueOf(firstSamples, 'strandlake_query_cache_bytes');
  expect(bytes).toBeGreaterThan(metricValueOf(samplesBefore, 'strandlake_query_cache_bytes'));
  expect(metricValueOf(firstSamples, 'strandlake_query_cache_limit_bytes')).toBe(64 << 20);
  await sort();
  const secondSamples = await readMetrics();
  expect(lookupsOf(secondSamples, 'hit')).toBeGreaterThan(lookupsOf(firstSamples, 'hit'));
  expect(metricValueOf(secondSamples, 'strandlake_query_cache_bytes')).toBe(bytes);
});

test('metrics do not exist for clients behind a proxy', async () => {
  for (const header of ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip']) {
    const { status } = await sendRequest(server.url, 'GET', '/metrics', undefined, { [header]: '127.0.0.1' }); // prettier-ignore
    expect([header, status]).toEqual([header, 404]);
  }
});

test('the server says that it lives and that it is ready', async () => {
  const livenessAnswer = await sendRequest(server.url, 'GET', '/healthz');
  expect([livenessAnswer.status, livenessAnswer.json]).toEqual([200, { status: 'ok' }]);
  const readinessAnswer = await sendRequest(server.url, 'GET', '/readyz');
  expect([readinessAnswer.status, readinessAnswer.json]).toEqual([
    200,
    { status: 'ready', problems: [] },
  ]);
});

test('the server is not ready while the disk has less free space than writes leave', async () => {
  const changedBudgets = budgets as unknown as Record<string, number>;
  const { diskReserveBytes } = budgets;
  changedBudgets['diskReserveBytes'] = 2 ** 60;
  try {
    const { status, json } = await sendRequest(server.url, 'GET', '/readyz');
    const problems = ['the disk of the data folder is full'];
    expect([status, json]).toEqual([503, { status: 'not ready', problems }]);
  } finally {
    changedBudgets['diskReserveBytes'] = diskReserveBytes;
  }
});

test('usage counts what the vaults hold that the user may read', async () => {
  const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a.txt' }); // prettier-ignore
  await sendRequest('', 'PUT', String(file.json['upload_url']), 'twelve bytes');
  const { json } = await ann.get('/v2/usage');
  const vaults = json['vaults'] as Record<string, number>[];
  const ownUsage = vaults.find((one) => one['vault_id'] === vaultId)!;
  const datasets = (await ann.get(`/v2/datasets?vault_id=${vaultId}`)).json['data'] as Record<string, number>[]; // prettier-ignore
  const records = datasets.reduce((sum, one) => sum + one['documents_count']!, 0);
  expect(ownUsage).toMatchObject({ datasets: datasets.length, records, files: 1, file_bytes: 12 });
  const totalUsage = json['total'] as Record<string, number>;
  for (const key of ['datasets', 'records', 'dataset_bytes', 'files', 'file_bytes'])
    expect([key, totalUsage[key]]).toEqual([key, vaults.reduce((sum, one) => sum + one[key]!, 0)]);
  const bob = await server.user('bob');
  const otherUsages = (await bob.get('/v2/usage')).json['vaults'] as Record<string, number>[];
  expect(otherUsages.map((one) => one['vault_id'])).not.toContain(vaultId);
  expect(idOf(file)).toBeGreaterThan(0);
});
