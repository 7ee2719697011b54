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
  expect(new Set(gaps).size).toBeGreaterThan(1_000); // A14: the next id cannot be guessed
  expect(ids.every((id) => String(id).length === 15 && id % 10 !== 0)).toBe(true);
  await catalog.close();
});

test('a failed transaction uses up no id', async () => {
  const catalog = await openCatalog(':memory:');
  const before = await catalog.nextId();
  const failing = catalog.transaction(async (tx) => {
    await tx.nextId();
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await catalog.nextId()).toBeGreaterThan(before);
  await catalog.close();
});
