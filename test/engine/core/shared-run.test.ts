import { expect, test } from '@jest/globals';
import { SharedRun } from '../../../engine/core/shared-run.js';

test('one computation is shared, and goes on while somebody waits for it', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let runSignal: AbortSignal | undefined;
  const run = new SharedRun((signal) => {
    runSignal = signal;
    return promise;
  });
  const impatientController = new AbortController();
  const abandonedWait = run.wait(impatientController.signal);
  const patientWait = run.wait(new AbortController().signal);
  impatientController.abort();
  await expect(abandonedWait).rejects.toMatchObject({ code: 'canceled' });
  expect([runSignal!.aborted, run.hasFailed]).toEqual([false, false]);
  resolve(7);
  expect(await patientWait).toBe(7);
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
  const abandonedWait = run.wait(controller.signal);
  controller.abort();
  await expect(abandonedWait).rejects.toMatchObject({ code: 'canceled' });
  expect([runSignal!.aborted, run.hasFailed]).toEqual([true, true]);
  const failingRun = new SharedRun(() => Promise.reject(new Error('no')));
  await expect(failingRun.wait()).rejects.toThrow('no');
  expect(failingRun.hasFailed).toBe(true);
});
