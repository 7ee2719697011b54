import type { GenomeBuild } from '../core/types.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { listPage, type AccessFilter, type Listed, type Page } from './list-page.js';
import { fold } from './names.js';
import type { ObjectRow } from './object-row.js';
import { insertObject, type NewObject } from './objects.js';
import { mayAccess } from './permission.js';
import { all, endsWith, isOneOf, sql, type Sql } from './sql.js';
import { table, type Millis } from './table.js';

/** What a dataset has beyond its object; same id. */
export interface DatasetRow {
  readonly id: number;
  readonly capacity: 'small' | 'medium' | 'large' | 'xlarge';
  readonly storageClass: string;
  readonly availability: 'available' | 'unavailable' | 'restoring' | 'archived';
  readonly documentsCount: number;
  readonly bytes: number;
  readonly genomeBuilds: readonly GenomeBuild[];
  /** The Delta log version that the catalogue has taken in; -1 before the first commit. */
  readonly logVersion: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** A dataset to be, with its object in the vault. */
export interface NewDataset extends Omit<NewObject, 'objectType' | 'size' | 'md5'> {
  readonly capacity?: DatasetRow['capacity'];
  readonly storageClass: string;
}

export type DatasetPatch = Partial<Pick<DatasetRow, 'storageClass' | 'availability'>>;

export interface DatasetFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly vaultIds?: readonly number[];
  /** The filename, whatever its letter case. */
  readonly name?: string;
  readonly tag?: string;
  readonly storageClass?: string;
}

/** The datasets: what they have beyond their objects, under the same ids. They are removed with their objects. */
export interface DatasetTable {
  get(id: number): Promise<DatasetRow | undefined>;
  /** By path. */
  list(filter: DatasetFilter, page: Page): Promise<Listed<DatasetRow>>;
  /** Makes the object too; its filename may have got a number. */
  create(
    dataset: NewDataset,
  ): Promise<{ readonly dataset: DatasetRow; readonly object: ObjectRow }>;
  update(id: number, patch: DatasetPatch): Promise<DatasetRow | undefined>;
  /**
   * Takes in a version of the log that has the same records in other files, so many bytes more or less. Nothing happens unless
   * the catalogue is at the version before it: what is missing in between, the next start takes in.
   */
  rewritten(id: number, version: number, bytesMore: number): Promise<void>;
  /** All datasets with the log version that the catalogue has taken in, for the reconciliation at start. */
  logVersions(): Promise<readonly { readonly id: number; readonly logVersion: number }[]>;
  /** The deleted datasets whose files may still be there. */
  dropped(): Promise<readonly number[]>;
  /** The files of a deleted dataset are gone. */
  forget(id: number): Promise<void>;
}

/** How datasets are stored. */
export const datasets = table<DatasetRow>(
  'datasets',
  {
    id: 'plain',
    capacity: 'plain',
    storageClass: 'plain',
    availability: 'plain',
    documentsCount: 'plain',
    bytes: 'plain',
    genomeBuilds: 'json',
    logVersion: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

/** The datasets of a catalogue. */
export function datasetTable(db: Database): DatasetTable {
  const kept = new RowCache<number, DatasetRow>(db);
  const get = (id: number): Promise<DatasetRow | undefined> =>
    kept.get(id, async () => {
      const row = await db.get(sql`SELECT ${datasets.columns} FROM datasets WHERE id = ${id}`);
      return row && datasets.parse(row);
    });
  return {
    get,
    list: async (filter, page) =>
      listPage(
        db,
        datasets,
        {
          from: sql`datasets JOIN objects ON objects.id = datasets.id
            JOIN vaults ON vaults.id = objects.vault_id`,
          where: all(conditions(filter)),
          orderBy: sql`vaults.name_key, vaults.id, objects.path_key, datasets.id`,
        },
        page,
      ),
    create: ({ capacity, storageClass, ...object }) =>
      db.atomic(async (tx) => {
        const mimetype = 'application/vnd.solvebio.dataset'; // what clients know (contract 6.1)
        const made = await insertObject(tx, { mimetype, ...object, objectType: 'dataset' });
        const row: DatasetRow = {
          id: made.id,
          capacity: capacity ?? 'small',
          storageClass,
          availability: 'available',
          documentsCount: 0,
          bytes: 0,
          genomeBuilds: [],
          logVersion: -1,
          createdAt: made.createdAt,
          updatedAt: made.createdAt,
        };
        await tx.run(datasets.insert(row));
        return { dataset: row, object: made };
      }),
    update: (id, patch) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        const change = datasets.update(id, { ...patch, updatedAt: now });
        if (change !== undefined) await tx.run(change);
        if (patch.availability !== undefined) {
          await tx.run(sql`UPDATE objects SET availability = ${patch.availability}, updated_at = ${now}
            WHERE id = ${id}`);
        }
        return datasetTable(tx).get(id);
      }),
    rewritten: async (id, version, bytesMore) => {
      await db.run(sql`UPDATE datasets SET log_version = ${version}, bytes = bytes + ${bytesMore}
        WHERE id = ${id} AND log_version = ${version - 1}`);
    },
    logVersions: async () => {
      const rows = await db.all(sql`SELECT id, log_version FROM datasets ORDER BY id`);
      return rows.map((row) => ({
        id: row['id'] as number,
        logVersion: row['log_version'] as number,
      }));
    },
    dropped: async () => {
      const rows = await db.all(sql`SELECT id FROM dropped_datasets ORDER BY id`);
      return rows.map((row) => row['id'] as number);
    },
    forget: async (id) => {
      await db.run(sql`DELETE FROM dropped_datasets WHERE id = ${id}`);
    },
  };
}

function conditions(filter: DatasetFilter): Sql[] {
  const found: Sql[] = [mayAccess(filter.access)];
  if (filter.ids) found.push(isOneOf(sql`datasets.id`, filter.ids));
  if (filter.vaultIds) found.push(isOneOf(sql`objects.vault_id`, filter.vaultIds));
  if (filter.name !== undefined) {
    found.push(endsWith(sql`objects.path_key`, `/${fold(filter.name)}`));
  }
  if (filter.tag !== undefined) {
    found.push(sql`EXISTS (SELECT 1 FROM object_tags
      WHERE object_tags.object_id = datasets.id AND object_tags.tag = ${filter.tag.trim()})`);
  }
  if (filter.storageClass !== undefined) {
    found.push(sql`datasets.storage_class = ${filter.storageClass}`);
  }
  return found;
}
