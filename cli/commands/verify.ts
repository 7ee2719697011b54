import { openCatalog } from '../../engine/catalog/catalog.js';
import { openDataFolder } from '../../engine/core/files.js';
import { type Command, UsageError } from '../command.js';
import { requireDataFolder } from '../data.js';
import { dataOption, readOptions } from './options.js';

/**
 * Unreferenced files that were changed within this time, in milliseconds, are not reported: the last run may have left them, and the next
 * start of the server removes them.
 */
const graceMs = 24 * 3_600_000;

/** `strandlake verify`: checks that a data folder is complete and undamaged. Changes nothing. */
export const verify: Command = {
  name: 'verify',
  usage: 'verify [<data folder>] [--data <folder>]',
  help: 'checks the checksums of all files of a data folder, and that log, catalogue and record counts agree; stop the server first',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 0, max: 1 });
    const [folder] = positionals;
    if (folder !== undefined && values.data !== undefined) {
      throw new UsageError('name the data folder only once');
    }
    const data = await openDataFolder(await requireDataFolder(folder ?? values.data, env));
    const catalog = await openCatalog(data.catalog, 'reader');
    try {
      // Loads the code of all jobs and formats, most of which no other command needs.
      const [{ openStore }, { verifyFolder }] = await Promise.all([
        import('../../engine/store/open-store.js'),
        import('../../scheduler/queue/verify-folder.js'),
      ]);
      const now = Date.now();
      const store = openStore(data);
      const unreferencedBefore = now - graceMs;
      const differences = await verifyFolder({ data, catalog, store, unreferencedBefore, now });
      for (const { where, problem } of differences) terminal.out(`${where}: ${problem}`);
      const { total } = await catalog.datasets.list({ viewer: null }, { limit: 0, offset: 0 });
      terminal.note(
        differences.length === 0
          ? `${data.root}: ${total} datasets, all is well`
          : `${data.root}: ${differences.length} differences`,
      );
      return differences.length === 0 ? 0 : 1;
    } finally {
      await catalog.close();
    }
  },
};
