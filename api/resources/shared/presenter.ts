import { viewerOf } from '../../../engine/catalog/access.js';
import type { AccountRow } from '../../../engine/catalog/accounts.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { budgets, byteSizeText } from '../../../engine/core/budgets.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { canImport } from '../../../scheduler/jobs/import/reader-choice.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { dataset, type DatasetContext } from './dataset.js';
import { object, objectSummary, type ObjectContext, type ObjectSummaryContext } from './object.js';
import { targetView } from './shortcut.js';
import { vaultSummary, type VaultContext } from './vault.js';

/** Returns a new presenter for a request; its caller must be known. */
export function presenterFor(context: AppContext, request: ApiRequest): Presenter {
  return new Presenter(context.catalog, callerOf(request), request.origin);
}

/** Returns the caller of a request, who must be known. */
export function callerOf({ caller }: ApiRequest): Caller {
  if (!caller) throw new Error('no caller: the handler is public');
  return caller;
}

/** Looks up the data that answers show in addition to a row. A presenter reads each user, account and vault only once. */
export class Presenter {
  readonly #users = new Map<number, Promise<UserRow | undefined>>();
  readonly #accounts = new Map<number, Promise<AccountRow | undefined>>();
  readonly #vaults = new Map<number, Promise<VaultRow | undefined>>();

  constructor(
    readonly tables: Tables,
    readonly caller: Caller,
    readonly origin: string,
  ) {}

