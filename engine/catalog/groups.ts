import { invalidError } from '../core/errors.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { checkName, foldName } from './object-names.js';
import { mayAccess, permissionOfLevel, type Permission, type Viewer } from './permission.js';
import { conjunctionOf, containsText, isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** A group of users of one account. */
export interface GroupRow {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly description: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export type NewGroup = Pick<GroupRow, 'accountId' | 'name'> & Partial<Pick<GroupRow, 'description'>>; // prettier-ignore
type GroupPatch = Partial<Pick<GroupRow, 'name' | 'description'>>;

export interface GroupFilter {
  readonly accountId: number;
  readonly ids?: readonly number[];
  /** The whole name, in any letter case. */
  readonly name?: string;
  /** A text that the name contains. */
  readonly query?: string;
  /** Restricts the list to groups with this member. */
  readonly userId?: number;
}

/** The number of members, the number of vaults shared with the group and readable by the viewer, and whether the viewer is a member. */
export interface GroupCounts {
  readonly members: number;
  readonly vaults: number;
  readonly isMember: boolean;
}

/** Groups. Names are unique in an account, ignoring case. */
interface GroupTable {
  get(id: number): Promise<GroupRow | undefined>;
  byName(accountId: number, name: string): Promise<GroupRow | undefined>;
  /** Lists the groups, ordered by name. */
  list(filter: GroupFilter, page: Page): Promise<ListedRows<GroupRow>>;
  create(group: NewGroup): Promise<GroupRow>;
  update(id: number, patch: GroupPatch): Promise<GroupRow | undefined>;
  /** Deletes the group with its memberships and permissions. */
  delete(id: number): Promise<void>;
  /** Adds a member; returns false if the user already is one. */
  addMember(id: number, userId: number): Promise<boolean>;
  /** Removes a member; returns false if the user is not one. */
  removeMember(id: number, userId: number): Promise<boolean>;
  counts(ids: readonly number[], viewer: Viewer): Promise<ReadonlyMap<number, GroupCounts>>;
  /** The permissions of a group, by the id of the vault. */
  permissions(id: number): Promise<ReadonlyMap<number, Permission>>;
}

const groups = tableCodec<GroupRow, { nameKey: string }>(
  'userGroups',
  {
    id: 'plain',
    accountId: 'plain',
    name: 'plain',
    description: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  { nameKey: 'plain' },
);

/** Returns access to the table of groups. */
export function groupTable(db: Database): GroupTable {
  const groupWhere = async (where: Sql): Promise<GroupRow | undefined> => {
    const row = await db.get(sql`SELECT ${groups.columns} FROM user_groups WHERE ${where}`);
    return row && groups.parse(row);
  };
  const get = (id: number): Promise<GroupRow | undefined> =>
    groupWhere(sql`user_groups.id = ${id}`);
  const byName = (accountId: number, name: string): Promise<GroupRow | undefined> =>
    groupWhere(
      sql`user_groups.account_id = ${accountId} AND user_groups.name_key = ${foldName(name)}`,
    );
  return {
    get,
    byName,
    list: (filter, page) =>
      listPage(
        db,
        groups,
        {
          from: sql`user_groups`,
          where: conjunctionOf(groupConditions(filter)),
          orderBy: sql`user_groups.name_key, user_groups.id`,
        },
        page,
      ),
    create: (group) =>
      db.atomic(async (tx) => {
        await requireFreeName(tx, group.accountId, group.name, null);
        const now = Date.now();
        const row = {
          id: await nextSmallId(tx, 'group'),
          accountId: group.accountId,
          name: group.name,
          description: group.description ?? null,
          createdAt: now,
          updatedAt: now,
        };
        await tx.run(groups.insert({ ...row, nameKey: foldName(row.name) }));
        await recordCreatedId(tx, row.id);
        return row;
      }),
    update: (id, patch) =>
      db.atomic(async (tx) => {
        const before = await groupTable(tx).get(id);
        if (before === undefined) return undefined;
        const { name } = patch;
        if (name !== undefined) await requireFreeName(tx, before.accountId, name, id);
        const nameKey = name === undefined ? {} : { nameKey: foldName(name) };
        await tx.run(groups.update(id, { ...patch, ...nameKey, updatedAt: Date.now() })!);
        return groupTable(tx).get(id);
      }),
    delete: async (id) => {
      await db.run(sql`DELETE FROM user_groups WHERE id = ${id}`);
    },
    addMember: async (id, userId) => {
      const addedCount = await db.run(sql`INSERT INTO group_members (group_id, user_id)
        VALUES (${id}, ${userId}) ON CONFLICT DO NOTHING`);
      return addedCount > 0;
    },
    removeMember: async (id, userId) => {
      const removedCount = await db.run(
        sql`DELETE FROM group_members WHERE group_id = ${id} AND user_id = ${userId}`,
      );
      return removedCount > 0;
    },
    counts: async (ids, viewer) => {
      const rows = await db.all(sql`SELECT user_groups.id AS id,
          (SELECT COUNT(*) FROM group_members WHERE group_id = user_groups.id) AS members,
          (SELECT COUNT(*) FROM vault_permissions JOIN vaults ON vaults.id = vault_permissions.vault_id
            WHERE vault_permissions.group_id = user_groups.id AND ${mayAccess(viewer)}) AS vaults,
          EXISTS (SELECT 1 FROM group_members
            WHERE group_id = user_groups.id AND user_id = ${viewer.userId}) AS is_member
        FROM user_groups WHERE ${isOneOf(sql`user_groups.id`, ids)}`);
      return new Map(
        rows.map((row): [number, GroupCounts] => [
          row['id'] as number,
          {
            members: row['members'] as number,
            vaults: row['vaults'] as number,
            isMember: row['is_member'] === 1,
          },
        ]),
      );
    },
    permissions: async (id) => {
      const rows = await db.all(
        sql`SELECT vault_id, level FROM vault_permissions WHERE group_id = ${id} ORDER BY vault_id`,
      );
      return new Map(
        rows.map((row): [number, Permission] => [
          row['vault_id'] as number,
          permissionOfLevel(row['level'] as number)!,
        ]),
      );
    },
  };
}

function groupConditions(filter: GroupFilter): Sql[] {
  const clauses = [sql`user_groups.account_id = ${filter.accountId}`];
  if (filter.ids) clauses.push(isOneOf(sql`user_groups.id`, filter.ids));
  if (filter.name !== undefined) clauses.push(sql`user_groups.name_key = ${foldName(filter.name)}`);
  if (filter.query !== undefined)
    clauses.push(containsText(sql`user_groups.name_key`, foldName(filter.query)));
  if (filter.userId !== undefined) {
    clauses.push(sql`EXISTS (SELECT 1 FROM group_members
      WHERE group_members.group_id = user_groups.id AND group_members.user_id = ${filter.userId})`);
  }
  return clauses;
}

/** Throws if the name is not allowed for a group, or if another group of the account has it. */
async function requireFreeName(
  tx: Database,
  accountId: number,
  name: string,
  ownId: number | null,
): Promise<void> {
  checkName('name', name);
  const groupWithName = await groupTable(tx).byName(accountId, name);
  if (groupWithName === undefined || groupWithName.id === ownId) return;
  throw invalidError('name', `A group named ${JSON.stringify(groupWithName.name)} exists already.`);
}
