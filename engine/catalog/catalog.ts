import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { AppError } from '../core/errors.js';
import { readFileStats, listFolder } from '../core/files.js';
import type { SearchTable } from '../search/search-tables.js';
import { accountTable, type AccountTable } from './accounts.js';
import { applicationTable, type ApplicationRow } from './applications.js';
import { archiveTable, type ArchiveTable } from './archives.js';
import { auditLogTable, type AuditLogTable } from './audit-log.js';
import { beaconSetTable, type BeaconSetRow } from './beacon-sets.js';
import { beaconTable, type BeaconRow } from './beacons.js';
import { commitTable, type CommitTable } from './commits.js';
import { datasetMigrationTable, type DatasetMigrationTable } from './dataset-migrations.js';
import {
  SqliteDatabase,
  acquireInstanceLock,
  type Database,
  type InstanceLock,
} from './database.js';
import { datasetTable, type DatasetTable } from './datasets.js';
import { exportTable, type ExportTable } from './exports.js';
import { fieldTable, type FieldTable } from './fields.js';
import { fileVersionTable, type FileVersionTable } from './file-versions.js';
import { grantTable, type GrantTable } from './grants.js';
import { globalBeaconTable, type GlobalBeaconTable } from './global-beacons.js';
import { idempotencyKeyTable, type IdempotencyKeyTable } from './idempotency-keys.js';
import { groupTable, type GroupTable } from './groups.js';
import { freezeIssuedIds, isIdIssued, nextLargeId, unfreezeIssuedIds } from './ids.js';
import { importTable, type ImportTable } from './imports.js';
import { invitationTable, type InvitationTable } from './invitations.js';
import { migrateSchema, migrations, readSchemaVersion } from './migrations.js';
import { multipartUploadTable, type MultipartUploadTable } from './multipart-uploads.js';
import { objectCopyTable, type ObjectCopyTable } from './object-copies.js';
import { objectTable, type ObjectTable } from './objects.js';
import { passwordTable, type PasswordTable } from './passwords.js';
import type { Viewer } from './permission.js';
import { publishVersion, type Publication } from './publish.js';
import { templateTable, type TemplateRow } from './templates.js';
import { savedQueryTable, type SavedQueryRow } from './saved-queries.js';
import type { SavedResourceTable } from './saved-resource.js';
import { searchTable } from './search-table.js';
import { signInTable, type SignInTable } from './sign-ins.js';
import { sql } from './sql.js';
import { taskTable, type TaskTable } from './tasks.js';
import { tokenTable, type TokenTable } from './tokens.js';
import { userTable, type UserTable } from './users.js';
import { vaultPermissionTable, type VaultPermissionTable } from './vault-permissions.js';
import { vaultTable, type VaultTable } from './vaults.js';

/** The tables of the catalogue, either in their committed state or inside one open transaction. */
export interface Tables {
  readonly accounts: AccountTable;
  readonly users: UserTable;
  readonly tokens: TokenTable;
  readonly passwords: PasswordTable;
  readonly signIns: SignInTable;
  readonly applications: SavedResourceTable<ApplicationRow>;
  readonly grants: GrantTable;
  readonly vaults: VaultTable;
  readonly vaultPermissions: VaultPermissionTable;
  readonly groups: GroupTable;
  readonly invitations: InvitationTable;
  readonly auditLog: AuditLogTable;
  readonly objects: ObjectTable;
  readonly fileVersions: FileVersionTable;
  readonly multipartUploads: MultipartUploadTable;
  readonly datasets: DatasetTable;
  readonly fields: FieldTable;
  readonly imports: ImportTable;
  readonly exports: ExportTable;
  readonly datasetMigrations: DatasetMigrationTable;
  readonly commits: CommitTable;
  readonly snapshots: ArchiveTable;
  readonly restores: ArchiveTable;
  readonly objectCopies: ObjectCopyTable;
  readonly tasks: TaskTable;
  readonly idempotencyKeys: IdempotencyKeyTable;
  readonly savedQueries: SavedResourceTable<SavedQueryRow>;
  readonly templates: SavedResourceTable<TemplateRow>;
  readonly beaconSets: SavedResourceTable<BeaconSetRow>;
  readonly beacons: SavedResourceTable<BeaconRow>;
  readonly globalBeacons: GlobalBeaconTable;
  readonly search: SearchTable<Viewer>;
  /** The next id of an object, job or task. */
  nextId(): Promise<number>;
  /** Whether an object, job or task has ever had this id; false for files that are newer than a catalogue restored from a backup. */
  isIssued(id: number): Promise<boolean>;
  /**
   * Called when a start begins: until `unfreezeIssued`, `isIssued` leaves out the ids that the start itself issues, which files that are
   * newer than a restored catalogue may have.
   */
  freezeIssued(): Promise<void>;
  /**
   * Called when a start has removed or moved all files that the catalogue does not need, or as many as it could: the ids that it has issued
   * then remain in doubt until another start.
   */
  unfreezeIssued(hasMovedAll: boolean): Promise<void>;
  /** Records in the catalogue a commit whose log entry exists. Idempotent. */
  publish(publication: Publication): Promise<void>;
}

