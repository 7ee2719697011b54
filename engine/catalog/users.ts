import { invalidError } from '../core/errors.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { foldName } from './object-names.js';
import type { Role } from './permission.js';
import { conjunctionOf, sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

export interface UserRow {
  readonly id: number;
  readonly accountId: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: Role;
  readonly isActive: boolean;
  readonly createdAt: Millis;
}

/** A user to insert; `create-user.ts` adds the account, the personal vault and a token. */
interface NewUserRow {
  readonly accountId: number;
  readonly email: string;
  readonly role: Role;
  readonly firstName?: string;
  readonly lastName?: string;
}

export interface UserFilter {
  readonly accountId?: number;
  /** The e-mail address, in any letter case. */
  readonly email?: string;
  readonly role?: Role;
  readonly isActive?: boolean;
  /** Restricts the list to members of this group. */
  readonly groupId?: number;
}

/** Users. An email address is unique in the catalogue, ignoring case. */
interface UserTable {
  get(id: number): Promise<UserRow | undefined>;
  byEmail(email: string): Promise<UserRow | undefined>;
  /** Lists the users, ordered by id. */
  list(filter: UserFilter, page: Page): Promise<ListedRows<UserRow>>;
  create(user: NewUserRow): Promise<UserRow>;
  update(
    id: number,
    patch: Partial<Pick<UserRow, 'firstName' | 'lastName' | 'role' | 'isActive'>>,
  ): Promise<UserRow | undefined>;
  /** Makes a removed user active again, with the properties that the request to create the user gives. */
  reactivate(id: number, patch: Partial<NewUserRow>): Promise<UserRow>;
}

const users = tableCodec<UserRow, { emailKey: string }>(
  'users',
  {
    id: 'plain',
    accountId: 'plain',
    email: 'plain',
    firstName: 'plain',
    lastName: 'plain',
    role: 'plain',
    isActive: 'flag',
    createdAt: 'plain',
  },
  { emailKey: 'plain' },
);

/** Returns access to the table of users. */
export function userTable(db: Database): UserTable {
  const cache = new RowCache<number, UserRow>(db);
  const get = (id: number): Promise<UserRow | undefined> =>
    cache.get(id, async () => {
      const row = await db.get(sql`SELECT ${users.columns} FROM users WHERE id = ${id}`);
      return row && users.parse(row);
    });
  const byEmail = async (email: string): Promise<UserRow | undefined> => {
    const row = await db.get(
      sql`SELECT ${users.columns} FROM users WHERE email_key = ${foldName(email)}`,
    );
    return row && users.parse(row);
  };
  return {
    get,
    byEmail,
    list: async ({ accountId, email, role, isActive, groupId }, page) => {
      const where = conjunctionOf([
        ...(accountId === undefined ? [] : [sql`users.account_id = ${accountId}`]),
        ...(email === undefined ? [] : [sql`users.email_key = ${foldName(email)}`]),
        ...(role === undefined ? [] : [sql`users.role = ${role}`]),
        ...(isActive === undefined ? [] : [sql`users.is_active = ${isActive}`]),
        ...(groupId === undefined
          ? []
          : [
              sql`users.id IN (SELECT group_members.user_id FROM group_members
                WHERE group_members.group_id = ${groupId})`,
            ]),
      ]);
      return listPage(db, users, { from: sql`users`, where, orderBy: sql`users.id` }, page);
    },
    create: async (user) => {
      checkEmail(user.email);
      if ((await byEmail(user.email)) !== undefined) {
        throw invalidError('email', `A user with the email ${user.email} exists already.`);
      }
      const row: UserRow = {
        id: await nextSmallId(db, 'user'),
        accountId: user.accountId,
        email: user.email,
        firstName: user.firstName ?? '',
        lastName: user.lastName ?? '',
        role: user.role,
        isActive: true,
        createdAt: Date.now(),
      };
      await db.run(users.insert({ ...row, emailKey: foldName(user.email) }));
      await recordCreatedId(db, row.id);
      return row;
    },
    update: async (id, patch) => {
      const change = users.update(id, patch);
      if (change !== undefined) await db.run(change);
      return get(id);
    },
    reactivate: async (id, patch) => {
      await db.run(users.update(id, { ...patch, isActive: true })!);
      await recordCreatedId(db, id);
      return (await get(id))!;
    },
  };
}

/** Throws if the text is not an email address. */
export function checkEmail(email: string): void {
  if (/^[^\s@]{1,200}@[^\s@]{1,200}$/.test(email)) return;
  throw invalidError('email', `${JSON.stringify(email.slice(0, 100))} is not an email address.`);
}

/** The first and last name of a user, or the email address if both are empty. */
export function fullName(user: Pick<UserRow, 'firstName' | 'lastName' | 'email'>): string {
  const name = `${user.firstName} ${user.lastName}`.trim();
  return name === '' ? user.email : name;
}
