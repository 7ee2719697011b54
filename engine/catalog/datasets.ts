import type { GenomeBuild } from '../core/types.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { foldName } from './object-names.js';
import type { ObjectRow } from './object-row.js';
import { insertObject, type NewObject } from './objects.js';
import { mayAccess } from './permission.js';
import { conjunctionOf, endsWith, isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The properties of a dataset beyond those of its object, which has the same id. */
export interface DatasetRow {
  readonly id: number;
  readonly capacity: 'small' | 'medium' | 'large' | 'xlarge';
  readonly storageClass: string;
  readonly availability: 'available' | 'unavailable' | 'restoring' | 'archived';
  readonly documentsCount: number;
  readonly bytes: number;
  readonly genomeBuilds: readonly GenomeBuild[];
  /** The version of the Delta log up to which the catalogue is current; -1 before the first commit. */
  readonly logVersion: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** A dataset to create, with its object in the vault. */
interface NewDataset extends Omit<NewObject, 'objectType' | 'size' | 'md5'> {
  readonly capacity?: DatasetRow['capacity'];
  readonly storageClass: string;
}

type DatasetPatch = Partial<Pick<DatasetRow, 'storageClass' | 'availability'>>;

export interface DatasetFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly vaultIds?: readonly number[];
  /** The file name, in any letter case. */
  readonly name?: string;
  readonly tag?: string;
  readonly storageClass?: string;
  /** Restricts the list to the datasets of this account's GA4GH beacon: those available and with a granularity other than `none`. */
  readonly beaconOf?: number;
}

interface DatasetTotals {
  readonly datasets: number;
  readonly records: number;
  readonly bytes: number;
}

/** Datasets. Each belongs to the object with the same id and is deleted with it. */
interface DatasetTable {
  get(id: number): Promise<DatasetRow | undefined>;
  /** Lists the datasets, ordered by vault name and then by path. */
  list(filter: DatasetFilter, page: Page): Promise<ListedRows<DatasetRow>>;
  /** Creates a dataset and its object; if the file name is in use, a number is appended to it. */
  create(
    dataset: NewDataset,
  ): Promise<{ readonly dataset: DatasetRow; readonly object: ObjectRow }>;
  update(id: number, patch: DatasetPatch): Promise<DatasetRow | undefined>;
  /**
   * Records a log version with the same records in other files, which have `bytesMore` more bytes (fewer if it is negative). Does nothing
   * unless the catalogue is at the preceding version; the reconciliation at the next start then records the version.
   */
  rewritten(id: number, version: number, bytesMore: number): Promise<void>;
  /** The log versions of all datasets, for the reconciliation at start. */
  logVersions(): Promise<readonly { readonly id: number; readonly logVersion: number }[]>;
  /** Totals over all datasets; bytes are the size of their segments. */
  totals(): Promise<DatasetTotals>;
  /** Ids of deleted datasets whose files may still exist. */
  dropped(): Promise<readonly number[]>;
  /** Records that the files of a deleted dataset have been removed. */
  forget(id: number): Promise<void>;
}

export const datasets = tableCodec<DatasetRow>(
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

/** Returns access to the table of datasets. */
export function datasetTable(db: Database): DatasetTable {
  const cache = new RowCache<number, DatasetRow>(db);
  const get = (id: number): Promise<DatasetRow | undefined> =>
    cache.get(id, async () => {
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
          where: conjunctionOf(datasetConditions(filter)),
          orderBy: sql`vaults.name_key, vaults.id, objects.path_key, datasets.id`,
        },
        page,
      ),
    create: ({ capacity, storageClass, ...rest }) =>
      db.atomic(async (tx) => {
        const mimetype = 'application/vnd.solvebio.dataset'; // the media type that clients know (contract 6.1)
        const object = await insertObject(tx, { mimetype, ...rest, objectType: 'dataset' });
        const row: DatasetRow = {
          id: object.id,
          capacity: capacity ?? 'small',
          storageClass,
          availability: 'available',
          documentsCount: 0,
          bytes: 0,
          genomeBuilds: [],
          logVersion: -1,
          createdAt: object.createdAt,
          updatedAt: object.createdAt,
        };
        await tx.run(datasets.insert(row));
        return { dataset: row, object };
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
    totals: async () => {
      const row =
        await db.get(sql`SELECT COUNT(*) AS datasets, COALESCE(SUM(documents_count), 0) AS records,
        COALESCE(SUM(bytes), 0) AS bytes FROM datasets`);
      return row as unknown as DatasetTotals;
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

function datasetConditions(filter: DatasetFilter): Sql[] {
  const clauses: Sql[] = [mayAccess(filter.viewer)];
  if (filter.ids) clauses.push(isOneOf(sql`datasets.id`, filter.ids));
  if (filter.vaultIds) clauses.push(isOneOf(sql`objects.vault_id`, filter.vaultIds));
  if (filter.name !== undefined) {
    clauses.push(endsWith(sql`objects.path_key`, `/${foldName(filter.name)}`));
  }
  if (filter.tag !== undefined) {
    clauses.push(sql`EXISTS (SELECT 1 FROM object_tags
      WHERE object_tags.object_id = datasets.id AND object_tags.tag = ${filter.tag.trim()})`);
  }
  if (filter.storageClass !== undefined) {
    clauses.push(sql`datasets.storage_class = ${filter.storageClass}`);
  }
  if (filter.beaconOf !== undefined) {
    clauses.push(
      sql`vaults.account_id = ${filter.beaconOf}`,
      sql`datasets.availability = 'available'`,
      sql`EXISTS (SELECT 1 FROM global_beacons
        WHERE global_beacons.dataset_id = datasets.id AND global_beacons.granularity <> 'none')`,
    );
  }
  return clauses;
}
