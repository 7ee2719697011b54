import { randomBytes } from 'node:crypto';
import type { DataFolder } from './data-folder.js';
import { AppError } from './errors.js';
import { fileStats, publishFile, readFile } from './files.js';

const keyBytes = 32;

/**
 * The server's key, which signs URLs and under which tokens are hashed; made on the first call, and the same for every
 * process that asks at once. A catalogue without its key is refused: with a new one, no token in it would work again.
 */
export async function openSigningKey(data: DataFolder): Promise<Uint8Array> {
  if ((await fileStats(data.signingKey)) === undefined) {
    if ((await fileStats(data.catalog)) !== undefined) {
      throw new AppError(
        'damaged',
        'keys/signing.key is missing beside an existing catalogue; restore it from the backup of the data folder',
      );
    }
    await publishFile(data.signingKey, randomBytes(keyBytes));
  }
  const key = await readFile(data.signingKey, keyBytes);
  if (key.byteLength === keyBytes) return key;
  throw new AppError(
    'damaged',
    `keys/signing.key has ${key.byteLength} bytes instead of ${keyBytes}; restore it from the backup of the data folder`,
  );
}
