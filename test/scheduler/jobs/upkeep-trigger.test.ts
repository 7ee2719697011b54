import { expect, test } from '@jest/globals';
import type { Catalog } from '../../../engine/catalog/catalog.js';
import { AppError, type ErrorCode } from '../../../engine/core/errors.js';
import type { Store } from '../../../engine/store/store.js';
import type { TaskQueue } from '../../../scheduler/jobs/job.js';
import { UpkeepTrigger } from '../../../scheduler/jobs/upkeep/upkeep-trigger.js';

const minute = 60_000;
const hour = 60 * minute;

/**
 * Checks a dataset every minute for `ms`; `isDueAt` says at which minutes its vacuum is due. Returns the times in minutes at which the
 * vacuum was tried (`tried`), and the messages that were reported (`reported`).
 */
async function runUpkeep(
  ms: number,
  codeAt: (attempt: number) => ErrorCode | undefined,
  isDueAt: (minutes: number) => boolean = () => true,
): Promise<{ readonly tried: readonly number[]; readonly reported: readonly string[] }> {
  let now = 0;
  const triedMinutes: number[] = [];
  const messages: string[] = [];
  const store: Pick<Store, 'nextMerge' | 'isVacuumDue' | 'isCheckpointDue'> = {
    nextMerge: async () => undefined,
    isVacuumDue: async () => isDueAt(now / minute),
    isCheckpointDue: async () => false,
  };
  const queue = {
    enqueueAndWait: async (kind: string): Promise<unknown> => {
      expect(kind).toBe('vacuum');
      triedMinutes.push(now / minute);
      const code = codeAt(triedMinutes.length);
      if (code !== undefined) throw new AppError(code, 'EMFILE');
      return undefined;
    },
  };
  const upkeep = new UpkeepTrigger({
    catalog: { datasets: { get: async () => ({ availability: 'available' }) } } as unknown as Catalog, // prettier-ignore
    store: store as Store,
    queue: queue as TaskQueue<string, unknown>,
    report: (message) => void messages.push(message),
    now: () => now,
    quietMs: Infinity,
  });
  for (; now < ms; now += minute) {
    upkeep.onDatasetCommitted(7);
    await upkeep.whenIdle();
  }
  return { tried: triedMinutes, reported: messages };
}

test.each(['internal', 'damaged'] as const)(
  'upkeep that fails (%s) is tried again after pauses that double up to a day, and reported each time',
  async (code) => {
    const { tried, reported } = await runUpkeep(100 * hour, () => code);
    expect(tried.slice(0, 7)).toEqual([0, 30, 90, 210, 450, 930, 1890]);
    const pauses = tried.map((at, i) => at - (tried[i - 1] ?? 0));
    expect(pauses.slice(7)).toEqual([1440, 1440]);
    expect(reported).toEqual(tried.map(() => 'dataset 7: files of earlier versions were not removed: EMFILE')); // prettier-ignore
  },
);

test('after a success, the pauses begin anew', async () => {
  const { tried } = await runUpkeep(3 * hour, (attempt) => (attempt === 3 ? undefined : 'internal')); // prettier-ignore
  expect(tried).toEqual([0, 30, 90, 91, 121]);
});

test('that nothing is due for a while, as while a dataset is in use, does not end the doubling of the pauses', async () => {
  const { tried } = await runUpkeep(
    8 * hour,
    () => 'internal',
    (minutes) => minutes % 2 === 0,
  );
  expect(tried).toEqual([0, 30, 90, 210, 450]);
});

test('a full disk does not keep upkeep from being tried after the next commit', async () => {
  const { tried } = await runUpkeep(3 * minute, () => 'no-space');
  expect(tried).toEqual([0, 1, 2]);
});
