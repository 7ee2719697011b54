import { AppError, notFound } from '../core/errors.js';
import type { AccountRow } from './accounts.js';
import type { BeaconSetRow } from './beacon-sets.js';
import type { BeaconRow } from './beacons.js';
import type { Tables } from './catalog.js';
import type { CommitRow } from './commits.js';
import type { DatasetRow } from './datasets.js';
import type { ExportRow } from './exports.js';
import type { FieldRow } from './fields.js';
import type { ImportRow } from './imports.js';
import type { ObjectRow } from './object-row.js';
import { permissionLevels, type Access, type Permission } from './permission.js';
import type { SavedQueryRow } from './saved-queries.js';
import type { OwnedRow } from './saved-resource.js';
import type { TaskRow } from './task-row.js';
import type { TokenRow } from './tokens.js';
import type { UserRow } from './users.js';
import type { VaultRow } from './vaults.js';

/** Who asks, and how far the token that they showed reaches. */
export interface Principal {
  readonly user: UserRow;
  readonly account: AccountRow;
  readonly scope: TokenRow['scope'];
}

/** What can be asked for, with the row that the answer is. */
export interface Kinds {
  readonly vault: VaultRow;
  readonly object: ObjectRow;
  readonly dataset: DatasetRow;
  readonly field: FieldRow;
  readonly import: ImportRow;
  readonly export: ExportRow;
  readonly commit: CommitRow;
  readonly task: TaskRow;
  readonly 'saved query': SavedQueryRow;
  readonly 'beacon set': BeaconSetRow;
  readonly beacon: BeaconRow;
}
export type Kind = keyof Kinds;

/** The principal as the list filters want it. */
export function accessOf({ user }: Pick<Principal, 'user'>): Access {
  return { userId: user.id, accountId: user.accountId, role: user.role };
}

/** The principal of a user who is active, for work that runs later on their behalf (threats A4). */
export async function principalOf(
  tables: Tables,
  userId: number,
  scope: TokenRow['scope'] = 'read write',
): Promise<Principal | undefined> {
  const user = await tables.users.get(userId);
  if (user === undefined || !user.isActive) return undefined;
  const account = await tables.accounts.get(user.accountId);
  return account && { user, account, scope };
}

/** What the user may do in a vault, whatever the token's scope; null for nothing. */
export async function permissionOn(
  tables: Tables,
  principal: Pick<Principal, 'user'>,
  vaultId: number,
): Promise<Permission | null> {
  return tables.vaults.permission(accessOf(principal), vaultId);
}

/**
 * The one place that decides "may this user do this to that thing", and returns the thing. What the user may not read does
 * not exist for them (404); what they may read but not change is forbidden (403), as is every change with a read token.
 */
export async function require<K extends Kind>(
  tables: Tables,
  principal: Principal,
  kind: K,
  id: number,
  level: Permission,
): Promise<Kinds[K]> {
  const found = await finders[kind](tables, id);
  if (found === undefined) throw notFound();
  if ('owned' in found) {
    requireOwner(principal, found.owned, level);
    return found.row;
  }
  const permission = await permissionOn(tables, principal, found.vaultId);
  if (permission === null) throw notFound();
  requireScope(principal, level);
  const held = permissionLevels[permission];
  // Choice: whoever can read a dataset may export it, and may then cancel and delete their own exports.
  const isOwnExport = found.exportedBy === principal.user.id;
  if (Math.max(held, isOwnExport ? permissionLevels.write : 0) < permissionLevels[level]) {
    throw new AppError(
      'forbidden',
      `This needs ${level} permission on the vault; you have ${permission}.`,
    );
  }
  return found.row;
}

/** Refuses a read token for anything else; for what needs no permission on a thing, such as making a vault. */
export function requireScope(principal: Principal, level: Permission): void {
  if (level === 'read' || principal.scope !== 'read') return;
  throw new AppError(
    'forbidden',
    'This token has the scope read; a change needs the scope read write.',
  );
}

/** What belongs to a user: the account reads it if it is shared, its owner alone changes it. */
function requireOwner(principal: Principal, owned: OwnedRow, level: Permission): void {
  const { user } = principal;
  const isOwner = owned.userId === user.id;
  if (!isOwner && !(owned.isShared && owned.accountId === user.accountId)) throw notFound();
  requireScope(principal, level);
  if (!isOwner && level !== 'read')
    throw new AppError('forbidden', 'Only its owner may change this.');
}

/** A thing that belongs to a user. */
interface FoundOwned<R> {
  readonly row: R;
  readonly owned: OwnedRow;
}

/** A thing with the vault that rules over it. */
interface Found<R> {
  readonly row: R;
  readonly vaultId: number;
  /** Whose export this is, for exports and their tasks. */
  readonly exportedBy?: number;
}
type Finder<R> = (tables: Tables, id: number) => Promise<Found<R> | FoundOwned<R> | undefined>;

const finders: { readonly [K in Kind]: Finder<Kinds[K]> } = {
  vault: async (tables, id) => {
    const row = await tables.vaults.get(id);
    return row && { row, vaultId: row.id };
  },
  object: async (tables, id) => {
    const row = await tables.objects.get(id);
    return row && { row, vaultId: row.vaultId };
  },
  dataset: async (tables, id) => inDataset(tables, id, await tables.datasets.get(id)),
  field: async (tables, id) => {
    const row = await tables.fields.get(id);
    return inDataset(tables, row?.datasetId, row);
  },
  import: async (tables, id) => {
    const row = await tables.imports.get(id);
    return inDataset(tables, row?.datasetId, row);
  },
  export: async (tables, id) => {
    const row = await tables.exports.get(id);
    const found = await inDataset(tables, row?.datasetId, row);
    return found && { ...found, exportedBy: found.row.userId };
  },
  commit: async (tables, id) => {
    const row = await tables.commits.get(id);
    return inDataset(tables, row?.datasetId, row);
  },
  task: async (tables, id) => {
    const row = await tables.tasks.get(id);
    const objectId = row?.targetObjectId ?? row?.sourceObjectId ?? undefined;
    const found = await inDataset(tables, objectId, row);
    return (
      found && { ...found, ...(found.row.kind === 'export' && { exportedBy: found.row.userId }) }
    );
  },
  'saved query': async (tables, id) => ofOwner(await tables.savedQueries.get(id)),
  'beacon set': async (tables, id) => ofOwner(await tables.beaconSets.get(id)),
  beacon: async (tables, id) => ofOwner(await tables.beacons.get(id)),
};

function ofOwner<R extends OwnedRow>(row: R | undefined): FoundOwned<R> | undefined {
  return row && { row, owned: row };
}

async function inDataset<R>(
  tables: Tables,
  datasetId: number | undefined,
  row: R | undefined,
): Promise<Found<R> | undefined> {
  if (row === undefined || datasetId === undefined) return undefined;
  const object = await tables.objects.get(datasetId);
  return object && { row, vaultId: object.vaultId };
}
