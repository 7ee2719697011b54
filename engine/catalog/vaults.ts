import { invalidError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { collectVaultDeletion, type Deletion } from './deletion.js';
import { parseFullPath, type FullPath } from './full-path.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { checkVaultName, foldName } from './object-names.js';
import {
  mayAccess,
  permissionOfLevel,
  vaultLevel,
  type Viewer,
  type Permission,
} from './permission.js';
import { conjunctionOf, containsText, isInNumbers, isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';
import { normalizeTags, indexVaultTags } from './tags.js';

export interface VaultRow {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
  readonly name: string;
  readonly description: string | null;
  readonly vaultType: 'user' | 'general';
  readonly metadata: JsonObject;
  readonly tags: readonly string[];
  readonly defaultStorageClass: string | null;
  readonly isPublic: boolean;
  readonly versioning: 'disabled' | 'enabled' | 'suspended';
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export interface NewVault {
  readonly accountId: number;
  readonly userId: number;
  readonly name: string;
  readonly description?: string | null;
  readonly vaultType?: VaultRow['vaultType'];
  readonly metadata?: JsonObject;
  readonly tags?: readonly string[];
  readonly defaultStorageClass?: string | null;
  readonly isPublic?: boolean;
  readonly versioning?: VaultRow['versioning'];
}

type VaultPatch = Partial<
  Pick<
    VaultRow,
    | 'name'
    | 'description'
    | 'metadata'
    | 'tags'
    | 'defaultStorageClass'
    | 'isPublic'
    | 'versioning'
    | 'userId'
  >
>;

/** The list filters of contract 5.3. */
export interface VaultFilter extends AccessFilter {
  readonly ids?: readonly number[];
  /** Restricts the list to the vaults with these ids, which a search has found; the number of ids is not limited. */
  readonly among?: readonly number[];
  readonly accountIds?: readonly number[];
  readonly userIds?: readonly number[];
  /** The whole name, ignoring case. */
  readonly name?: string;
  /** The vault, in any form of a full path; the part after the vault is ignored. */
  readonly fullPath?: string;
  readonly accountDomain?: string;
  readonly vaultType?: VaultRow['vaultType'];
  readonly tag?: string;
  readonly storageClass?: string;
  /** A text that the name or the description contains. */
  readonly query?: string;
  /** Restricts the list to vaults on which the user has at least this permission. */
  readonly permission?: Permission;
  /** Restricts the list to vaults on which this group has a permission. */
  readonly groupId?: number;
}

/** Numbers of objects at the top level of a vault. */
interface ChildCounts {
  readonly children: number;
  readonly folders: number;
}

/** Vaults. Names are unique in an account, ignoring case. */
interface VaultTable {
  get(id: number): Promise<VaultRow | undefined>;
  byName(accountId: number, name: string): Promise<VaultRow | undefined>;
  /** Returns the vault that a full path of this user names, whether or not the user may read it. */
  byFullPath(path: FullPath, viewer: Viewer): Promise<VaultRow | undefined>;
  personal(userId: number): Promise<VaultRow | undefined>;
  /** Lists the vaults, ordered by name. */
  list(filter: VaultFilter, page: Page): Promise<ListedRows<VaultRow>>;
  create(vault: NewVault): Promise<VaultRow>;
  update(id: number, patch: VaultPatch): Promise<VaultRow | undefined>;
  /** Deletes the vault and its objects; returns the files to remove and the tasks to cancel afterwards. */
  delete(id: number): Promise<Deletion>;
  /** The user's permissions on these vaults; a vault without a permission is absent. */
  permissions(viewer: Viewer, ids: readonly number[]): Promise<ReadonlyMap<number, Permission>>;
  /** The user's permission on a vault; null for none. */
  permission(viewer: Viewer, id: number): Promise<Permission | null>;
  childCounts(ids: readonly number[]): Promise<ReadonlyMap<number, ChildCounts>>;
  /** Numbers and sizes of the datasets and files of each vault that the user may read, also of an empty one; ordered by name. */
  usage(viewer: Viewer): Promise<readonly VaultUsage[]>;
}

/**
 * The contents of a vault in numbers. `datasetBytes` is the size of the segments of the newest versions of its datasets, `fileBytes` that
 * of all stored versions of its files.
 */
export interface VaultUsage {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  readonly datasets: number;
  readonly records: number;
  readonly datasetBytes: number;
  readonly files: number;
  readonly fileBytes: number;
}

const vaults = tableCodec<VaultRow, { nameKey: string }>(
  'vaults',
  {
    id: 'plain',
    accountId: 'plain',
    userId: 'plain',
    name: 'plain',
    description: 'plain',
    vaultType: 'plain',
    metadata: 'json',
    tags: 'json',
    defaultStorageClass: 'plain',
    isPublic: 'flag',
    versioning: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  { nameKey: 'plain' },
);

/** Returns access to the table of vaults. */
export function vaultTable(db: Database): VaultTable {
  const vaultWhere = async (where: Sql): Promise<VaultRow | undefined> => {
    const row = await db.get(sql`SELECT ${vaults.columns} FROM vaults WHERE ${where}`);
    return row && vaults.parse(row);
  };
  const get = (id: number): Promise<VaultRow | undefined> => vaultWhere(sql`vaults.id = ${id}`);
  const byName = (accountId: number, name: string): Promise<VaultRow | undefined> =>
    vaultWhere(sql`vaults.account_id = ${accountId} AND vaults.name_key = ${foldName(name)}`);
  const readLevels = async (
    viewer: Viewer,
    ids: readonly number[],
  ): Promise<readonly { readonly id: number; readonly level: number }[]> => {
    const rows = await db.all(
      sql`SELECT vaults.id AS id, ${vaultLevel(viewer)} AS level FROM vaults
          WHERE ${isOneOf(sql`vaults.id`, ids)}`,
    );
    return rows.map((row) => ({ id: row['id'] as number, level: row['level'] as number }));
  };
  const cache = new RowCache<string, number>(db);

  return {
    get,
    byName,
    byFullPath: (path, viewer) => vaultWhere(isVaultOf(path, viewer)),
    personal: (userId) =>
      vaultWhere(sql`vaults.user_id = ${userId} AND vaults.vault_type = 'user'`),
    list: async (filter, page) =>
      listPage(
        db,
        vaults,
        {
          from: sql`vaults`,
          where: conjunctionOf(vaultConditions(filter)),
          orderBy: sql`vaults.name_key, vaults.id`,
        },
        page,
      ),
    create: (vault) =>
      db.atomic(async (tx) => {
        checkVaultName('name', vault.name);
        await requireFreeName(tx, vault.accountId, vault.name, null);
        const now = Date.now();
        const row: VaultRow = {
          id: await nextSmallId(tx, 'vault'),
          accountId: vault.accountId,
          userId: vault.userId,
          name: vault.name,
          description: vault.description ?? null,
          vaultType: vault.vaultType ?? 'general',
          metadata: vault.metadata ?? {},
          tags: normalizeTags(vault.tags ?? []),
          defaultStorageClass: vault.defaultStorageClass ?? null,
          isPublic: vault.isPublic ?? false,
          versioning: vault.versioning ?? 'disabled',
          createdAt: now,
          updatedAt: now,
        };
        await tx.run(vaults.insert({ ...row, nameKey: foldName(row.name) }));
        await indexVaultTags(tx, row.id, row.tags);
        await recordCreatedId(tx, row.id);
        return row;
      }),
    update: (id, patch) =>
      db.atomic(async (tx) => {
        const before = await vaultTable(tx).get(id);
        if (before === undefined) return undefined;
        const { name } = patch;
        if (name !== undefined && name !== before.name) {
          checkVaultName('name', name);
          if (before.vaultType === 'user') {
            throw invalidError('name', 'A personal vault cannot be renamed.');
          }
          await requireFreeName(tx, before.accountId, name, id);
        }
        const tags = patch.tags && normalizeTags(patch.tags);
        const change = vaults.update(id, {
          ...patch,
          ...(name !== undefined && { nameKey: foldName(name) }),
          ...(tags !== undefined && { tags }),
          updatedAt: Date.now(),
        });
        if (change !== undefined) await tx.run(change);
        if (tags !== undefined) await indexVaultTags(tx, id, tags);
        return vaultTable(tx).get(id);
      }),
    delete: (id) =>
      db.atomic(async (tx) => {
        const deletion = await collectVaultDeletion(tx, id);
        await tx.run(sql`DELETE FROM vaults WHERE id = ${id}`);
        return deletion;
      }),
    permissions: async (viewer, ids) => {
      const permissions = new Map<number, Permission>();
      for (const { id, level } of await readLevels(viewer, ids)) {
        const permission = permissionOfLevel(level);
        if (permission !== null) permissions.set(id, permission);
      }
      return permissions;
    },
    permission: async (viewer, id) => {
      const { userId, accountId, role, excludedGroupId = 0 } = viewer;
      const level = await cache.get(
        `${userId} ${accountId} ${role} ${excludedGroupId} ${id}`,
        async () => {
          const [row] = await readLevels(viewer, [id]);
          return row?.level;
        },
      );
      return permissionOfLevel(level ?? 0);
    },
    childCounts: async (ids) => {
      const rows = await db.all(sql`SELECT vault_id, COUNT(*) AS children,
          SUM(CASE WHEN object_type = 'folder' THEN 1 ELSE 0 END) AS folders
        FROM objects WHERE parent_id IS NULL AND ${isOneOf(sql`vault_id`, ids)} GROUP BY vault_id`);
      const counts = new Map(
        ids.map((id): [number, ChildCounts] => [id, { children: 0, folders: 0 }]),
      );
      for (const row of rows) {
        counts.set(row['vault_id'] as number, {
          children: row['children'] as number,
          folders: row['folders'] as number,
        });
      }
      return counts;
    },
    usage: async (viewer) => {
      const rows =
        await db.all(sql`SELECT vaults.id AS id, vaults.name AS name, vaults.account_id AS "accountId",
          COUNT(datasets.id) AS datasets,
          COALESCE(SUM(datasets.documents_count), 0) AS records,
          COALESCE(SUM(datasets.bytes), 0) AS "datasetBytes",
          COALESCE(SUM(objects.object_type = 'file'), 0) AS files,
          COALESCE(SUM((SELECT SUM(file_versions.size) FROM file_versions
            WHERE file_versions.object_id = objects.id AND file_versions.availability = 'available')), 0) AS "fileBytes"
        FROM vaults LEFT JOIN objects ON objects.vault_id = vaults.id
          LEFT JOIN datasets ON datasets.id = objects.id
        WHERE ${mayAccess(viewer)} GROUP BY vaults.id ORDER BY vaults.name_key, vaults.id`);
      return rows as unknown as readonly VaultUsage[];
    },
  };
}

/** True for the row of `vaults` that a full path names for this user. */
export function isVaultOf({ domain, vault }: FullPath, viewer: Viewer): Sql {
  if (vault === null) {
    const isOwn = sql`vaults.vault_type = 'user' AND vaults.user_id = ${viewer.userId}`;
    return domain === null ? isOwn : sql`${isOwn} AND ${isAccountOf(domain)}`;
  }
  const account =
    domain === null ? sql`vaults.account_id = ${viewer.accountId}` : isAccountOf(domain);
  return sql`vaults.name_key = ${foldName(vault)} AND ${account}`;
}

function isAccountOf(domain: string): Sql {
  return sql`vaults.account_id IN (SELECT id FROM accounts WHERE domain_key = ${foldName(domain)})`;
}

function vaultConditions(filter: VaultFilter): Sql[] {
  const { viewer } = filter;
  const clauses: Sql[] = [mayAccess(viewer, filter.permission)];
  if (filter.ids) clauses.push(isOneOf(sql`vaults.id`, filter.ids));
  if (filter.among) clauses.push(isInNumbers(sql`vaults.id`, filter.among));
  if (filter.accountIds) clauses.push(isOneOf(sql`vaults.account_id`, filter.accountIds));
  if (filter.userIds) clauses.push(isOneOf(sql`vaults.user_id`, filter.userIds));
  if (filter.name !== undefined) clauses.push(sql`vaults.name_key = ${foldName(filter.name)}`);
  if (filter.accountDomain !== undefined) clauses.push(isAccountOf(filter.accountDomain));
  if (filter.vaultType) clauses.push(sql`vaults.vault_type = ${filter.vaultType}`);
  if (filter.storageClass !== undefined) {
    clauses.push(sql`vaults.default_storage_class = ${filter.storageClass}`);
  }
  if (filter.groupId !== undefined) {
    clauses.push(sql`EXISTS (SELECT 1 FROM vault_permissions
      WHERE vault_permissions.vault_id = vaults.id AND vault_permissions.group_id = ${filter.groupId})`);
  }
  if (filter.fullPath !== undefined) {
    const path = parseFullPath(filter.fullPath);
    clauses.push(path === undefined || viewer === null ? sql`1 = 0` : isVaultOf(path, viewer));
  }
  if (filter.tag !== undefined) {
    clauses.push(sql`EXISTS (SELECT 1 FROM vault_tags
      WHERE vault_tags.vault_id = vaults.id AND vault_tags.tag = ${filter.tag.trim()})`);
  }
  if (filter.query !== undefined) {
    // Choice: the filter `query` of vaults ignores the case of all letters in names, but only that of ASCII letters in descriptions, as
    // SQLite's LOWER does.
    const inName = containsText(sql`vaults.name_key`, foldName(filter.query));
    // LIKE stops at a NUL character, which a description may contain.
    const inDescription = sql`INSTR(LOWER(vaults.description), LOWER(${filter.query})) > 0`;
    clauses.push(sql`(${inName} OR ${inDescription})`);
  }
  return clauses;
}

async function requireFreeName(
  tx: Database,
  accountId: number,
  name: string,
  exceptId: number | null,
): Promise<void> {
  const vaultWithName = await vaultTable(tx).byName(accountId, name);
  if (vaultWithName === undefined || vaultWithName.id === exceptId) return;
  throw invalidError('name', `A vault named ${JSON.stringify(name)} exists already.`);
}
