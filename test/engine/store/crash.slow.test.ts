import { spawn } from 'node:child_process';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openDataFolder, sweepFolder } from '../../../engine/core/files.js';
import { openStore } from '../../../engine/store/open-store.js';
import { readWithDuckdb } from './duckdb.js';

const childScript = fileURLToPath(new URL('./crash-child.js', import.meta.url));
const datasetId = 7;
/** The version that the catalogue knows; -1 means none, so that the log alone counts. */
const committedVersion = async (): Promise<number> => -1;
let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-crash-')));
});
afterEach(() => rm(root, { recursive: true }));

/**
 * Runs the child process until it ends or is killed; returns the last version that it reported as durable, -1 for none, and the signal
 * that killed it, null if it ended by itself.
 */
async function runCommittingChild(
  count: number,
  crashpoint?: string,
  killAfterMs?: number,
): Promise<{ acknowledgedVersion: number; signal: string | null }> {
  const env = { ...process.env, STRANDLAKE_CRASH_POINT: crashpoint };
  const runningChild = spawn(
    process.execPath,
    [childScript, root, String(datasetId), String(count)],
    {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let acknowledgedVersion = -1;
  let timer: NodeJS.Timeout | undefined;
  runningChild.stdout.setEncoding('utf8').on('data', (lines: string) => {
    acknowledgedVersion = Number(lines.trim().split('\n').at(-1));
    if (killAfterMs !== undefined)
      timer ??= setTimeout(() => runningChild.kill('SIGKILL'), killAfterMs);
  });
  const signal = await new Promise<string | null>((resolve) => {
    runningChild.on('close', (_code, name) => resolve(name));
  });
  clearTimeout(timer);
  return { acknowledgedVersion, signal };
}

/** Opens and sweeps the folder after a crash; its newest version must be complete, without other files. Returns the version. */
async function recoverVersion(acknowledgedVersion: number): Promise<number> {
  const folder = await openDataFolder(root);
  const store = openStore(folder);
  await store.sweep(committedVersion);
  await sweepFolder(folder.scratch);
  const { version, files, segments } = await store.snapshot(datasetId);
  const numbers = (await readWithDuckdb(files, '*')).columns[2] ?? [];
  expect(numbers).toEqual(Array.from({ length: (version + 1) * 10 }, (_, i) => BigInt(i)));
  // The recovered version has all commits reported as durable, and at most the one in progress in addition.
  expect([acknowledgedVersion, acknowledgedVersion + 1]).toContain(version);
  expect(await store.verify(datasetId)).toEqual([]);
  expect(await readdir(folder.scratch)).toEqual([]);
  if (version >= 0) {
    const names = await readdir(folder.dataset(datasetId));
    const expected = ['_delta_log', '_schema', ...segments.map((segment) => segment.path)];
    expect(names.sort()).toEqual(expected.sort());
    expect(await readdir(folder.deltaLog(datasetId))).toHaveLength(version + 1);
  }
  return version;
}

describe('a kill -9', () => {
  const points = [
    ['segment.partial', -1],
    ['segment.partial:3', -1],
    ['segment.flushed', -1],
    ['segment.flushed:4', 0],
    ['segment.renamed', -1],
    ['segment.renamed:2', 0],
    ['log.temp-written', -1],
    ['log.temp-written:3', 1],
    ['log.linked', 0],
    ['log.linked:2', 1],
  ] as const;
  test.each(points)(
    'at %s leaves the version before or after it (C1)',
    async (point, expectedVersion) => {
      const { acknowledgedVersion, signal } = await runCommittingChild(5, point);
      expect(signal).toBe('SIGKILL');
      const version = await recoverVersion(acknowledgedVersion);
      if (point !== 'segment.partial:3') expect(version).toBe(expectedVersion);
      // The recovered dataset accepts further commits.
      expect((await runCommittingChild(2)).acknowledgedVersion).toBe(version + 2);
      await recoverVersion(version + 2);
    },
  );

  test('at random moments leaves a version, again and again', async () => {
    let lastVersion = -1;
    for (let round = 0; round < 12; round++) {
      const { acknowledgedVersion } = await runCommittingChild(
        1_000,
        undefined,
        Math.random() * 60,
      );
      expect(acknowledgedVersion).toBeGreaterThan(lastVersion);
      lastVersion = await recoverVersion(acknowledgedVersion);
    }
  });
});
