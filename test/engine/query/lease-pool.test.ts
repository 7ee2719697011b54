import { expect, test } from '@jest/globals';
import { LeasePool } from '../../../engine/query/sql/lease-pool.js';

const neverAborted = new AbortController().signal;
const numberedFactory = (): (() => Promise<number>) => {
  let createdCount = 0;
  return async () => (createdCount += 1);
};

test('light work starts at once while heavy work fills its half', async () => {
  const pool = new LeasePool(numberedFactory(), 4);
  const heavyLeases = [
    await pool.acquire(true, neverAborted),
    await pool.acquire(true, neverAborted),
  ];
  const acquiredNames: string[] = [];
  const waitingLeases = ['a', 'b', 'c'].map(async (name) => {
    const lease = await pool.acquire(true, neverAborted);
    acquiredNames.push(name);
    return lease;
  });
  const lightLease = await pool.acquire(false, neverAborted);
  expect(acquiredNames).toEqual([]);
  lightLease.release();
  await Promise.resolve();
  expect(acquiredNames).toEqual([]);
  heavyLeases[0]!.release();
  const a = await waitingLeases[0]!;
  expect(acquiredNames).toEqual(['a']);
  a.release();
  a.release();
  heavyLeases[1]!.release();
  await Promise.all(waitingLeases);
  expect(acquiredNames).toEqual(['a', 'b', 'c']);
});

test('light work may acquire every item', async () => {
  const pool = new LeasePool(numberedFactory(), 3);
  const leases = await Promise.all([1, 2, 3].map(() => pool.acquire(false, neverAborted)));
  expect(leases.map(({ item }) => item)).toEqual([1, 2, 3]);
  const waitingLease = pool.acquire(false, neverAborted);
  leases[1]!.release();
  expect((await waitingLease).item).toBe(2);
});

test('an aborted wait gives up its position in the queue', async () => {
  const pool = new LeasePool(numberedFactory(), 1);
  const lease = await pool.acquire(true, neverAborted);
  const controller = new AbortController();
  const givenUpLease = pool.acquire(false, controller.signal);
  const nextLease = pool.acquire(false, neverAborted);
  controller.abort(new Error('left'));
  await expect(givenUpLease).rejects.toThrow('left');
  lease.release();
  expect((await nextLease).item).toBe(1);
});

test('a failed creation of an item does not count against the limit', async () => {
  let fails = true;
  const pool = new LeasePool(async () => {
    if (fails) throw new Error('no connection');
    return 1;
  }, 1);
  await expect(pool.acquire(true, neverAborted)).rejects.toThrow('no connection');
  fails = false;
  const lease = await pool.acquire(true, neverAborted);
  const drainedItems = pool.drain();
  lease.release();
  expect(await drainedItems).toEqual([1]);
});

test('requests that wait while an item cannot be created are served or fail, too', async () => {
  const outcomes = [false, false, true];
  const pool = new LeasePool(async () => {
    if (outcomes.shift() !== true) throw new Error('no connection');
    return 1;
  }, 1);
  const requests = [true, false, true].map((isHeavy) => pool.acquire(isHeavy, neverAborted));
  for (const request of requests.slice(0, 2))
    await expect(request).rejects.toThrow('no connection');
  expect((await requests[2]!).item).toBe(1);
});

test('a pool of which the last item cannot be created is drained', async () => {
  const creation = Promise.withResolvers<number>();
  const pool = new LeasePool(() => creation.promise, 1);
  const request = pool.acquire(false, neverAborted);
  const drainedItems = pool.drain();
  creation.reject(new Error('no connection'));
  await expect(request).rejects.toThrow('no connection');
  expect(await drainedItems).toEqual([]);
});
