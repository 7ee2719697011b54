import { expect, test } from '@jest/globals';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf } from '../server.js';

const { server, ann, vaultId } = await startServerFixture();

const newEmptyDataset = async (name: string): Promise<number> =>
  idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));

/** Imports a few records with a field that not all imports have. */
async function addRecords(id: number, from: number, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => {
    const n = from + i;
    return { n, even: n % 2 === 0, list: ['a', `b${n}`], ...(from % 3 === 0 && { o: { p: `x${n}` } }) };
  }); // prettier-ignore
  const { json } = await ann.post('/v2/dataset_imports', { dataset_id: id, data_records: records });
  expect(json['status']).toBe('completed');
}

const fetchData = async (id: number, body: object): Promise<Record<string, unknown>> =>
  (await ann.post(`/v2/datasets/${id}/data`, body)).json;

/** Returns the columns of all records of a version of a dataset, by default the newest, as DuckDB reads them. */
async function readColumns(id: number, version?: number): Promise<readonly unknown[]> {
  const { files } = await server.store.snapshot(id, version);
  const { columns } = await readWithDuckdb(files, '_id, _commit, n, even, list, o.p');
  return columns;
}

test('small commits become one segment; records, their order, ids and commits stay (C11)', async () => {
  const id = await newEmptyDataset('merged');
  for (let i = 0; i < 40; i++) await addRecords(id, 10 * i, 1 + (i % 4));
  await server.scheduler.compacted();
  const mergedSnapshot = await server.store.snapshot(id);
  expect(mergedSnapshot.segments.length).toBeLessThan(20);
  expect(mergedSnapshot.version).toBeGreaterThan(39);
  // The newest version has exactly the records that were found in the earlier versions, in the order in which they were added; every
  // earlier version can still be read.
  const expectedColumns: unknown[][] = [[], [], [], [], [], []];
  const seenIds = new Set<string>();
  for (let version = 0; version <= mergedSnapshot.version; version++) {
    const { segments, files } = await server.store.snapshot(id, version);
    const duckdbResult = await readWithDuckdb(files, '_id, _commit, n, even, list, o.p').catch(() =>
      readWithDuckdb(files, '_id, _commit, n, even, list, NULL'),
    );
    expect(duckdbResult.columns[0]).toHaveLength(segments.reduce((sum, { rows }) => sum + rows, 0));
    for (const [row, recordId] of duckdbResult.columns[0]!.entries()) {
      if (seenIds.has(recordId as string)) continue;
      seenIds.add(recordId as string);
      for (const [columnIndex, column] of duckdbResult.columns.entries())
        expectedColumns[columnIndex]!.push(column[row]);
    }
  }
  expect(await readColumns(id)).toEqual(expectedColumns);
  const { json } = await ann.get(`/v2/datasets/${id}`);
  expect(json).toMatchObject({ documents_count: 100 });
  expect((await fetchData(id, { filters: [['n__gte', 395]] }))['total']).toBe(0);
  expect(await findFolderInconsistencies(server)).toEqual([]);
  const listedCommits = (await ann.get(`/v2/datasets/${id}/commits?limit=100`)).json;
  expect(listedCommits['total']).toBe(40);
});

test('a cursor keeps reading its version while imports and merges run (Q8)', async () => {
  for (const query of [{}, { ordering: ['-n'] }, { filters: [['even', true]] }]) {
    const id = await newEmptyDataset('walked');
    for (let i = 0; i < 15; i++) await addRecords(id, 10 * i, 2);
    const wholeResults = (await fetchData(id, { ...query, limit: 1_000 }))['results'] as unknown[];
    const segmentCount = (await server.store.snapshot(id)).segments.length;
    expect(segmentCount).toBe(15);
    const pagedResults: unknown[] = [];
    let cursor: unknown = true;
    let from = 1_000;
    while (cursor !== null) {
      const page = await fetchData(id, { ...query, limit: 4, cursor });
      expect(page).toMatchObject({ total: wholeResults.length });
      pagedResults.push(...(page['results'] as unknown[]));
      cursor = page['cursor'];
      await addRecords(id, (from += 10), 1);
      await server.scheduler.compacted();
    }
    expect(pagedResults).toEqual(wholeResults);
    const { segments } = await server.store.snapshot(id);
    expect(segments.length).toBeLessThan(16);
    const newestResults = (await fetchData(id, { ...query, limit: 1_000 }))['results'] as unknown[];
    expect(newestResults.length).toBeGreaterThan(wholeResults.length);
  }
  expect(await findFolderInconsistencies(server)).toEqual([]);
});

test('imports, cursors and a deletion run at once with merges, and all agree', async () => {
  const ids = [await newEmptyDataset('busy'), await newEmptyDataset('gone')];
  for (const id of ids) await addRecords(id, 0, 3);
  const importRuns = ids.map(async (id, k) => {
    for (let i = 1; i < 36; i++) {
      if (k === 1 && i === 20) {
        expect((await ann.delete(`/v2/objects/${id}?force=true`)).status).toBeLessThan(300);
        return;
      }
      await addRecords(id, 10 * i, 3);
    }
  });
  const walkCursors = async (): Promise<void> => {
    for (let round = 0; round < 8; round++) {
      const numbers: number[] = [];
      let total = 0;
      for (let cursor: unknown = true; cursor !== null;) {
        const page = await fetchData(ids[0]!, { limit: 7, cursor, fields: ['n'] });
        total = page['total'] as number;
        numbers.push(...(page['results'] as { n: number }[]).map(({ n }) => n));
        cursor = page['cursor'];
      }
      expect(numbers).toHaveLength(total);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  };
  await Promise.all([...importRuns, walkCursors()]);
  await server.scheduler.compacted();
  const { segments, rows } = await server.store.snapshot(ids[0]!);
  expect(rows).toBe(108);
  expect(segments.length).toBeLessThan(20);
  expect(await findFolderInconsistencies(server)).toEqual([]);
});

test('administrators see merges with class=background; members see none of them, anywhere', async () => {
  const adminClient = await server.user('boss', { role: 'admin' });
  const url = '/v2/tasks?class=background&limit=100';
  const backgroundTasks = (await adminClient.get(url)).json['data'] as {
    id: number;
    task_type: string;
  }[];
  expect(backgroundTasks.map((task) => task.task_type)).toContain('datasets.SegmentMerge');
  // The list has only the last merge of each dataset.
  expect(backgroundTasks.length).toBeLessThan(10);
  const taskPath = `/v2/tasks/${backgroundTasks[0]!.id}`;
  expect((await adminClient.get(taskPath)).json).toMatchObject({
    task_object: { error_message: null },
  });
  expect((await ann.get(taskPath)).status).toBe(404);
  expect((await ann.get(url)).json).toMatchObject({ total: 0 });
  for (const client of [adminClient, ann]) {
    const listedTasks = (await client.get('/v2/tasks?limit=100')).json[
      'data'
    ] as typeof backgroundTasks;
    expect(listedTasks.length).toBeGreaterThan(0);
    expect(listedTasks.map((task) => task.task_type)).not.toContain('datasets.SegmentMerge');
  }
});
