import { expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { idOf, listOf, waitFor, type Answer, type Client } from '../api/server.js';
import { random, type Random } from '../random.js';
import { seed } from '../seed.js';
import { until } from '../until.js';
import { ApiProcess } from './api-process.js';
import { newCounts, randomVersions } from './random-versions.js';
import type { HistoryServer } from './version-checks.js';

/*
 * Random histories whose server is killed at random moments of changes. A change that the server had acknowledged is there once; one whose
 * answer the kill prevented is there wholly or not at all.
 */

/** Number of kills; STRANDLAKE_KILLS overrides it. */
const kills = Number(process.env['STRANDLAKE_KILLS'] ?? 10);
const mostInTest = 25;

/** A server that is killed during every third change, and sometimes again while it starts. */
class KilledServer implements HistoryServer {
  readonly #api: ApiProcess;
  readonly #next: Random;
  ann: Client;
  /** Numbers of kills during changes, of kills during starts, and of changes whose answer a kill prevented. */
  readonly counts = { kills: 0, starts: 0, unanswered: 0 };
  /** The times that the last change and the last start have taken, milliseconds. */
  #changeMs = 30;
  #startMs = 300;

  constructor(api: ApiProcess, ann: Client, next: Random) {
    this.#api = api;
    this.#next = next;
    this.ann = ann;
  }

  async restart(): Promise<void> {
    await this.#api.end('SIGTERM');
    this.ann = await this.#api.start();
  }

  async send(path: string, body: object): Promise<Answer | undefined> {
    const sentAt = performance.now();
    if (this.#next() > 0.35) {
      const answer = await this.ann.post(path, body);
      this.#changeMs = performance.now() - sentAt;
      return answer;
    }
    const answer = this.ann.post(path, body).catch(() => undefined);
    await pause(this.#next() * this.#changeMs * 1.2);
    await this.#api.end('SIGKILL');
    this.counts.kills++;
    if (this.#next() < 0.2) {
      this.#api.fork();
      await pause(this.#next() * this.#startMs);
      await this.#api.end('SIGKILL');
      this.counts.starts++;
    }
    const startedAt = performance.now();
    this.ann = await this.#api.start();
    this.#startMs = performance.now() - startedAt;
    await this.settled();
    if ((await answer) === undefined) this.counts.unanswered++;
    return answer;
  }

  ended(taskId: number): Promise<Answer> {
    return waitFor(this.ann, `/v2/tasks/${taskId}`);
  }

  async settled(): Promise<void> {
    await until(async () => listOf(await this.ann.get('/v2/tasks?status=pending,queued,running')).length === 0); // prettier-ignore
  }
}

const happened = newCounts();
const total = { histories: 0, kills: 0, starts: 0, unanswered: 0 };

/** Runs histories one after another, each with a data folder of its own, until there were enough kills. */
async function killedHistories(nextSeed: () => number, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const ownSeed = nextSeed();
    const api = await ApiProcess.make();
    try {
      const ann = await api.start();
      const server = new KilledServer(api, ann, random(ownSeed + 1));
      const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
      const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
      await randomVersions({ server, seed: ownSeed, datasetId, vaultId, happened });
      await api.expectWhole();
      total.histories++;
      for (const key of ['kills', 'starts', 'unanswered'] as const)
        total[key] += server.counts[key];
    } finally {
      await api.remove();
    }
  }
}

test.each(
  Array.from({ length: Math.ceil(kills / mostInTest) }, (_, i) => [
    Math.min(mostInTest, kills - i * mostInTest),
    seed + i * 1_000,
  ]),
)(
  'C1, C6: histories whose server is killed %d times at random moments give the versions of a plain list (STRANDLAKE_SEED=%d)',
  async (count, first) => {
    const enough = total.kills + count;
    let next = first;
    const lane = () => killedHistories(() => next++, () => total.kills >= enough); // prettier-ignore
    await Promise.all([lane(), lane()]);
  },
);

test('C1, C6: kills have prevented answers', () => {
  console.log(`killed histories: ${JSON.stringify({ ...total, ...happened })}`);
  expect(total.unanswered).toBeGreaterThan(0);
});
