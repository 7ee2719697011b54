import { afterAll } from '@jest/globals';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lake } from '../lake.js';
import { recoverServer } from './killable.js';

/** A data folder with a dataset, of which every test has a copy. */
export interface DataTemplate {
  readonly root: string;
  readonly datasetId: number;
  /** Makes a copy; returns its path. */
  copy(): Promise<string>;
}

/** Imports lines of JSON for all tests of the file that calls this at its top level, and removes the folder and its copies after them. */
export async function dataTemplate(lines: readonly string[]): Promise<DataTemplate> {
  const lake = await Lake.make();
  const { root } = lake.data;
  const folders = [root];
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });
  const datasetId = await lake.dataset();
  await lake.import(datasetId, await lake.file('a.json', lines.join('')));
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
