import { accountTable } from './accounts.js';
import { applicationTable } from './applications.js';
import { archiveTable } from './archives.js';
import { auditLogTable } from './audit-log.js';
import { beaconSetTable } from './beacon-sets.js';
import { beaconTable } from './beacons.js';
import { commitTable } from './commits.js';
import type { Database } from './database.js';
import { datasetMigrationTable } from './dataset-migrations.js';
import { datasetTable } from './datasets.js';
import { exportTable } from './exports.js';
import { fieldTable } from './fields.js';
import { fileVersionTable } from './file-versions.js';
import { globalBeaconTable } from './global-beacons.js';
import { grantTable } from './grants.js';
import { groupTable } from './groups.js';
import { idempotencyKeyTable } from './idempotency-keys.js';
import { freezeIssuedIds, isIdIssued, nextLargeId, unfreezeIssuedIds } from './ids.js';
import { importTable } from './imports.js';
import { invitationTable } from './invitations.js';
import { multipartUploadTable } from './multipart-uploads.js';
import { objectCopyTable } from './object-copies.js';
import { objectTable } from './objects.js';
import { passwordTable } from './passwords.js';
import { publishVersion, type Publication } from './publish.js';
import { savedQueryTable } from './saved-queries.js';
import { searchTable } from './search-table.js';
import { signInTable } from './sign-ins.js';
import { taskTable } from './tasks.js';
import { templateTable } from './templates.js';
import { tokenTable } from './tokens.js';
import { userTable } from './users.js';
import { vaultPermissionTable } from './vault-permissions.js';
import { vaultTable } from './vaults.js';

/** Opens each table of the catalogue, by its name: a new table is one line here. */
const tableOpeners = {
  accounts: accountTable,
  users: userTable,
  tokens: tokenTable,
  passwords: passwordTable,
  signIns: signInTable,
  applications: applicationTable,
  grants: grantTable,
  vaults: vaultTable,
  vaultPermissions: vaultPermissionTable,
  groups: groupTable,
  invitations: invitationTable,
  auditLog: auditLogTable,
  objects: objectTable,
  fileVersions: fileVersionTable,
  multipartUploads: multipartUploadTable,
  datasets: datasetTable,
  fields: fieldTable,
  imports: importTable,
  exports: exportTable,
  datasetMigrations: datasetMigrationTable,
  commits: commitTable,
  snapshots: (db: Database) => archiveTable(db, 'snapshot'),
  restores: (db: Database) => archiveTable(db, 'restore'),
  objectCopies: objectCopyTable,
  tasks: taskTable,
  idempotencyKeys: idempotencyKeyTable,
  savedQueries: savedQueryTable,
  templates: templateTable,
  beaconSets: beaconSetTable,
  beacons: beaconTable,
  globalBeacons: globalBeaconTable,
  search: searchTable,
};

type TableOpeners = typeof tableOpeners;

/** The tables of the catalogue, either in their committed state or inside one open transaction. */
export type Tables = {
  readonly [Name in keyof TableOpeners]: ReturnType<TableOpeners[Name]>;
} & CatalogActions;

/** What the catalogue does beside its tables. */
interface CatalogActions {
  /** The next id of an object, job or task. */
  nextId(): Promise<number>;
  /**
   * Whether an object, job or task may have had this id: it is not greater than the last issued one. False for the ids of files that are
   * newer than a catalogue restored from a backup.
   */
  isIssued(id: number): Promise<boolean>;
  /**
   * Called when a start begins: until `unfreezeIssued`, `isIssued` leaves out the ids that the start itself issues, which files that are
   * newer than a restored catalogue may have.
   */
  freezeIssued(): Promise<void>;
  /**
   * Called when a start has removed or moved all files that the catalogue does not need (`hasMovedAll`), or as many as it could. In the
   * latter case, the ids that it has issued remain in doubt until another start.
   */
  unfreezeIssued(hasMovedAll: boolean): Promise<void>;
  /** Records in the catalogue a commit whose log entry exists. Idempotent. */
  publish(publication: Publication): Promise<void>;
}

/** Returns the tables of a database. */
export function tablesOf(db: Database): Tables {
  const namedTables = Object.entries(tableOpeners).map(([name, open]) => [name, open(db)] as const);
  return {
    ...(Object.fromEntries(namedTables) as unknown as Omit<Tables, keyof CatalogActions>),
    nextId: () => nextLargeId(db),
    isIssued: (id) => isIdIssued(db, id),
    freezeIssued: () => freezeIssuedIds(db),
    unfreezeIssued: (hasMovedAll) => unfreezeIssuedIds(db, hasMovedAll),
    publish: (publication) => publishVersion(db, publication),
  };
}
