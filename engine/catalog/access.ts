import { AppError, notFoundError } from '../core/errors.js';
import type { AccountRow } from './accounts.js';
import type { Tables } from './catalog-tables.js';
import { permissionLevels, type Viewer, type Permission } from './permission.js';
import type { OwnedRow } from './saved-resource.js';
import { personalKinds } from './jobs.js';
import type { TokenRow } from './tokens.js';
import type { UserRow } from './users.js';

/** The authenticated caller: the user, their account and the scope of their token. */
export interface Principal {
  readonly user: UserRow;
  readonly account: AccountRow;
  readonly scope: TokenRow['scope'];
  /** Whether the token was granted to an application, which may not manage credentials. */
  readonly isApplication?: boolean;
}

/** The principal in the form that list filters take. */
export function viewerOf({ user }: Pick<Principal, 'user'>): Viewer {
  return { userId: user.id, accountId: user.accountId, role: user.role };
}

/** Returns the principal of a user, for work that runs later on their behalf; undefined if the user is missing or inactive (threat A4). */
export async function loadPrincipal(
  tables: Tables,
  userId: number,
  scope: TokenRow['scope'] = 'read write',
): Promise<Principal | undefined> {
  const user = await tables.users.get(userId);
  if (user === undefined || !user.isActive) return undefined;
  const account = await tables.accounts.get(user.accountId);
  return account && { user, account, scope };
}

/** The user's permission on a vault, regardless of the token's scope; null for none. */
export async function readPermissionOn(
  tables: Tables,
  principal: Pick<Principal, 'user'>,
  vaultId: number,
): Promise<Permission | null> {
  return tables.vaults.permission(viewerOf(principal), vaultId);
}

/**
 * Checks that the principal has the permission `level` on a resource, and returns its row. All decisions about access to one resource are
 * made here. Throws `not-found` if the resource is missing or the user may not read it, and `forbidden` if the user may read it, but lacks
 * the permission `level` or a token that allows the change.
 */
export async function requirePermission<K extends AccessKind>(
  tables: Tables,
  principal: Principal,
  kind: K,
  id: number,
  level: Permission,
): Promise<AccessRows[K]> {
  const resource = await (finderByKind[kind] as unknown as Finder<AccessRows[K]>)(tables, id);
  if (resource === undefined) throw notFoundError();
  if ('owned' in resource) {
    requireOwner(principal, resource.owned, level);
    if (resource.isCredential === true && level !== 'read') requireUserItself(principal);
    return resource.row;
  }
  if ('memberOf' in resource) {
    // Users of other accounts are treated as if they did not exist.
    if (resource.memberOf !== principal.user.accountId) throw notFoundError();
    if (resource.isForAdministrators === true && principal.user.role === 'member')
      throw notFoundError();
    if (level !== 'read') requireAdministrator(principal);
    requireScope(principal, level);
    return resource.row;
  }
  if (resource.isForAdministrators === true && principal.user.role === 'member')
    throw notFoundError();
  const permission = await readPermissionOn(tables, principal, resource.vaultId);
  if (permission === null) throw notFoundError();
  requireScope(principal, level);
  const heldLevel = permissionLevels[permission];
  // Choice: a user who can read a dataset may export and verify it, may cancel and delete their own exports, and may cancel their own
  // verifications.
  const isOwn = resource.startedBy === principal.user.id;
  if (Math.max(heldLevel, isOwn ? permissionLevels.write : 0) < permissionLevels[level]) {
    throw new AppError(
      'forbidden',
      `This needs ${level} permission on the vault; you have ${permission}.`,
    );
  }
  return resource.row;
}

/** Throws `forbidden` if a token with the scope read is used for a change. */
export function requireScope(principal: Principal, level: Permission): void {
  if (level === 'read' || principal.scope !== 'read') return;
  throw new AppError(
    'forbidden',
    'This token has the scope read; a change needs the scope read write.',
  );
}

/** Throws unless the principal is an administrator or the owner of their account. */
export function requireAdministrator({ user }: Pick<Principal, 'user'>): void {
  if (user.role !== 'member') return;
  throw new AppError('forbidden', 'Only an administrator of the account may do this.');
}

/** Throws if the token belongs to an application: credentials made with it would outlive the revocation of the application's grant. */
export function requireUserItself(principal: Principal): void {
  if (principal.isApplication !== true) return;
  throw new AppError(
    'forbidden',
    'The token of an application may not change credentials; use a token of your own.',
  );
}

/** An owned resource; users of every account may read it if it is public. */
type PublicRow = OwnedRow & { readonly isPublic?: boolean };

/** Checks access to a resource of a user: the account may read a shared one, everybody a public one; only the owner may change it. */
function requireOwner(principal: Principal, owned: PublicRow, level: Permission): void {
  const { user } = principal;
  const isOwner = owned.userId === user.id;
  const isOfAccount = owned.isShared && owned.accountId === user.accountId;
  if (!isOwner && !isOfAccount && owned.isPublic !== true) throw notFoundError();
  requireScope(principal, level);
  if (!isOwner && level !== 'read')
    throw new AppError('forbidden', 'Only its owner may change this.');
}

