import { expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { idOf, listOf, waitForJob, type Answer, type Client } from '../api/server.js';
import { seededRandom, type Random } from '../random.js';
import { seed } from '../seed.js';
import { pollUntil } from '../until.js';
import { KillableApiProcess } from './api-process.js';
import { newEventCounts, runRandomHistory } from './random-versions.js';
import type { HistoryServer } from './version-checks.js';

/*
 * Runs random histories while the server is killed at random moments of changes. A change that the server has acknowledged is stored once;
 * a change whose answer the kill prevented is stored completely or not at all.
 */

/** Number of kills; set by STRANDLAKE_KILLS. */
const killCount = Number(process.env['STRANDLAKE_KILLS'] ?? 10);
const maxKillsPerTest = 25;

/** A server that is killed during about every third change, and sometimes again while it starts. */
class KillableHistoryServer implements HistoryServer {
  readonly #api: KillableApiProcess;
  readonly #next: Random;
  ann: Client;
  /** Numbers of kills during changes, of kills during starts, and of changes whose answer a kill prevented. */
  readonly killCounts = { kills: 0, killsDuringStart: 0, unanswered: 0 };
  /** The duration of the last change without a kill, in milliseconds; `#startMs` is that of the last start. */
  #changeMs = 30;
  #startMs = 300;

  constructor(api: KillableApiProcess, ann: Client, next: Random) {
    this.#api = api;
    this.#next = next;
    this.ann = ann;
  }

  async restart(): Promise<void> {
    await this.#api.signalAndWait('SIGTERM');
    this.ann = await this.#api.start();
  }

  async send(path: string, body: object): Promise<Answer | undefined> {
    const sentAt = performance.now();
    if (this.#next() > 0.35) {
      const answer = await this.ann.post(path, body);
      this.#changeMs = performance.now() - sentAt;
      return answer;
    }
    const pendingAnswer = this.ann.post(path, body).catch(() => undefined);
    await pause(this.#next() * this.#changeMs * 1.2);
    await this.#api.signalAndWait('SIGKILL');
    this.killCounts.kills++;
    if (this.#next() < 0.2) {
      this.#api.forkProcess();
      await pause(this.#next() * this.#startMs);
      await this.#api.signalAndWait('SIGKILL');
      this.killCounts.killsDuringStart++;
    }
    const startedAt = performance.now();
    this.ann = await this.#api.start();
    this.#startMs = performance.now() - startedAt;
    await this.waitUntilIdle();
    if ((await pendingAnswer) === undefined) this.killCounts.unanswered++;
    return pendingAnswer;
  }

  waitForTask(taskId: number): Promise<Answer> {
    return waitForJob(this.ann, `/v2/tasks/${taskId}`);
  }

  async waitUntilIdle(): Promise<void> {
    await pollUntil(async () => listOf(await this.ann.get('/v2/tasks?status=pending,queued,running')).length === 0); // prettier-ignore
  }
}

const historyEventCounts = newEventCounts();
const totalCounts = { histories: 0, kills: 0, killsDuringStart: 0, unanswered: 0 };

/** Runs histories one after another, each with its own data folder, until `isDone` returns true. */
async function runKilledHistories(nextSeed: () => number, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const ownSeed = nextSeed();
    const api = await KillableApiProcess.createWithUser();
    try {
      const ann = await api.start();
      const server = new KillableHistoryServer(api, ann, seededRandom(ownSeed + 1));
      const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
      const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
      await runRandomHistory({
        server,
        seed: ownSeed,
        datasetId,
        vaultId,
        eventCounts: historyEventCounts,
      });
      await api.expectIntactData();
      totalCounts.histories++;
      for (const key of ['kills', 'killsDuringStart', 'unanswered'] as const)
        totalCounts[key] += server.killCounts[key];
    } finally {
      await api.removeRootFolder();
    }
  }
}

test.each(
  Array.from({ length: Math.ceil(killCount / maxKillsPerTest) }, (_, i) => [
    Math.min(maxKillsPerTest, killCount - i * maxKillsPerTest),
    seed + i * 1_000,
  ]),
)(
  'C1, C6: histories whose server is killed %d times at random moments give the versions of a plain list (STRANDLAKE_SEED=%d)',
  async (count, first) => {
    const killGoal = totalCounts.kills + count;
    let next = first;
    const runLane = () => runKilledHistories(() => next++, () => totalCounts.kills >= killGoal); // prettier-ignore
    await Promise.all([runLane(), runLane()]);
  },
);

test('C1, C6: kills have prevented answers', () => {
  console.log(`killed histories: ${JSON.stringify({ ...totalCounts, ...historyEventCounts })}`);
  expect(totalCounts.unanswered).toBeGreaterThan(0);
});
