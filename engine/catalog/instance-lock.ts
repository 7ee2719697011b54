import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../core/errors.js';

/** Held for as long as a server runs; the operating system lets go of it when the process dies, however it dies. */
export interface InstanceLock {
  release(): void;
}

/**
 * Takes the lock of a catalogue file, or returns undefined if another process (or this one) holds it. It is an exclusive
 * transaction on an empty database beside the catalogue, which needs no lock file of our own and no process ids.
 */
export function takeInstanceLock(catalogFile: string): InstanceLock | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(`${catalogFile}.lock`, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if ((error as { errcode?: unknown }).errcode === 5) return undefined;
    throw new AppError('internal', `cannot lock ${catalogFile}.lock`, undefined, error);
  }
  const held = db;
  return {
    release: () => {
      held.exec('ROLLBACK');
      held.close();
    },
  };
}
