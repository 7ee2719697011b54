import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, openDataFolder } from '../../engine/core/files.js';
import { openStore } from '../../engine/store/open-store.js';
import {
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from '../engine/query/dataset.js';
import { openChdb, type BoundQuery } from './chdb-engine.js';

/** DuckDB and ClickHouse on one data folder; the store has committed its datasets as Delta tables. */
export interface InteropFixtures {
  readonly duckdb: EngineFixture;
  readonly clickhouse: EngineFixture;
}

/** Opens DuckDB and ClickHouse on an empty folder; closing either of them removes the folder. */
export async function openInteropFixtures(queryBind: BoundQuery): Promise<InteropFixtures> {
  const engineFixture = await openEngineFixture();
  const folder = await openDataFolder(engineFixture.folder);
  const store = openStore(folder);
  const duckdb: EngineFixture = {
    ...engineFixture,
    newDataset: async (columns, segments, more): Promise<TestDataset> => {
      const { snapshot, fields } = await engineFixture.newDataset(columns, segments, more);
      // The committed copy of the dataset has an id of its own, because the original files remain under the original id.
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
