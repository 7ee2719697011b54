import { join } from 'node:path';
import { openCatalog, type Catalog } from '../engine/catalog/catalog.js';
import { parseConfig } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import { fileStats, openDataFolder } from '../engine/core/files.js';
import { openSigningKey } from '../engine/core/signing-key.js';

/** The parts of a data folder that the short commands use. */
export interface OpenData {
  readonly catalog: Catalog;
  readonly key: Uint8Array;
}

/**
 * Opens the signing key and the catalogue of a data folder, runs `work` and closes them. It also works beside a running server,
 * because SQLite serialises the writes of both processes.
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

/** The data folder that flag and environment name. Throws `not-found` if it contains no catalogue. */
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
    `${data} contains no catalogue; start the server once (npm start), or name its folder with --data`,
  );
}
