import { expect, test } from '@jest/globals';
import { SharedRun } from '../../../engine/core/shared-run.js';

test('one computation is shared, and goes on while somebody waits for it', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let runSignal: AbortSignal | undefined;
  const run = new SharedRun((signal) => {
    runSignal = signal;
    return promise;
  });
  const impatient = new AbortController();
  const left = run.wait(impatient.signal);
  const patient = run.wait(new AbortController().signal);
  impatient.abort();
  await expect(left).rejects.toMatchObject({ code: 'canceled' });
  expect([runSignal!.aborted, run.hasFailed]).toEqual([false, false]);
  resolve(7);
  expect(await patient).toBe(7);
  expect(await run.wait()).toBe(7);
  expect([runSignal!.aborted, run.hasFailed]).toEqual([false, false]);
});

test('a computation is canceled when all have left, and one that throws has failed', async () => {
  let runSignal: AbortSignal | undefined;
  const run = new SharedRun((signal) => {
    runSignal = signal;
    return new Promise<never>(() => undefined);
  });
  const controller = new AbortController();
  const left = run.wait(controller.signal);
  controller.abort();
  await expect(left).rejects.toMatchObject({ code: 'canceled' });
  expect([runSignal!.aborted, run.hasFailed]).toEqual([true, true]);
  const failing = new SharedRun(() => Promise.reject(new Error('no')));
  await expect(failing.wait()).rejects.toThrow('no');
  expect(failing.hasFailed).toBe(true);
});
