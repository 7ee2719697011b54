import { expect, test } from '@jest/globals';
import { openCatalog } from '../../../engine/catalog/catalog.js';

test('ids increase with gaps, have 15 digits and never end in 0', async () => {
  const catalog = await openCatalog(':memory:');
  const ids: number[] = [];
  await catalog.transaction(async (tx) => {
    for (let i = 0; i < 2_000; i++) ids.push(await tx.nextId());
  });
  ids.push(await catalog.nextId());
  const gaps = ids.slice(1).map((id, i) => id - ids[i]!);
  expect(Math.min(...gaps)).toBeGreaterThan(0);
  expect(new Set(gaps).size).toBeGreaterThan(1_000); // the next id cannot be guessed
  expect(ids.every((id) => String(id).length === 15 && id % 10 !== 0)).toBe(true);
  await catalog.close();
});

test('ids increase after a failed transaction, too', async () => {
  const catalog = await openCatalog(':memory:');
  const idBefore = await catalog.nextId();
  const failingTransaction = catalog.transaction(async (tx) => {
    await tx.nextId();
    throw new Error('no');
  });
  await expect(failingTransaction).rejects.toThrow('no');
  expect(await catalog.nextId()).toBeGreaterThan(idBefore);
  await catalog.close();
});

test('ids that a start has issued remain in doubt only if it could not move all files away that are newer than the catalogue', async () => {
  const catalog = await openCatalog(':memory:');
  const isIssued = (ids: readonly number[]): Promise<readonly boolean[]> =>
    Promise.all(ids.map((id) => catalog.isIssued(id)));
  const idBefore = await catalog.nextId();
  await catalog.freezeIssued();
  const replayedId = await catalog.nextId();
  expect(await isIssued([idBefore, replayedId, replayedId + 1])).toEqual([true, false, false]);
  await catalog.unfreezeIssued(false);
  const laterId = await catalog.nextId();
  const allIds = [idBefore, replayedId, laterId, laterId + 1];
  expect(await isIssued(allIds)).toEqual([true, false, true, false]);
  // A start that issues no ids adds none to those in doubt.
  await catalog.freezeIssued();
  await catalog.unfreezeIssued(false);
  expect(await isIssued(allIds)).toEqual([true, false, true, false]);
  // A start that was killed is continued by the next one.
  await catalog.freezeIssued();
  const idOfKilledStart = await catalog.nextId();
  await catalog.freezeIssued();
  expect(await isIssued([laterId, idOfKilledStart])).toEqual([true, false]);
  await catalog.unfreezeIssued(true);
  expect(await isIssued([...allIds.slice(0, 3), idOfKilledStart, idOfKilledStart + 1])).toEqual([true, true, true, true, false]); // prettier-ignore
  await catalog.close();
});
