import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { type Answer, type Client } from '../server.js';

/* Tests expressions that read much, run for long or attack the server (contract 19; threats E1, E4, E5, E6). */

const { server, ann, newDataset, runImport, countRecords } = await startServerFixture();

/** Evaluates an expression; returns the answer of the server. */
function evaluate(expression: string, more: object = {}): Promise<Answer> {
  return ann.post('/v1/evaluate', { expression, ...more });
}

/** Returns the result of an expression, or the detail of its error. */
async function evaluateOrDetail(expression: string): Promise<unknown> {
  const { json } = await evaluate(expression);
  return json['result'] ?? json['detail'];
}

test('dataset functions read more records than a request over HTTP may have, up to a limit of bytes', async () => {
  const dataset_id = await newDataset();
  const text = 'x'.repeat(4000);
  for (const part of [0, 1, 2]) {
    const records = Array.from({ length: 5000 }, (_, i) => ({ n: part * 5000 + i, text }));
    await runImport({ dataset_id, records });
  }
  const queryCall = `dataset_query(${dataset_id}, limit=100000`;
  expect(await evaluateOrDetail(`len(${queryCall}, fields=['n']))`)).toBe('15000');
  const valuesCall = `dataset_field_values(${dataset_id}, 'n', limit=12000)`;
  expect(await evaluateOrDetail(`len(${valuesCall})`)).toBe('12000');
  expect(await evaluateOrDetail(`${queryCall})`)).toBe(
    'Dataset query failed: the answer is larger than 16 MB: ask for fewer records or fields (line 1, column 1)',
  );
});

describe('the threads', () => {
  /** Sends an annotation that runs longer than a request may; resolves once the server has begun the request. */
  async function spin(
    key: string,
    caller: Client,
    abortController: AbortController,
  ): Promise<void> {
    const expression = 'sum(1 for i in range(600000))';
    const fields = Array.from({ length: 1000 }, (_, i) => ({ name: `f${i}`, expression }));
    const records = Array.from({ length: 500 }, () => ({}));
    const abandonedRequest = fetch(`${server.url}/v1/annotate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.token}` },
      body: JSON.stringify({ records, fields, [key]: 1 }),
      signal: abortController.signal,
    });
    abandonedRequest.catch(() => undefined);
    // The server logs an unknown property of the request body immediately before it handles the request.
    await pollUntil(() => server.logs.some((line) => line.includes(key)));
  }

  test('other requests are answered while expressions spin; a client that leaves frees its thread', async () => {
    const datasetId = await newDataset();
    await runImport({ dataset_id: datasetId, records: [{ n: 1 }] });
    const abortControllers = [new AbortController(), new AbortController()];
    const users = [ann, await server.user('cas')];
    await Promise.all(
      abortControllers.map((abortController, i) => spin(`qqzz${i}`, users[i]!, abortController)),
    );
    const events: string[] = [];
    const queuedRequest = evaluate('1').then(() => events.push('queued'));
    expect((await ann.get('/v2/vaults')).status).toBe(200);
    expect(await countRecords(datasetId)).toBe(1);
    events.push('others');
    for (const abortController of abortControllers) abortController.abort();
    await queuedRequest;
    expect(events).toEqual(['others', 'queued']);
  });

  test('hostile expressions are errors, and the server stays up', async () => {
    const attacks = readFileSync('test/engine/expression/attacks.txt', 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.split('\t')[0]!);
    for (const expression of attacks) {
      const { status, json } = await evaluate(expression, { data: { record: { a: 1 } } });
      expect([expression, status, typeof json['detail']]).toEqual([expression, 400, 'string']);
    }
    expect((await ann.get('/health')).status).toBe(200);
  });
});
