import { expect } from '@jest/globals';
import type { ServerFixture } from '../api/server-fixture.js';
import { seed } from '../seed.js';
import { idOf } from '../api/server.js';
import { startWorker } from '../../scheduler/worker/worker-supervisor.js';
import { isDeltaReaderInstalled, openDeltaReader } from './delta-reader.js';
import { findFolderInconsistencies } from './differences.js';
import { startWorkerInProcess } from './in-process.js';
import { runRandomHistory, type EventCounts } from './random-versions.js';
import type { FastClock } from './version-model.js';
import type { HistoryServer } from './version-checks.js';

/** Counts of merges, of starts with a worker process, and of versions that ClickHouse has read, in random histories. */
export interface UpkeepCounts {
  merges: number;
  /** The number of merges that sorted rows. */
  sorts: number;
  /** The number of starts with a worker in a separate process. */
  workers: number;
  /**
   * The number of versions that ClickHouse has read, and of those among them that were not the newest; absent where
   * `npm run test:interop` has not installed chdb.
   */
  deltaVersions?: number;
  olderDeltaVersions?: number;
}

/** Returns counts that are all zero. */
export function newUpkeepCounts(): UpkeepCounts {
  const delta = isDeltaReaderInstalled() ? { deltaVersions: 0, olderDeltaVersions: 0 } : {};
  return { merges: 0, sorts: 0, workers: 0, ...delta };
}

/** Number of random histories in each of the two test files, which run at the same time: half of STRANDLAKE_SEQUENCES, if it is set. */
const historyCount = Math.ceil(Number(process.env['STRANDLAKE_SEQUENCES'] ?? 20) / 2);
const maxHistoriesPerTest = 25;

/** For each test of a file: the number of its histories, and the seed of the first one. */
export const historyRanges = Array.from(
  { length: Math.ceil(historyCount / maxHistoriesPerTest) },
  (_, i) =>
    [
      Math.min(maxHistoriesPerTest, historyCount - i * maxHistoriesPerTest),
      seed + i * maxHistoriesPerTest,
    ] as const,
);

/**
 * Returns a function that starts the worker in a separate process every fifth time, and otherwise in this process, which is several times
 * as fast.
 */
export function startWorkerSometimes(counts: UpkeepCounts): typeof startWorker {
  let starts = 0;
  return (...args) => {
    if (starts++ % 5 > 0) return startWorkerInProcess(...args);
    counts.workers++;
    return startWorker(...args);
  };
}

/** The counts that `runHistories` adds to, and the store's clock if it runs ahead. */
export interface RunHistoriesOptions {
  readonly eventCounts: EventCounts;
  readonly upkeep: UpkeepCounts;
  readonly clock?: FastClock;
}

/**
 * Compares random histories with the model. Each history is of a dataset in its own vault, which is deleted afterwards. At the end, all
 * files are verified.
 */
export async function runHistories(
  fixture: ServerFixture,
  count: number,
  firstSeed: number,
  { eventCounts, upkeep, clock }: RunHistoriesOptions,
): Promise<void> {
  const deltaReader = await openDeltaReader();
  const server: HistoryServer = {
    get ann() {
      return fixture.ann;
    },
    restart: () => fixture.restart(),
    send: (path, body) => fixture.ann.post(path, body),
    waitForTask: (taskId) => fixture.server.scheduler.wait(taskId),
    waitUntilIdle: () => fixture.server.scheduler.compacted(),
  };
  try {
    for (let i = 0; i < count; i++) {
      const vaultId = idOf(
        await fixture.ann.post('/v2/vaults', { name: `history ${firstSeed + i}` }),
      );
      const datasetId = await fixture.newDataset({ vault_id: vaultId });
      await runRandomHistory({
        server,
        seed: firstSeed + i,
        datasetId,
        vaultId,
        eventCounts,
        ...(clock && { clock }),
        async checkAtEnd(checks) {
          for await (const { info } of fixture.server.store.history(datasetId, 0)) {
            const compaction = info['compaction'] as { readonly isSorted: boolean } | undefined;
            if (compaction !== undefined) upkeep.merges++;
            if (compaction?.isSorted === true) upkeep.sorts++;
            if (clock !== undefined && info['vacuum'] !== undefined) clock.vacuums++;
          }
          if (deltaReader === undefined) return;
          const page = { limit: 1_000, offset: 0 };
          const { rows } = await fixture.server.catalog.commits.list(
            { viewer: null, datasetIds: [datasetId] },
            page,
          );
          // Merges add log versions after a commit without changing its records. A commit is therefore compared at the last log version
          // before the next commit: only the files of that version are kept for as long as the commit can be read.
          const newestVersion = await fixture.server.store.version(datasetId);
          const commits = rows.toSorted((one, other) => one.logVersion - other.logVersion);
          const logVersions = new Map(
            commits.map(({ id }, i) => [id, (commits[i + 1]?.logVersion ?? newestVersion + 1) - 1]),
          );
          const comparison = await checks.checkDeltaTable(
            deltaReader,
            fixture.server.data.dataset(datasetId),
            logVersions,
          );
          upkeep.deltaVersions! += comparison.versions;
          upkeep.olderDeltaVersions! += comparison.older;
        },
      });
      await fixture.server.scheduler.compacted();
      if (i === count - 1) expect(await findFolderInconsistencies(fixture.server)).toEqual([]);
      expect((await fixture.ann.delete(`/v2/vaults/${vaultId}`)).status).toBe(200);
    }
  } finally {
    deltaReader?.close();
  }
}
