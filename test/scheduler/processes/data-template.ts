import { afterAll } from '@jest/globals';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lake } from '../lake.js';
import { recoverServer } from './killable.js';

/** A data folder with a dataset; every test uses a copy of it. */
export interface DataTemplate {
  readonly root: string;
  readonly datasetId: number;
  /** Copies the data folder; returns the path of the copy. */
  copy(): Promise<string>;
}

/**
 * Imports lines of JSON for all tests of a file, which must call this function at its top level; the folder and its copies are removed
 * after the tests.
 */
export async function createDataTemplate(lines: readonly string[]): Promise<DataTemplate> {
  const lake = await Lake.make();
  const { root } = lake.data;
  const folders = [root];
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });
  const datasetId = await lake.createDataset();
  await lake.queueFileImport(datasetId, await lake.createFile('a.json', lines.join('')));
  await lake.close();
  await recoverServer(root);
  return {
    root,
    datasetId,
    async copy() {
      const folder = await mkdtemp(join(tmpdir(), 'strandlake-copy-'));
      folders.push(folder);
      await cp(root, folder, { recursive: true });
      return folder;
    },
  };
}
