import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { commitField, fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Columns } from '../../../engine/core/types.js';
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

const scalarColumn = { isList: false } as const;
const columns: Columns = [
  { name: 'variant', physical: 'variant', type: 'string', ...scalarColumn },
  {
    name: 'info',
    physical: 'info',
    type: 'object',
    ...scalarColumn,
    children: [
      { name: 'AF', physical: 'AF', type: 'double', isList: true },
      { name: 'a.b', physical: 'a.b', type: 'json', ...scalarColumn },
    ],
  },
  { name: 'alleles', physical: 'alleles', type: 'string', isList: true },
];

/** Returns everything that a commit may change, for a comparison before and after it. */
async function dumpDatasetState(): Promise<unknown> {
  const { catalog } = catalogFixture;
  const allRowsFilter = { viewer: null };
  return {
    dataset: await catalog.datasets.get(datasetId),
    object: await catalog.objects.get(datasetId),
    fields: await catalog.fields.all(datasetId),
    imports: await catalog.imports.list(allRowsFilter, allRowsPage),
    commits: await catalog.commits.list(allRowsFilter, allRowsPage),
    tasks: await catalog.tasks.list(allRowsFilter, allRowsPage),
  };
}

test('columns become fields with dotted names, objects before their members', () => {
  expect(fieldsOfColumns(columns)).toEqual([
    { name: 'variant', path: ['variant'], dataType: 'string', isList: null },
    { name: 'info', path: ['info'], dataType: 'object', isList: null },
    { name: 'info.AF', path: ['info', 'AF'], dataType: 'double', isList: true },
    { name: 'info.a.b', path: ['info', 'a.b'], dataType: 'object', isList: null },
    { name: 'alleles', path: ['alleles'], dataType: 'string', isList: true },
  ]);
});

test('a publication updates dataset, fields, commit, import and both tasks', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.tasks.claim();
  await catalog.tasks.progress(task.id, 1, { processed_records: 2 });
  const publication = await publicationOf(catalog, task, {
    columns,
    newFields: [
      {
        name: 'variant',
        path: ['variant'],
        dataType: 'string',
        isList: null,
        entityType: 'variant',
        title: 'Variant',
      },
    ],
    recordsModified: 3,
    recordsTotal: 3,
    genomeBuild: 'GRCh38',
    metadata: { progress: { processed_records: 3 }, validation: { errors_count: 0 } },
  });
  await catalog.publish(publication);

  expect(await catalog.datasets.get(datasetId)).toMatchObject({
    documentsCount: 3,
    bytes: 100,
    genomeBuilds: ['GRCh38'],
    logVersion: 0,
    updatedAt: publication.time,
  });
  expect((await catalog.objects.get(datasetId))?.documentsCount).toBe(3);
  const fields = await catalog.fields.all(datasetId);
  expect(
    fields.map((field) => [field.name, field.ordering, field.isValid, field.isReadOnly]),
  ).toEqual([
    ['variant', 0, true, false],
    ['info', 1, true, false],
    ['info.AF', 2, true, false],
    ['info.a.b', 3, true, false],
    ['alleles', 4, true, false],
    [commitField.name, null, true, true],
  ]);
  expect(fields[0]).toMatchObject({ entityType: 'variant', title: 'Variant', dataType: 'string' });
  expect(fields[2]).toMatchObject({
    path: ['info', 'AF'],
    title: 'info.AF',
    isList: true,
    dataType: 'double',
  });
  expect(fields.at(-1)).toMatchObject({ title: '_commit', dataType: 'string' });

  const job = await catalog.imports.get(task.resourceId);
  expect(job).toMatchObject({
    status: 'completed',
    genomeBuild: 'GRCh38',
    metadata: publication.metadata,
  });
  expect(job?.timestamps.at(-1)).toEqual(['running', 'completed', publication.time]);
  expect((await catalog.tasks.get(task.id))?.status).toBe('completed');

  const commit = await catalog.commits.get(publication.commitId);
  expect(commit).toMatchObject({
    id: job?.commitId,
    status: 'completed',
    mode: 'append',
    parentJobModel: 'datasets.DatasetImport',
    parentJobId: task.resourceId,
    recordsTotal: 3,
    recordsModified: 3,
    logVersion: 0,
    genomeBuild: 'GRCh38',
  });
  expect(commit?.fields).toContainEqual({ name: 'info.AF', is_new: true });
  expect(commit?.timestamps.map(([, to]) => to)).toEqual(['queued', 'running', 'completed']);
  expect(await catalog.tasks.get(commit!.taskId!)).toMatchObject({
    kind: 'commit',
    parentId: task.id,
    status: 'completed',
    description: 'Add 3 records',
    targetObjectId: datasetId,
    priority: 30,
  });
  expect((await catalog.commits.ofImport(task.resourceId)).map((one) => one.id)).toEqual([
    commit?.id,
  ]);
});

