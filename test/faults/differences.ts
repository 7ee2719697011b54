import { openStore } from '../../engine/store/open-store.js';
import { verifyFolder } from '../../scheduler/queue/verify-folder.js';
import type { TestServer } from '../api/server.js';

/** Returns the problems that a verification of the data folder of an idle server or lake finds, apart from files for spilled data. */
export async function findFolderInconsistencies({
  catalog,
  data,
}: Pick<TestServer, 'catalog' | 'data'>): Promise<readonly string[]> {
  const now = Date.now();
  const store = openStore(data); // a store without cached state
  const differences = await verifyFolder({
    catalog,
    data,
    store,
    unreferencedBefore: Infinity,
    now,
  });
  return differences
    .filter(({ where }) => !where.startsWith('scratch/spill'))
    .map(({ where, problem }) => `${where}: ${problem}`);
}
