import { join } from 'node:path';
import { openCatalog, type Catalog } from '../engine/catalog/catalog.js';
import { parseConfig } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import { fileStats, openDataFolder } from '../engine/core/files.js';
import { openSigningKey } from '../engine/core/signing-key.js';

/** What the short commands work on. */
export interface OpenData {
  readonly catalog: Catalog;
  readonly key: Uint8Array;
}

/**
 * Opens key and catalogue of a data folder for a moment. A running server is no obstacle: it holds a lock of its own, and
 * SQLite lets one process write after the other.
 */
export async function withData<T>(
  folder: string,
  work: (data: OpenData) => Promise<T>,
): Promise<T> {
  const data = await openDataFolder(folder);
  const key = await openSigningKey(data);
  const catalog = await openCatalog(data.catalog, 'command');
  try {
    return await work({ catalog, key });
  } finally {
    await catalog.close();
  }
}

/** The data folder that flag and environment name; refuses one that no server has filled yet. */
export async function existingFolder(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { data } = parseConfig(flag === undefined ? [] : ['--data', flag], {
    STRANDLAKE_DATA: env['STRANDLAKE_DATA'],
  });
  if (await fileStats(join(data, 'catalog.sqlite'))) return data;
  throw new AppError(
    'not-found',
    `${data} holds no catalogue; start the server once (npm start), or name its folder with --data`,
  );
}