test('a commit shows how many records its publication added, changed and removed', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.tasks.claim();
  const changes = { added: 2, changed: 3, removed: 4 };
  const publication = await publicationOf(catalog, task, { recordsModified: 9, changes });
  await catalog.publish(publication);
  expect(await catalog.commits.get(publication.commitId)).toMatchObject({
    recordsModified: 9,
    recordsAdded: 2,
    recordsChanged: 3,
    recordsRemoved: 4,
  });
});

test('C2b: applying a publication again changes nothing', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.tasks.claim();
  const publication = await publicationOf(catalog, task, { columns });
  await catalog.publish(publication);
  const before = await dumpDatasetState();
  await catalog.publish(publication);
  // The publication is parsed from JSON, as when it is read from the log.
  await catalog.publish(JSON.parse(JSON.stringify(publication)) as typeof publication);
  expect(await dumpDatasetState()).toEqual(before);
});

test('C2b: a replay after a restart completes a task that was queued again, or even canceled', async () => {
  const { catalog } = catalogFixture;
  for (const [logVersion, interimAction] of ['requeue', 'cancel'].entries()) {
    const task = await catalogFixture.queueImport(ann, datasetId);
    await catalog.tasks.claim();
    const publication = await publicationOf(catalog, task, { logVersion });
    await (interimAction === 'cancel'
      ? catalog.tasks.cancel(task.id)
      : catalog.tasks.requeue(task.id));
    await catalog.publish(publication);
    const completedTask = await catalog.tasks.get(task.id);
    expect(completedTask).toMatchObject({
      status: 'completed',
      cancelRequested: false,
      isPublishing: false,
    });
    expect((await catalog.imports.get(task.resourceId))?.status).toBe('completed');
  }
  expect(await catalog.tasks.claim()).toBeUndefined();
});

test('a replay needs the dataset, but not the import', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  const publication = await publicationOf(catalog, task);
  await catalog.imports.delete(task.resourceId);
  expect(await catalog.tasks.get(task.id)).toBeUndefined();
  await catalog.publish(publication);
  expect(await catalog.commits.get(publication.commitId)).toMatchObject({
    userId: ann.user.id,
    status: 'completed',
  });
  await catalog.objects.delete(datasetId);
  await expect(catalog.publish({ ...publication, logVersion: 1 })).rejects.toMatchObject({
    code: 'not-found',
  });
});

test('a replay into a catalogue that lacks the task has the user of the log entry, or the owner if it lacks the user, too', async () => {
  const { catalog } = catalogFixture;
  const bob = await catalogFixture.createUserOf('bob@example.org');
  const userIds = [bob.user.id, bob.user.id + 1_000];
  const shownUserIds: unknown[] = [];
  for (const [i, userId] of userIds.entries()) {
    const task = await catalogFixture.queueImport(bob, datasetId);
    const publication = await publicationOf(catalog, task, { userId, logVersion: i });
    await catalog.imports.delete(task.resourceId);
    await catalog.publish(publication);
    const { userId: shownUserId, taskId } = (await catalog.commits.get(publication.commitId))!;
    shownUserIds.push(shownUserId, (await catalog.tasks.get(taskId!))!.userId);
  }
  expect(shownUserIds).toEqual([bob.user.id, bob.user.id, ann.user.id, ann.user.id]);
});