/** A resource that belongs to a user. */
interface OwnedResource<R> {
  readonly row: R;
  readonly owned: PublicRow;
  /** Whether the resource is a credential, which applications may not change in the name of a user. */
  readonly isCredential?: boolean;
}

/** A resource in a vault; the permissions of the vault apply to it. */
interface VaultResource<R> {
  readonly row: R;
  readonly vaultId: number;
  /** Whether the resource does not exist for users other than administrators. */
  readonly isForAdministrators?: boolean;
  /** The user who started the job; set only for jobs that change no object in the vault: any user who may read the object may start one. */
  readonly startedBy?: number;
}

/**
 * A user, a group or an invitation of an account. All users of the account may read it, unless `isForAdministrators`; administrators may
 * change it.
 */
interface AccountResource<R> {
  readonly row: R;
  readonly memberOf: number;
  /** Whether the resource does not exist for users other than administrators. */
  readonly isForAdministrators?: boolean;
}
type Finder<R> = (
  tables: Tables,
  id: number,
) => Promise<VaultResource<R> | OwnedResource<R> | AccountResource<R> | undefined>;

/** How a resource of each kind is found, and what decides who may use it: a new kind is one entry. */
const finderByKind = {
  vault: async (tables, id) => {
    const row = await tables.vaults.get(id);
    return row && { row, vaultId: row.id };
  },
  object: async (tables, id) => {
    const row = await tables.objects.get(id);
    return row && { row, vaultId: row.vaultId };
  },
  dataset: async (tables, id) =>
    findVaultResourceOfDataset(tables, id, await tables.datasets.get(id)),
  field: async (tables, id) => {
    const row = await tables.fields.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  import: async (tables, id) => {
    const row = await tables.imports.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  export: async (tables, id) => {
    const row = await tables.exports.get(id);
    const resource = await findVaultResourceOfDataset(tables, row?.datasetId, row);
    return resource && { ...resource, startedBy: resource.row.userId };
  },
  migration: async (tables, id) => {
    const row = await tables.datasetMigrations.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  commit: async (tables, id) => {
    const row = await tables.commits.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  snapshot: async (tables, id) => {
    const row = await tables.snapshots.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  restore: async (tables, id) => {
    const row = await tables.restores.get(id);
    return findVaultResourceOfDataset(tables, row?.datasetId, row);
  },
  task: async (tables, id) => {
    const row = await tables.tasks.get(id);
    if (row && personalKinds.includes(row.kind)) return ownedResource({ ...row, isShared: false });
    const objectId = row?.targetObjectId ?? row?.sourceObjectId ?? undefined;
    const resource = await findVaultResourceOfDataset(tables, objectId, row);
    if (resource === undefined) return undefined;
    const { targetObjectId, class: taskClass, userId } = resource.row;
    return {
      ...resource,
      isForAdministrators: taskClass === 'background',
      ...(targetObjectId === null && { startedBy: userId }),
    };
  },
  copy: async (tables, id) => {
    const row = await tables.objectCopies.get(id);
    return row && ownedResource({ ...row, isShared: false });
  },
  'saved query': async (tables, id) => ownedResource(await tables.savedQueries.get(id)),
  template: async (tables, id) => ownedResource(await tables.templates.get(id)),
  'beacon set': async (tables, id) => ownedResource(await tables.beaconSets.get(id)),
  beacon: async (tables, id) => ownedResource(await tables.beacons.get(id)),
  user: async (tables, id) => {
    const row = await tables.users.get(id);
    return row && { row, memberOf: row.accountId };
  },
  group: async (tables, id) => {
    const row = await tables.groups.get(id);
    return row && { row, memberOf: row.accountId };
  },
  invitation: async (tables, id) => {
    const row = await tables.invitations.get(id);
    return row && { row, memberOf: row.accountId, isForAdministrators: true };
  },
  token: async (tables, id) => {
    const row = await tables.tokens.get(id);
    if (row === undefined || row.revokedAt !== null) return undefined;
    const owned = { id, userId: row.userId, accountId: 0, isShared: false };
    return { row, owned, isCredential: true };
  },
  application: async (tables, id) => {
    const resource = ownedResource(await tables.applications.get(id));
    return resource && { ...resource, isCredential: true };
  },
} satisfies Readonly<Record<string, Finder<object>>>;

type Finders = typeof finderByKind;

/** The kinds of resource for which access is checked. */
export type AccessKind = keyof Finders;

/** The kinds of resource for which access is checked, with their row types. */
export type AccessRows = {
  readonly [K in AccessKind]: NonNullable<Awaited<ReturnType<Finders[K]>>>['row'];
};

function ownedResource<R extends OwnedRow>(row: R | undefined): OwnedResource<R> | undefined {
  return row && { row, owned: row };
}

async function findVaultResourceOfDataset<R>(
  tables: Tables,
  datasetId: number | undefined,
  row: R | undefined,
): Promise<VaultResource<R> | undefined> {
  if (row === undefined || datasetId === undefined) return undefined;
  const object = await tables.objects.get(datasetId);
  return object && { row, vaultId: object.vaultId };
}
