import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, openDataFolder } from '../../engine/core/files.js';
import { openStore } from '../../engine/store/open.js';
import { openBench, type Bench, type Dataset } from '../engine/query/dataset.js';
import { openChdb, type QueryBind } from './chdb-engine.js';

/** Two engines on one data folder, whose datasets are Delta tables that the store has committed. */
export interface Tables {
  readonly duckdb: Bench;
  readonly clickhouse: Bench;
}

/** Opens an empty folder; closing either bench removes it. */
export async function openTables(queryBind: QueryBind): Promise<Tables> {
  const bench = await openBench();
  const folder = await openDataFolder(bench.folder);
  const store = openStore(folder);
  const duckdb: Bench = {
    ...bench,
    dataset: async (columns, segments, more): Promise<Dataset> => {
      const { snapshot, fields } = await bench.dataset(columns, segments, more);
      // The files that the bench wrote stay where they are, so the table needs a number of its own.
      const id = snapshot.datasetId + 1_000_000;
      const scratch = folder.taskScratch(id, 1);
      await makeFolder(scratch);
      for (const { path } of snapshot.segments)
        await copyFile(join(folder.dataset(snapshot.datasetId), path), join(scratch, path));
      const change = { columns, add: snapshot.segments, remove: [], info: {} };
      return { snapshot: await store.commit(id, change, scratch), fields };
    },
  };
  const engine = openChdb(queryBind, (datasetId) => folder.dataset(datasetId));
  return { duckdb, clickhouse: { ...duckdb, engine } };
}