test('a second commit adds only new fields, after the others', async () => {
  const { catalog } = catalogFixture;
  const firstTask = await catalogFixture.queueImport(ann, datasetId);
  await catalog.publish(await publicationOf(catalog, firstTask, { columns }));
  const editedField = (await catalog.fields.all(datasetId))[0]!;
  await catalog.fields.update(editedField.id, { title: 'Mine', entityType: 'gene' });
  const secondTask = await catalogFixture.queueImport(ann, datasetId);
  const moreColumns = [
    ...columns,
    { name: 'score', physical: 'score', type: 'long', isList: false } as const,
  ];
  const publication = await publicationOf(catalog, secondTask, {
    columns: moreColumns,
    logVersion: 1,
    genomeBuild: 'GRCh37',
    recordsTotal: 9,
  });
  await catalog.publish(publication);
  const fields = await catalog.fields.all(datasetId);
  expect(fields.map((field) => field.name)).toEqual([
    'variant',
    'info',
    'info.AF',
    'info.a.b',
    'alleles',
    'score',
    '_commit',
  ]);
  expect(fields[0]).toMatchObject({ title: 'Mine', entityType: 'gene' });
  expect(
    (await catalog.commits.get(publication.commitId))?.fields.filter((field) => field.is_new),
  ).toEqual([{ name: 'score', is_new: true }]);
  expect((await catalog.datasets.get(datasetId))?.genomeBuilds).toEqual(['GRCh37']);
  const commits = await catalog.commits.list(
    { viewer: null, datasetIds: [datasetId] },
    allRowsPage,
  );
  expect(commits.rows.map((row) => row.logVersion)).toEqual([1, 0]);
  expect(await catalog.datasets.logVersions()).toEqual([{ id: datasetId, logVersion: 1 }]);
});

test('a commit has the fields of its segments, and those that it adds without a value', async () => {
  const { catalog } = catalogFixture;
  const firstTask = await catalogFixture.queueImport(ann, datasetId);
  await catalog.publish(await publicationOf(catalog, firstTask, { columns }));
  const emptyColumn = {
    name: 'empty',
    physical: 'empty',
    type: 'string',
    ...scalarColumn,
  } as const;
  const rowIdColumn = { name: '_strandlake_row_id', physical: '_strandlake_row_id', type: 'long', ...scalarColumn } as const; // prettier-ignore
  const [variant, info, alleles] = columns;
  const segmentColumns = [[rowIdColumn, alleles!], [{ ...info!, children: [info!.children![0]!] }]];
  const secondTask = await catalogFixture.queueImport(ann, datasetId);
  const publication = await publicationOf(catalog, secondTask, {
    columns: [variant!, info!, alleles!, emptyColumn],
    segmentColumns,
    logVersion: 1,
  });
  await catalog.publish(publication);
  expect((await catalog.commits.get(publication.commitId))?.fields).toEqual([
    { name: 'info', is_new: false },
    { name: 'info.AF', is_new: false },
    { name: 'alleles', is_new: false },
    { name: 'empty', is_new: true },
  ]);
});