  loadUser(id: number): Promise<UserRow | undefined> {
    return readOnce(this.#users, id, () => this.tables.users.get(id));
  }

  async loadAccount(id: number): Promise<AccountRow> {
    const row = await readOnce(this.#accounts, id, () => this.tables.accounts.get(id));
    if (!row) throw new Error(`account ${id} is missing`);
    return row;
  }

  async loadVault(id: number): Promise<VaultRow> {
    const row = await readOnce(this.#vaults, id, () => this.tables.vaults.get(id));
    if (!row) throw notFoundError(); // the row was deleted meanwhile
    return row;
  }

  /** Returns the data that the views of vaults show and their rows do not have. */
  async loadVaultContexts(
    rows: readonly VaultRow[],
    { isDeleted = false, viewer = viewerOf(this.caller) } = {},
  ): Promise<readonly VaultContext[]> {
    const ids = rows.map((row) => row.id);
    const permissions = await this.tables.vaults.permissions(viewer, ids);
    const counts = await this.tables.vaults.childCounts(ids);
    return Promise.all(
      rows.map(async (row) => {
        const count = counts.get(row.id);
        return {
          account: await this.loadAccount(row.accountId),
          user: await this.loadUser(row.userId),
          permission: isDeleted ? null : (permissions.get(row.id) ?? null),
          hasChildren: (count?.children ?? 0) > 0,
          hasFolderChildren: (count?.folders ?? 0) > 0,
          isDeleted,
          origin: this.origin,
        };
      }),
    );
  }

  async objectViews(
    rows: readonly ObjectRow[],
    extra: Pick<ObjectContext, 'uploadUrl' | 'multipart' | 'isDeleted'> = {},
  ): Promise<readonly object[]> {
    const folderIds = rows.filter((row) => row.objectType === 'folder').map((row) => row.id);
    const childCounts = await this.tables.objects.counts(folderIds);
    const datasetIds = rows.filter((row) => row.objectType === 'dataset').map((row) => row.id);
    const fileIds = rows.filter((row) => row.objectType === 'file').map((row) => row.id);
    const versionCounts = await this.tables.fileVersions.counts(fileIds);
    const beacons = await this.tables.globalBeacons.of(datasetIds);
    const inheritedMetadata = await this.#readInheritedMetadata(rows);
    return Promise.all(
      rows.map(async (row, i) => {
        const count = childCounts.get(row.id);
        return object.view(row, {
          ...extra,
          ...(await this.#loadSummaryContext(row)),
          user: await this.loadUser(row.userId),
          numChildren: count?.children ?? 0,
          numDescendants: count?.descendants ?? 0,
          hasFolderChildren: (count?.folders ?? 0) > 0,
          numVersions: versionCounts.get(row.id) ?? 0,
          target:
            row.target && (await targetView(this.tables, this.caller, this.origin, row.target)),
          globalBeacon: beacons.get(row.id),
          inheritedMetadata: inheritedMetadata[i]!,
          isTransformable: row.objectType === 'file' && canImport(row.filename),
        });
      }),
    );
  }

  async objectView(
    row: ObjectRow,
    extra: Pick<ObjectContext, 'uploadUrl' | 'multipart' | 'isDeleted'> = {},
  ): Promise<object> {
    return (await this.objectViews([row], extra))[0] ?? {};
  }

  /** Returns the view of an object inside another resource; null if `id` is null or the object no longer exists. */
  async objectSummaryView(id: number | null): Promise<object | null> {
    const row = id === null ? undefined : await this.tables.objects.get(id);
    return row ? objectSummary.view(row, await this.#loadSummaryContext(row)) : null;
  }

  /** Returns the view of an object's vault inside another resource; null if `objectId` is null or the object no longer exists. */
  async vaultSummaryView(objectId: number | null): Promise<object | null> {
    const row = objectId === null ? undefined : await this.tables.objects.get(objectId);
    if (!row) return null;
    const vault = await this.loadVault(row.vaultId);
    const permissions = await this.tables.vaults.permissions(viewerOf(this.caller), [vault.id]);
    return vaultSummary.view(vault, {
      account: await this.loadAccount(vault.accountId),
      permission: permissions.get(vault.id) ?? null,
      origin: this.origin,
    });
  }

  async datasetView(row: DatasetRow, ownObject?: ObjectRow): Promise<object> {
    return dataset.view(row, await this.loadDatasetContext(row, ownObject));
  }

  /** Returns the data that the view of a dataset shows and its row does not have. */
  async loadDatasetContext(row: DatasetRow, ownObject?: ObjectRow): Promise<DatasetContext> {
    const objectRow = ownObject ?? (await this.tables.objects.get(row.id));
    if (!objectRow) throw notFoundError(); // the object was deleted meanwhile
    const { vault, account, origin } = await this.#loadSummaryContext(objectRow);
    const fields = await this.tables.fields.all(row.id);
    const entityTypes = [...new Set(fields.flatMap((field) => field.entityType ?? []))];
    const user = await this.loadUser(objectRow.userId);
    return { object: objectRow, vault, account, user, entityTypes, origin };
  }

  /** Returns the metadata that each object inherits, in the order of `rows`. It is read once for all objects of a folder. */
  async #readInheritedMetadata(rows: readonly ObjectRow[]): Promise<readonly JsonObject[]> {
    const parsedMetadata = new Map<
      string,
      { readonly metadata: JsonObject; readonly bytes: number }
    >();
    const metadataOfRows: JsonObject[] = [];
    let bytes = 0;
    for (const { vaultId, ancestorIds } of rows) {
      const key = `${vaultId} ${ancestorIds.at(-1) ?? 0}`;
      let folderMetadata = parsedMetadata.get(key);
      if (folderMetadata === undefined) {
        const metadata = { ...(await this.loadVault(vaultId)).metadata };
        for (const id of ancestorIds)
          Object.assign(metadata, (await this.tables.objects.get(id))?.metadata);
        parsedMetadata.set(
          key,
          (folderMetadata = { metadata, bytes: stringifyJson(metadata).length }),
        );
      }
      bytes += folderMetadata.bytes;
      if (bytes > budgets.jsonBodyBytes)
        throw new AppError('budget', `The objects inherit more metadata than the ${byteSizeText(budgets.jsonBodyBytes)} that an answer may have: lower the limit.`); // prettier-ignore
      metadataOfRows.push(folderMetadata.metadata);
    }
    return metadataOfRows;
  }

  async #loadSummaryContext(row: ObjectRow): Promise<ObjectSummaryContext> {
    const vault = await this.loadVault(row.vaultId);
    const isDataset = row.objectType === 'dataset';
    return {
      vault,
      account: await this.loadAccount(vault.accountId),
      origin: this.origin,
      dataset: isDataset ? await this.tables.datasets.get(row.id) : undefined,
    };
  }
}

function readOnce<T>(
  cache: Map<number, Promise<T>>,
  id: number,
  read: () => Promise<T>,
): Promise<T> {
  const promise = cache.get(id) ?? read();
  cache.set(id, promise);
  return promise;
}
