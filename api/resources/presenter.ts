import { accessOf } from '../../engine/catalog/access.js';
import type { AccountRow } from '../../engine/catalog/accounts.js';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { ObjectRow } from '../../engine/catalog/object-row.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { UserRow } from '../../engine/catalog/users.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import { canImport } from '../../scheduler/jobs/import/check.js';
import type { AppContext } from '../http/app-context.js';
import type { ApiRequest, Caller } from '../http/request.js';
import {
  datasetView,
  objectView,
  shortObjectView,
  shortVaultView,
  vaultView,
  type ObjectParts,
} from './views.js';

/** The presenter of a request whose caller is known. */
export function presenterFor(context: AppContext, request: ApiRequest): Presenter {
  if (!request.caller) throw new Error('no caller: the handler is public');
  return new Presenter(context.catalog, request.caller, request.origin);
}

/** Looks up what views show besides their row; one per request, so each neighbour is read once. */
export class Presenter {
  readonly #users = new Map<number, Promise<UserRow | undefined>>();
  readonly #accounts = new Map<number, Promise<AccountRow | undefined>>();
  readonly #vaults = new Map<number, Promise<VaultRow | undefined>>();

  constructor(
    readonly tables: Tables,
    readonly caller: Caller,
    readonly origin: string,
  ) {}

  user(id: number): Promise<UserRow | undefined> {
    return once(this.#users, id, () => this.tables.users.get(id));
  }

  async account(id: number): Promise<AccountRow> {
    const row = await once(this.#accounts, id, () => this.tables.accounts.get(id));
    if (!row) throw new Error(`account ${id} is missing`);
    return row;
  }

  async vaultRow(id: number): Promise<VaultRow> {
    const row = await once(this.#vaults, id, () => this.tables.vaults.get(id));
    if (!row) throw new Error(`vault ${id} is missing`);
    return row;
  }

  async vaults(rows: readonly VaultRow[], isDeleted = false): Promise<readonly object[]> {
    const ids = rows.map((row) => row.id);
    const permissions = await this.tables.vaults.permissions(accessOf(this.caller), ids);
    const counts = await this.tables.vaults.childCounts(ids);
    return Promise.all(
      rows.map(async (row) => {
        const below = counts.get(row.id);
        const parts = {
          account: await this.account(row.accountId),
          user: await this.user(row.userId),
          permission: permissions.get(row.id) ?? null,
          hasChildren: (below?.children ?? 0) > 0,
          hasFolderChildren: (below?.folders ?? 0) > 0,
        };
        return vaultView(row, parts, this.origin, isDeleted);
      }),
    );
  }

  async vault(row: VaultRow): Promise<object> {
    return (await this.vaults([row]))[0] ?? {};
  }

  async objects(
    rows: readonly ObjectRow[],
    extra: { readonly uploadUrl?: string; readonly isDeleted?: boolean } = {},
  ): Promise<readonly object[]> {
    const folders = rows.filter((row) => row.objectType === 'folder').map((row) => row.id);
    const counts = await this.tables.objects.counts(folders);
    const datasets = rows.filter((row) => row.objectType === 'dataset').map((row) => row.id);
    const beacons = await this.tables.globalBeacons.of(datasets);
    return Promise.all(
      rows.map(async (row) => {
        const below = counts.get(row.id);
        const parts: ObjectParts = {
          ...(await this.neighbours(row)),
          user: await this.user(row.userId),
          numChildren: below?.children ?? 0,
          numDescendants: below?.descendants ?? 0,
          hasFolderChildren: (below?.folders ?? 0) > 0,
          globalBeacon: beacons.get(row.id),
          isTransformable: row.objectType === 'file' && canImport(row.filename),
        };
        return objectView(row, parts, this.origin, extra);
      }),
    );
  }

  async object(
    row: ObjectRow,
    extra: { readonly uploadUrl?: string; readonly isDeleted?: boolean } = {},
  ): Promise<object> {
    return (await this.objects([row], extra))[0] ?? {};
  }

  /** The object inside another resource; null if it is gone. */
  async shortObject(id: number | null): Promise<object | null> {
    const row = id === null ? undefined : await this.tables.objects.get(id);
    return row ? shortObjectView(row, await this.neighbours(row), this.origin) : null;
  }

  /** The vault of an object inside another resource; null if it is gone. */
  async shortVaultOf(objectId: number | null): Promise<object | null> {
    const row = objectId === null ? undefined : await this.tables.objects.get(objectId);
    if (!row) return null;
    const vault = await this.vaultRow(row.vaultId);
    const permissions = await this.tables.vaults.permissions(accessOf(this.caller), [vault.id]);
    const permission: Permission | null = permissions.get(vault.id) ?? null;
    return shortVaultView(vault, await this.account(vault.accountId), permission, this.origin);
  }

  async dataset(row: DatasetRow, object?: ObjectRow): Promise<object> {
    const own = object ?? (await this.tables.objects.get(row.id));
    if (!own) throw new Error(`dataset ${row.id} has no object`);
    const { vault, account } = await this.neighbours(own);
    const fields = await this.tables.fields.all(row.id);
    const entityTypes = fields.flatMap((field) => field.entityType ?? []);
    const user = await this.user(own.userId);
    const parts = { object: own, vault, account, user, entityTypes: [...new Set(entityTypes)] };
    return datasetView(row, parts, this.origin);
  }

  private async neighbours(
    row: ObjectRow,
  ): Promise<{ vault: VaultRow; account: AccountRow; dataset: DatasetRow | undefined }> {
    const vault = await this.vaultRow(row.vaultId);
    const isDataset = row.objectType === 'dataset';
    return {
      vault,
      account: await this.account(vault.accountId),
      dataset: isDataset ? await this.tables.datasets.get(row.id) : undefined,
    };
  }
}

function once<T>(cache: Map<number, Promise<T>>, id: number, read: () => Promise<T>): Promise<T> {
  const found = cache.get(id) ?? read();
  cache.set(id, found);
  return found;
}
