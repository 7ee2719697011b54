import { join } from 'node:path';
import { isCatalogInUse, openCatalog, type Catalog } from '../engine/catalog/catalog.js';
import { replaceFile } from '../engine/core/atomic-files.js';
import { parseConfig } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import { readFileStats, openDataFolder, readFile } from '../engine/core/files.js';
import { openSigningKey } from '../engine/core/signing-key.js';
import { isServer } from './client.js';

/** The parts of a data folder that commands without a server use. */
export interface OpenedDataFolder {
  readonly catalog: Catalog;
  readonly key: Uint8Array;
}

/**
 * Opens the signing key and the catalogue of a data folder, runs `work` and closes them. It also works beside a running server,
 * because SQLite serialises the writes of both processes.
 */
export async function withDataFolder<T>(
  folder: string,
  work: (data: OpenedDataFolder) => Promise<T>,
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

/**
 * Returns the data folder that the flag or the environment names, or else the default one. Throws `not-found` if it contains no catalogue.
 */
export async function requireDataFolder(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { data } = parseConfig(flag === undefined ? [] : ['--data', flag], {
    STRANDLAKE_DATA: env['STRANDLAKE_DATA'],
  });
  if (await readFileStats(join(data, 'catalog.sqlite'))) return data;
  throw new AppError(
    'not-found',
    `${data} contains no catalogue; start the server once (npm start), or name its folder with --data`,
  );
}

/** The file with the local address of the server. It remains when the server ends, so it counts only while the catalogue is locked. */
const serverFileName = 'server.json';

/** Records the address of the server that uses a data folder. */
export async function saveServerOrigin(folder: string, origin: string): Promise<void> {
  const data = await openDataFolder(folder);
  await replaceFile(data.path(serverFileName), Buffer.from(`${JSON.stringify({ origin })}\n`));
}

/**
 * Returns the address of the server that uses a data folder; undefined if no process holds the instance lock of its catalogue. Throws
 * `conflict` if the lock is held, but no server answers at the recorded address, or no address is recorded.
 */
export async function readRunningServerOrigin(folder: string): Promise<string | undefined> {
  const data = await openDataFolder(folder);
  if (!isCatalogInUse(data.catalog)) return undefined;
  if ((await readFileStats(data.path(serverFileName))) !== undefined) {
    const text = Buffer.from(await readFile(data.path(serverFileName))).toString('utf8');
    const { origin } = JSON.parse(text) as { readonly origin: string };
    if (await isServer(origin)) return origin;
  }
  throw new AppError(
    'conflict',
    `another server uses ${folder}; stop it or choose another folder with --data`,
  );
}
