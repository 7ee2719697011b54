import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { fieldsRead } from '../../engine/query/predicate/kinds.js';
import { HotColumns } from '../../engine/query/memory/hot-columns.js';
import { openMemoryExecutor } from '../../engine/query/memory/memory-executor.js';
import { openQueryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import { spillFolder } from '../../scheduler/worker/messages.js';
import type { App } from '../../api/app.module.js';
import { keepHotColumns, loadHotColumns, warmCaches } from '../../api/warm.js';
import { startLab } from './lab.js';
import { idOf } from './server.js';

const { server, ann, vaultId } = await startLab();
const datasets: number[] = [];
let queryEngine: QueryEngine;
const loadedColumns: (readonly [dataset: number, fields: readonly string[]])[] = [];
/** The datasets whose files were opened. */
const opened: number[] = [];
/** The queried datasets, and the fields of the conditions. */
const askedColumns: [dataset: number, fields: readonly string[]][] = [];
const reports: string[] = [];
/** The requests that the server has sent to itself: their paths, and the first lines of the answers. */
const ownRequests: [path: string, status: string][] = [];
/** The columns that queries have read. */
const usedColumns = new HotColumns();
beforeAll(async () => {
  for (const name of ['first', 'second']) {
    const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
    const data_records = [{ gene: 'TTN'.repeat(20), info: { AF: 0.5 } }];
    await ann.post('/v2/dataset_imports', { dataset_id: id, data_records });
    datasets.push(id);
  }
  const memory = openMemoryExecutor({ threads: 0, cacheMb: 16 });
  queryEngine = await openQueryEngine({
    memory: {
      ...memory,
      open(snapshot, ...more) {
        opened.push(snapshot.datasetId);
        return memory.open(snapshot, ...more);
      },
      async warm({ datasetId }, fields) {
        loadedColumns.push([datasetId, fields.map(({ name }) => name)]);
      },
    },
    hot: usedColumns,
    trace: (_, { datasetId }, predicate) =>
      void askedColumns.push([datasetId, fieldsRead(predicate).map(({ name }) => name)]),
    dataFolder: server.data.root,
    memoryMb: 64,
    threads: 1,
    spillFolder: spillFolder(server.data, process.pid),
    spillMb: 64,
  });
});
afterAll(() => queryEngine.close());

async function warmWith(
  hot: Parameters<typeof warmCaches>[1],
  signal = new AbortController().signal,
) {
  const { catalog, store } = server;
  loadedColumns.length = 0;
  opened.length = 0;
  const app: Pick<App, 'post'> = {
    async post(userId, path, body) {
      const answer = await server.app.post(userId, path, body);
      ownRequests.push([path, answer.slice(0, 15)]);
      return answer;
    },
  };
  await warmCaches({ catalog, store, queryEngine, app }, hot, signal, (message) =>
    reports.push(message),
  );
  return loadedColumns;
}

test('the datasets used last are warmed, with the small columns first; what is gone is passed over', async () => {
  const [first, second] = datasets as [number, number];
  askedColumns.length = 0;
  ownRequests.length = 0;
  const hotList = [
    { dataset: second, fields: ['gene', 'gone', 'info.AF'] },
    { dataset: 123, fields: ['gene'] },
    { dataset: first, fields: [] },
  ];
  expect(await warmWith(hotList)).toEqual([[second, ['info.AF', 'gene']]]);
  expect(opened).toEqual([second, first]);
  expect(ownRequests.length).toBeGreaterThan(20);
  expect(new Set(ownRequests.map(String))).toEqual(new Set([`/v2/datasets/${second}/data,HTTP/1.1 200 OK`])); // prettier-ignore
  expect(reports).toEqual([]);
  // First pages, then the values of a record; none of it counts as use.
  expect(askedColumns).toEqual([
    [second, []],
    [first, []],
    [second, []],
    [second, ['info.AF']],
    [second, ['gene']],
    [first, []],
  ]);
  expect(usedColumns.list).toEqual([]);
});

test('without any, the newest dataset is', async () => {
  askedColumns.length = 0;
  expect(await warmWith([])).toEqual([]);
  expect(opened).toEqual([datasets[1]]);
  expect(askedColumns).toEqual([
    [datasets[1], []],
    [datasets[1], []],
  ]);
});

test('warming ends with the server', async () => {
  expect(await warmWith([], AbortSignal.abort())).toEqual([]);
});

test('hot columns are kept in the data folder, and a file that is none is ignored', async () => {
  const { data } = server;
  expect((await loadHotColumns(data)).list).toEqual([]);
  const recordedColumns = new HotColumns();
  recordedColumns.note(1, ['gene']);
  await keepHotColumns(data, recordedColumns)();
  expect((await loadHotColumns(data)).list).toEqual([{ dataset: 1, fields: ['gene'] }]);
  await writeFile(data.hotColumns, 'x');
  expect((await loadHotColumns(data)).list).toEqual([]);
});
