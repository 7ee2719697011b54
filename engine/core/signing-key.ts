import { randomBytes } from 'node:crypto';
import { publishFile } from './atomic-files.js';
import type { DataFolder } from './data-folder.js';
import { AppError } from './errors.js';
import { readFileStats, readFile } from './files.js';

const keyBytes = 32;

/**
 * Returns the server's key of 32 bytes, with which URLs are signed and the hashes of tokens are keyed. The first call creates it;
 * concurrent calls in other processes return the same key. Throws `damaged` if the key has another length, or if a catalogue exists without
 * its key, because no token in the catalogue would be valid with a new key.
 */
export async function openSigningKey(data: DataFolder): Promise<Uint8Array> {
  if ((await readFileStats(data.signingKey)) === undefined) {
    if ((await readFileStats(data.catalog)) !== undefined) {
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
