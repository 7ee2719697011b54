import { expect, test } from '@jest/globals';
import { LeasePool } from '../../../engine/query/sql/lease-pool.js';

const never = new AbortController().signal;
const numbered = (): (() => Promise<number>) => {
  let created = 0;
  return async () => (created += 1);
};

test('light work starts at once while heavy work fills its half', async () => {
  const pool = new LeasePool(numbered(), 4);
  const first = [await pool.acquire(true, never), await pool.acquire(true, never)];
  const order: string[] = [];
  const waiting = ['a', 'b', 'c'].map(async (name) => {
    const lease = await pool.acquire(true, never);
    order.push(name);
    return lease;
  });
  const light = await pool.acquire(false, never);
  expect(order).toEqual([]);
  light.release();
  await Promise.resolve();
  expect(order).toEqual([]);
  first[0]!.release();
  const a = await waiting[0]!;
  expect(order).toEqual(['a']);
  a.release();
  a.release();
  first[1]!.release();
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b', 'c']);
});

test('light work may acquire every item', async () => {
  const pool = new LeasePool(numbered(), 3);
  const leases = await Promise.all([1, 2, 3].map(() => pool.acquire(false, never)));
  expect(leases.map(({ item }) => item)).toEqual([1, 2, 3]);
  const waiting = pool.acquire(false, never);
  leases[1]!.release();
  expect((await waiting).item).toBe(2);
});

test('an aborted wait gives up its position in the queue', async () => {
  const pool = new LeasePool(numbered(), 1);
  const lease = await pool.acquire(true, never);
  const leaving = new AbortController();
  const given = pool.acquire(false, leaving.signal);
  const next = pool.acquire(false, never);
  leaving.abort(new Error('left'));
  await expect(given).rejects.toThrow('left');
  lease.release();
  expect((await next).item).toBe(1);
});

test('a failed creation of an item does not count against the limit', async () => {
  let fails = true;
  const pool = new LeasePool(async () => {
    if (fails) throw new Error('no connection');
    return 1;
  }, 1);
  await expect(pool.acquire(true, never)).rejects.toThrow('no connection');
  fails = false;
  const lease = await pool.acquire(true, never);
  const drained = pool.drain();
  lease.release();
  expect(await drained).toEqual([1]);
});