/** The catalogue: accounts, users, permissions, vaults, objects, datasets, jobs and the queue of tasks. */
export interface Catalog extends Tables {
  /**
   * Runs `work` in a transaction, one transaction at a time, and rolls back if `work` throws. `work` must use only `tx`: a write through
   * the catalogue itself would wait for the end of the transaction and deadlock.
   */
  transaction<T>(work: (tx: Tables) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * How a process uses the catalogue. A `server` holds the instance lock. A `command` works beside a running server; if no server runs, it
 * holds the lock and may migrate. SQLite's locks order its writes with those of the server. A `reader` changes nothing and requires the
 * lock, so that no server runs at the same time.
 */
type CatalogOpenMode = 'server' | 'command' | 'reader';

const maxLockAttempts = 40;
const lockPauseMs = 50;

/**
 * Opens the catalogue and creates or migrates its tables. Throws, with the reason, if the file is damaged, locked, missing although other
 * data exist, or written by a newer release or another program (threat R8).
 */
export async function openCatalog(
  file: string | ':memory:',
  user: CatalogOpenMode = 'server',
): Promise<Catalog> {
  if (file === ':memory:') {
    const db = new SqliteDatabase(file);
    await migrateSchema(db);
    return catalogOf(db, null);
  }
  await requireNoOrphanedData(file);
  let lock = acquireInstanceLock(file) ?? null;
  // A command may hold the lock for a moment, so a server that starts tries several times.
  for (let tries = user === 'server' ? maxLockAttempts : 0; lock === null && tries > 0; tries--) {
    await setTimeout(lockPauseMs);
    lock = acquireInstanceLock(file) ?? null;
  }
  if (lock === null && user !== 'command') {
    throw new AppError(
      'conflict',
      `another server uses ${file}; stop it or choose another data folder`,
    );
  }
  try {
    const db = new SqliteDatabase(file, user === 'reader');
    try {
      await requireIntact(db, file);
      if (lock !== null && user !== 'reader') await migrateSchema(db);
      else await requireCurrentSchema(db, file);
      return catalogOf(db, lock);
    } catch (error) {
      await db.close();
      throw error;
    }
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** Whether a server uses the catalogue in this file. */
export function isCatalogInUse(file: string): boolean {
  const lock = acquireInstanceLock(file);
  lock?.release();
  return lock === undefined;
}

function catalogOf(db: SqliteDatabase, lock: InstanceLock | null): Catalog {
  return {
    ...tablesOf(db),
    transaction: (work) => db.atomic((tx) => work(tablesOf(tx))),
    close: async () => {
      await db.close();
      lock?.release();
    },
  };
}

function tablesOf(db: Database): Tables {
  return {
    accounts: accountTable(db),
    users: userTable(db),
    tokens: tokenTable(db),
    passwords: passwordTable(db),
    signIns: signInTable(db),
    applications: applicationTable(db),
    grants: grantTable(db),
    vaults: vaultTable(db),
    vaultPermissions: vaultPermissionTable(db),
    groups: groupTable(db),
    invitations: invitationTable(db),
    auditLog: auditLogTable(db),
    objects: objectTable(db),
    fileVersions: fileVersionTable(db),
    multipartUploads: multipartUploadTable(db),
    datasets: datasetTable(db),
    fields: fieldTable(db),
    imports: importTable(db),
    exports: exportTable(db),
    datasetMigrations: datasetMigrationTable(db),
    commits: commitTable(db),
    snapshots: archiveTable(db, 'snapshot'),
    restores: archiveTable(db, 'restore'),
    objectCopies: objectCopyTable(db),
    tasks: taskTable(db),
    idempotencyKeys: idempotencyKeyTable(db),
    savedQueries: savedQueryTable(db),
    templates: templateTable(db),
    beaconSets: beaconSetTable(db),
    beacons: beaconTable(db),
    globalBeacons: globalBeaconTable(db),
    search: searchTable(db),
    nextId: () => nextLargeId(db),
    isIssued: (id) => isIdIssued(db, id),
    freezeIssued: () => freezeIssuedIds(db),
    unfreezeIssued: (hasMovedAll) => unfreezeIssuedIds(db, hasMovedAll),
    publish: (publication) => publishVersion(db, publication),
  };
}

async function requireIntact(db: Database, file: string): Promise<void> {
  const rows = await db.all(sql`PRAGMA quick_check(1)`);
  const verdict = rows[0]?.['quick_check'];
  if (verdict !== 'ok') {
    throw new AppError(
      'damaged',
      `${file} is damaged (${String(verdict)}); restore it from a backup`,
    );
  }
}

/** Throws if the catalogue is missing although the data folder has other data. If it has none, this is the first start. */
async function requireNoOrphanedData(file: string): Promise<void> {
  const stats = await readFileStats(file);
  if (stats !== undefined && stats.bytes > 0) return;
  for (const name of ['datasets', 'archives', 'objects', 'exports']) {
    const folder = join(dirname(file), name);
    if ((await listFolder(folder)).length === 0) continue;
    throw new AppError(
      'damaged',
      `${file} is ${stats === undefined ? 'missing' : 'empty'}, but ${folder} holds data; restore the catalogue ` +
        'from a backup or choose an empty data folder',
    );
  }
}

async function requireCurrentSchema(db: Database, file: string): Promise<void> {
  const version = await readSchemaVersion(db);
  if (version === migrations.length) return;
  throw new AppError(
    'conflict',
    `${file} has schema version ${version} and a server of another release uses it; run its commands instead`,
  );
}