test('the fields of a commit are found before its transaction, and no segment is read in vain', async () => {
  const { catalog } = catalogFixture;
  let nameReadCount = 0;
  const countedColumns: Columns = columns.map((column) => ({
    ...column,
    get name() {
      nameReadCount++;
      return column.name;
    },
  }));
  const task = await catalogFixture.queueImport(ann, datasetId);
  const publication = await publicationOf(catalog, task, {
    columns,
    // The second segment shares the array of the first, so it is skipped; the third has its own array, but after the first segment no field
    // is left to be found.
    segmentColumns: [countedColumns, countedColumns, [...countedColumns]],
  });
  const earlierWork = Promise.withResolvers<void>();
  const earlierTransaction = catalog.transaction(() => earlierWork.promise);
  const publishing = catalog.publish(publication);
  const nameReadCountBeforeTransaction = nameReadCount;
  earlierWork.resolve();
  await Promise.all([earlierTransaction, publishing]);
  expect([nameReadCountBeforeTransaction, nameReadCount]).toEqual([columns.length, columns.length]);
  const { fields } = (await catalog.commits.get(publication.commitId))!;
  const names = ['variant', 'info', 'info.AF', 'info.a.b', 'alleles'];
  expect(fields).toEqual(names.map((name) => ({ name, is_new: true })));
});

test('commits are listed in the order of the versions that they made, not of the jobs that made them', async () => {
  const { catalog } = catalogFixture;
  const slowPublication = await publicationOf(catalog, await catalogFixture.queueImport(ann, datasetId), { columns }); // prettier-ignore
  const fastPublication = await publicationOf(catalog, await catalogFixture.queueImport(ann, datasetId), { columns }); // prettier-ignore
  expect(fastPublication.commitId).toBeGreaterThan(slowPublication.commitId);
  await catalog.publish({ ...fastPublication, logVersion: 0, time: 1_000 });
  await catalog.publish({ ...slowPublication, logVersion: 1, time: 2_000 });
  const filters = [{}, { datasetIds: [datasetId] }, { datasetIds: [datasetId, 1] }, { statuses: ['failed', 'completed'] }] as const; // prettier-ignore
  for (const filter of filters) {
    const { rows } = await catalog.commits.list({ viewer: null, ...filter }, allRowsPage);
    expect(rows.map(({ id }) => id)).toEqual([slowPublication.commitId, fastPublication.commitId]);
  }
  const failedCommits = await catalog.commits.list(
    { viewer: null, statuses: ['failed'] },
    allRowsPage,
  );
  expect(failedCommits.rows).toEqual([]);
});

test('a declared field takes its type from the data only if its type is auto', async () => {
  const { catalog } = catalogFixture;
  const declaration = { datasetId, title: 'T', description: 'D' };
  const openField = await catalog.fields.create({ ...declaration, name: 'variant', ordering: 9 });
  const fixedField = await catalog.fields.create({
    ...declaration,
    name: 'alleles',
    dataType: 'text',
    isList: true,
  });
  const nestedField = await catalog.fields.create({
    ...declaration,
    name: 'info.AF',
    entityType: 'sample',
  });
  const unusedField = await catalog.fields.create({ ...declaration, name: 'unused' });
  expect([openField.isValid, openField.ordering, fixedField.ordering, openField.dataType]).toEqual([
    false,
    9,
    null,
    'auto',
  ]);
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.publish(await publicationOf(catalog, task, { columns }));
  expect(await catalog.fields.get(openField.id)).toMatchObject({
    dataType: 'string',
    isValid: true,
    ordering: 9,
    title: 'T',
  });
  expect(await catalog.fields.get(fixedField.id)).toMatchObject({
    dataType: 'text',
    isValid: true,
    isList: true,
  });
  expect(await catalog.fields.get(nestedField.id)).toMatchObject({
    path: ['info', 'AF'],
    dataType: 'double',
    isList: true,
    entityType: 'sample',
    isValid: true,
  });
  expect(await catalog.fields.get(unusedField.id)).toMatchObject({
    isValid: false,
    dataType: 'auto',
  });
  expect(await catalog.fields.all(datasetId)).toHaveLength(fieldsOfColumns(columns).length + 2);
});

test('a failing publication changes nothing', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  await catalog.tasks.claim();
  const before = await dumpDatasetState();
  const publication = await publicationOf(catalog, task, { columns: [...columns, columns[0]!] });
  await expect(catalog.publish(publication)).rejects.toThrow('UNIQUE');
  expect(await dumpDatasetState()).toEqual(before);
});
