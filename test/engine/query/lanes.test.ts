import { expect, test } from '@jest/globals';
import { Lanes } from '../../../engine/query/sql/lanes.js';

const never = new AbortController().signal;
const numbered = (): (() => Promise<number>) => {
  let made = 0;
  return async () => (made += 1);
};

test('light work starts at once while heavy work fills its half', async () => {
  const lanes = new Lanes(numbered(), 4);
  const first = [await lanes.take(true, never), await lanes.take(true, never)];
  const order: string[] = [];
  const waiting = ['a', 'b', 'c'].map(async (name) => {
    const lease = await lanes.take(true, never);
    order.push(name);
    return lease;
  });
  const light = await lanes.take(false, never);
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

test('light work may have every item', async () => {
  const lanes = new Lanes(numbered(), 3);
  const leases = await Promise.all([1, 2, 3].map(() => lanes.take(false, never)));
  expect(leases.map(({ item }) => item)).toEqual([1, 2, 3]);
  const waiting = lanes.take(false, never);
  leases[1]!.release();
  expect((await waiting).item).toBe(2);
});

test('who gives up waiting leaves the line', async () => {
  const lanes = new Lanes(numbered(), 1);
  const lease = await lanes.take(true, never);
  const leaving = new AbortController();
  const given = lanes.take(false, leaving.signal);
  const next = lanes.take(false, never);
  leaving.abort(new Error('left'));
  await expect(given).rejects.toThrow('left');
  lease.release();
  expect((await next).item).toBe(1);
});

test('an item that cannot be made leaves room for another', async () => {
  let fails = true;
  const lanes = new Lanes(async () => {
    if (fails) throw new Error('no connection');
    return 1;
  }, 1);
  await expect(lanes.take(true, never)).rejects.toThrow('no connection');
  fails = false;
  const lease = await lanes.take(true, never);
  const drained = lanes.drain();
  lease.release();
  expect(await drained).toEqual([1]);
});
