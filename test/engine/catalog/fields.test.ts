import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import { allRowsPage, publicationOf, CatalogFixture } from './catalog-fixture.js';

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
let datasetId: number;
beforeEach(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  ann = await catalogFixture.createUserOf('ann@example.org');
  datasetId = await catalogFixture.createDataset(ann);
});
afterEach(() => catalogFixture.catalog.close());

test('a new field has the defaults that clients know', async () => {
  const field = await catalogFixture.catalog.fields.create({ datasetId, name: 'Petal.Width' });
  expect(field).toMatchObject({
    path: ['Petal.Width'],
    title: 'Petal.Width',
    description: '',
    dataType: 'auto',
    isList: null,
    entityType: null,
    expression: null,
    isHidden: false,
    isReadOnly: false,
    isValid: false,
    ordering: null,
    dependsOn: [],
    urlTemplate: null,
  });
  expect(await catalogFixture.catalog.fields.get(field.id)).toEqual(field);
});

test('lists by ordering, then the others, by name', async () => {
  const { fields } = catalogFixture.catalog;
  for (const [name, ordering] of [
    ['d', null],
    ['c', null],
    ['b', 2],
    ['a', 10],
    ['z', 0],
  ] as const) {
    await fields.create({ datasetId, name, ordering });
  }
  const names = (await fields.list({ viewer: null, datasetId }, allRowsPage)).rows.map(
    (row) => row.name,
  );
  expect(names).toEqual(['z', 'b', 'a', 'c', 'd']);
  expect((await fields.all(datasetId)).map((row) => row.name)).toEqual(names);
  const listedFields = await fields.list({ viewer: null, datasetId, name: 'a' }, allRowsPage);
  expect([listedFields.total, listedFields.rows[0]?.name]).toEqual([1, 'a']);
});

test('names that are taken, reserved or invalid are refused', async () => {
  const { fields } = catalogFixture.catalog;
  await fields.create({ datasetId, name: 'gene' });
  for (const name of ['gene', '', ' ', '_id', '_x', 'a__b', 'a\0b', '\ud800', 'x'.repeat(1_001)]) {
    await expect(fields.create({ datasetId, name })).rejects.toMatchObject({
      code: 'invalid',
      fields: { name: [expect.any(String)] },
    });
  }
  for (const name of ['Gene', 'hasOwnProperty', 'constructor', 'a b', "o'x"]) {
    await fields.create({ datasetId, name });
  }
});

test('an update changes what it names, and a type that it gives is declared', async () => {
  const { fields } = catalogFixture.catalog;
  const created = await fields.create({ datasetId, name: 'gene', entityType: 'gene' });
  expect(created.isDeclared).toBe(false);
  const { id } = created;
  const change = { dataType: 'string', title: 'Gene', entityType: null, isHidden: true } as const;
  expect(await fields.update(id, change, 1)).toEqual({
    ...created,
    ...change,
    isDeclared: true,
    updatedAt: 1,
  });
  expect(await fields.update(id + 1, { title: 'x' })).toBeUndefined();
});

test('once a dataset has data, fields cannot be deleted', async () => {
  const { catalog } = catalogFixture;
  const spareField = await catalog.fields.create({ datasetId, name: 'spare' });
  await catalog.fields.delete(spareField.id);
  expect(await catalog.fields.get(spareField.id)).toBeUndefined();
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.publish(await publicationOf(catalog, task));
  const [gene] = await catalog.fields.all(datasetId);
  await expect(catalog.fields.delete(gene!.id)).rejects.toThrow('only while its dataset is empty');
});

test('the fields of a dataset are those of the last commit, even if they were read before', async () => {
  const { catalog } = catalogFixture;
  const readNamesAndTitles = async (): Promise<string[]> =>
    (await catalog.fields.all(datasetId)).map(({ name, title }) => `${name}=${title}`);
  expect(await readNamesAndTitles()).toEqual([]);
  const gene = await catalog.fields.create({ datasetId, name: 'gene' });
  expect(await readNamesAndTitles()).toEqual(['gene=gene']);
  await catalog.fields.update(gene.id, { title: 'Gene' });
  expect(await readNamesAndTitles()).toEqual(['gene=Gene']);
  const failingTransaction = catalog.transaction(async (tx) => {
    await tx.fields.update(gene.id, { title: 'lost' });
    expect((await tx.fields.all(datasetId)).map(({ title }) => title)).toEqual(['lost']);
    await readNamesAndTitles();
    throw new Error('changed my mind');
  });
  await expect(failingTransaction).rejects.toThrow('changed my mind');
  expect(await readNamesAndTitles()).toEqual(['gene=Gene']);
  await catalog.fields.delete(gene.id);
  expect(await readNamesAndTitles()).toEqual([]);
});
