import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { fieldsRead, predicateText } from '../../engine/query/predicate/kinds/index.js';
import { HotColumns } from '../../engine/query/memory/hot-columns.js';
import { openMemoryExecutor } from '../../engine/query/memory/memory-executor.js';
import { openQueryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import { spillFolder } from '../../scheduler/worker/messages.js';
import type { App } from '../../api/app.module.js';
import { saveHotColumnsPeriodically, loadHotColumns, warmCaches } from '../../api/warm.js';
import { startServerFixture } from './server-fixture.js';
import { idOf } from './server.js';

const { server, ann, vaultId } = await startServerFixture();
const datasetIds: number[] = [];
let queryEngine: QueryEngine;
const loadedColumns: (readonly [dataset: number, fields: readonly string[]])[] = [];
/** The ids of the datasets whose files were opened. */
const openedDatasetIds: number[] = [];
/** The ids of the queried datasets, each with the fields of the query's conditions. */
const requestedColumns: [dataset: number, fields: readonly string[]][] = [];
/** The condition of each query that the engine has planned, as text. */
const searchedPredicates: string[] = [];
const reportedMessages: string[] = [];
/** The requests that the server has sent to itself: their paths, and the first 15 characters of the answers. */
const ownRequests: [path: string, status: string][] = [];
/** The columns whose use the query engine has recorded; the queries that warm the caches are not recorded. */
const usedColumns = new HotColumns();
beforeAll(async () => {
  for (const name of ['first', 'second']) {
    const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
    const data_records = [{ gene: 'TTN'.repeat(20), info: { AF: 0.5 } }];
    await ann.post('/v2/dataset_imports', { dataset_id: id, data_records });
    datasetIds.push(id);
  }
  const memory = openMemoryExecutor({ threads: 0, cacheMb: 16 });
  queryEngine = openQueryEngine({
    memory: {
      ...memory,
      open(snapshot, ...more) {
        openedDatasetIds.push(snapshot.datasetId);
        return memory.open(snapshot, ...more);
      },
      async warm({ datasetId }, fields) {
        loadedColumns.push([datasetId, fields.map(({ name }) => name)]);
      },
    },
    hot: usedColumns,
    onPlan(_, { datasetId }, predicate) {
      requestedColumns.push([datasetId, fieldsRead(predicate).map(({ name }) => name)]);
      searchedPredicates.push(predicateText(predicate));
    },
    dataFolder: server.data.root,
    memoryMb: 64,
    threads: 1,
    spillFolder: spillFolder(server.data, process.pid),
    spillMb: 64,
  });
});
afterAll(() => queryEngine.close());

async function warmCachesWith(
  hot: Parameters<typeof warmCaches>[1],
  signal = new AbortController().signal,
) {
  const { catalog, store } = server;
  loadedColumns.length = 0;
  openedDatasetIds.length = 0;
  const app: Pick<App, 'post'> = {
    async post(userId, path, body) {
      const answer = await server.app.post(userId, path, body);
      ownRequests.push([path, answer.slice(0, 15)]);
      return answer;
    },
  };
  await warmCaches({ catalog, store, queryEngine, app }, hot, signal, (message) =>
    reportedMessages.push(message),
  );
  return loadedColumns;
}

test('the datasets used last are warmed, with the small columns first; what is gone is passed over', async () => {
  const [firstId, secondId] = datasetIds as [number, number];
  requestedColumns.length = 0;
  ownRequests.length = 0;
  const hotList = [
    { dataset: secondId, fields: ['gene', 'gone', 'info.AF'] },
    { dataset: 123, fields: ['gene'] },
    { dataset: firstId, fields: [] },
  ];
  expect(await warmCachesWith(hotList)).toEqual([[secondId, ['info.AF', 'gene']]]);
  expect(openedDatasetIds).toEqual([secondId, firstId]);
  expect(ownRequests.length).toBeGreaterThan(20);
  expect(new Set(ownRequests.map(String))).toEqual(new Set([`/v2/datasets/${secondId}/data,HTTP/1.1 200 OK`])); // prettier-ignore
  expect(reportedMessages).toEqual([]);
  // Some queries read the first page of a dataset, others look up a value of its first record in one field; none of them counts as use of
  // the columns.
  expect(requestedColumns).toEqual([
    [secondId, []],
    [firstId, []],
    [secondId, []],
    [secondId, ['info.AF']],
    [secondId, ['gene']],
    [firstId, []],
  ]);
  expect(usedColumns.recentDatasets).toEqual([]);
});

test('without any, the newest dataset is', async () => {
  requestedColumns.length = 0;
  expect(await warmCachesWith([])).toEqual([]);
  expect(openedDatasetIds).toEqual([datasetIds[1]]);
  expect(requestedColumns).toEqual([
    [datasetIds[1], []],
    [datasetIds[1], []],
  ]);
});

test('words of the text fields of the first page are searched for, if several records have them', async () => {
  const fields = [{ name: 'note', data_type: 'text' }];
  const body = { vault_id: vaultId, name: 'texts', fields };
  const id = idOf(await ann.post('/v2/datasets', body));
  const data_records = ['breast cancer', 'no cancer', 'a rare syndrome'].map((note) => ({ note }));
  await ann.post('/v2/dataset_imports', { dataset_id: id, data_records });
  searchedPredicates.length = 0;
  await warmCachesWith([{ dataset: id, fields: [] }]);
  const searches = searchedPredicates.filter((text) => text.includes('note'));
  expect(searches).toEqual([expect.stringContaining('cancer')]);
  expect(usedColumns.recentDatasets).toEqual([]);
});

test('warming ends with the server', async () => {
  expect(await warmCachesWith([], AbortSignal.abort())).toEqual([]);
});

test('hot columns are kept in the data folder, and a file that is none is ignored', async () => {
  const { data } = server;
  expect((await loadHotColumns(data)).recentDatasets).toEqual([]);
  const recordedColumns = new HotColumns();
  recordedColumns.recordUse(1, ['gene']);
  await saveHotColumnsPeriodically(data, recordedColumns)();
  expect((await loadHotColumns(data)).recentDatasets).toEqual([{ dataset: 1, fields: ['gene'] }]);
  await writeFile(data.hotColumns, 'x');
  expect((await loadHotColumns(data)).recentDatasets).toEqual([]);
});
