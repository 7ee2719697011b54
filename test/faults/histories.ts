import { expect } from '@jest/globals';
import type { Lab } from '../api/lab.js';
import { seed } from '../seed.js';
import { idOf } from '../api/server.js';
import { startHost } from '../../scheduler/worker/host.js';
import { openDeltaReader } from './delta-reader.js';
import { differences } from './differences.js';
import { hostInProcess } from './in-process.js';
import { randomVersions, type EventCounts } from './random-versions.js';
import type { FastClock } from './version-model.js';
import type { HistoryServer } from './version-checks.js';

/** What the server has done by itself in histories, and how it was started. */
export interface UpkeepCounts {
  merges: number;
  /** The number of merges that sorted rows. */
  sorts: number;
  /** The number of starts with a worker in a process of its own. */
  workers: number;
}

/** Counts in which nothing has happened. */
export function newUpkeepCounts(): UpkeepCounts {
  return { merges: 0, sorts: 0, workers: 0 };
}

/** Number of random histories of each of the two tests, which run side by side: half of STRANDLAKE_SEQUENCES, if it is set. */
const sequences = Math.ceil(Number(process.env['STRANDLAKE_SEQUENCES'] ?? 20) / 2);
const mostInTest = 25;

/** For each test: the number of its histories, and the seed of the first one. */
export const historyParts = Array.from(
  { length: Math.ceil(sequences / mostInTest) },
  (_, i) => [Math.min(mostInTest, sequences - i * mostInTest), seed + i * mostInTest] as const,
);

/**
 * Starts the worker in a process of its own every fifth time, and else in this process, which takes a fraction of the time.
 */
export function hostNowAndThen(counts: UpkeepCounts): typeof startHost {
  let starts = 0;
  return (...args) => {
    if (starts++ % 5 > 0) return hostInProcess(...args);
    counts.workers++;
    return startHost(...args);
  };
}

/** The counts that `runHistories` adds to, and the clock of the store, if it runs ahead. */
export interface HistoriesOptions {
  readonly happened: EventCounts;
  readonly upkeep: UpkeepCounts;
  readonly clock?: FastClock;
}

/**
 * Compares random histories with the model, each of a dataset in a vault of its own, which is deleted after it. In the end all files are
 * verified.
 */
export async function runHistories(
  lab: Lab,
  count: number,
  firstSeed: number,
  { happened, upkeep, clock }: HistoriesOptions,
): Promise<void> {
  const reader = await openDeltaReader();
  const server: HistoryServer = {
    get ann() {
      return lab.ann;
    },
    restart: () => lab.restart(),
    send: (path, body) => lab.ann.post(path, body),
    ended: (taskId) => lab.server.scheduler.wait(taskId),
    settled: () => lab.server.scheduler.compacted(),
  };
  try {
    for (let i = 0; i < count; i++) {
      const vaultId = idOf(await lab.ann.post('/v2/vaults', { name: `history ${firstSeed + i}` }));
      const datasetId = await lab.newDataset({ vault_id: vaultId });
      await randomVersions({
        server,
        seed: firstSeed + i,
        datasetId,
        vaultId,
        happened,
        ...(clock && { clock }),
        async inTheEnd(checks) {
          for await (const { info } of lab.server.store.history(datasetId, 0)) {
            const compaction = info['compaction'] as { readonly isSorted: boolean } | undefined;
            if (compaction !== undefined) upkeep.merges++;
            if (compaction?.isSorted === true) upkeep.sorts++;
            if (clock !== undefined && info['vacuum'] !== undefined) clock.vacuums++;
          }
          if (reader === undefined) return;
          const page = { limit: 1_000, offset: 0 };
          const { rows } = await lab.server.catalog.commits.list({ viewer: null, datasetId }, page);
          const logVersions = new Map(rows.map(({ id, logVersion }) => [id, logVersion]));
          await checks.deltaTable(reader, lab.server.data.dataset(datasetId), logVersions);
        },
      });
      await lab.server.scheduler.compacted();
      if (i === count - 1) expect(await differences(lab.server)).toEqual([]);
      expect((await lab.ann.delete(`/v2/vaults/${vaultId}`)).status).toBe(200);
    }
  } finally {
    reader?.close();
  }
}
