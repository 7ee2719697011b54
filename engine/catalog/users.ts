import { invalid } from '../core/errors.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { listPage, type Listed, type Page } from './list-page.js';
import { fold } from './names.js';
import type { Role } from './permission.js';
import { all, sql } from './sql.js';
import { table, type Millis } from './table.js';

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
export interface NewUserRow {
  readonly accountId: number;
  readonly email: string;
  readonly role: Role;
  readonly firstName?: string;
  readonly lastName?: string;
}

export interface UserFilter {
  readonly accountId?: number;
  /** In any case. */
  readonly email?: string;
}

/** Users. An email address is unique in the catalogue, ignoring case. */
export interface UserTable {
  get(id: number): Promise<UserRow | undefined>;
  byEmail(email: string): Promise<UserRow | undefined>;
  /** Ordered by id. */
  list(filter: UserFilter, page: Page): Promise<Listed<UserRow>>;
  create(user: NewUserRow): Promise<UserRow>;
  update(
    id: number,
    patch: Partial<Pick<UserRow, 'firstName' | 'lastName' | 'role' | 'isActive'>>,
  ): Promise<UserRow | undefined>;
}

const users = table<UserRow, { emailKey: string }>(
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

/** Statements over users. */
export function userTable(db: Database): UserTable {
  const cache = new RowCache<number, UserRow>(db);
  const get = (id: number): Promise<UserRow | undefined> =>
    cache.get(id, async () => {
      const row = await db.get(sql`SELECT ${users.columns} FROM users WHERE id = ${id}`);
      return row && users.parse(row);
    });
  const byEmail = async (email: string): Promise<UserRow | undefined> => {
    const row = await db.get(
      sql`SELECT ${users.columns} FROM users WHERE email_key = ${fold(email)}`,
    );
    return row && users.parse(row);
  };
  return {
    get,
    byEmail,
    list: async ({ accountId, email }, page) => {
      const where = all([
        ...(accountId === undefined ? [] : [sql`users.account_id = ${accountId}`]),
        ...(email === undefined ? [] : [sql`users.email_key = ${fold(email)}`]),
      ]);
      return listPage(db, users, { from: sql`users`, where, orderBy: sql`users.id` }, page);
    },
    create: async (user) => {
      if (!/^[^\s@]{1,200}@[^\s@]{1,200}$/.test(user.email)) {
        throw invalid('email', `${JSON.stringify(user.email)} is not an email address.`);
      }
      if ((await byEmail(user.email)) !== undefined) {
        throw invalid('email', `A user with the email ${user.email} exists already.`);
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
      await db.run(users.insert({ ...row, emailKey: fold(user.email) }));
      return row;
    },
    update: async (id, patch) => {
      const change = users.update(id, patch);
      if (change !== undefined) await db.run(change);
      return get(id);
    },
  };
}

/** The first and last name of a user, or the email address if both are empty. */
export function fullName(user: Pick<UserRow, 'firstName' | 'lastName' | 'email'>): string {
  const name = `${user.firstName} ${user.lastName}`.trim();
  return name === '' ? user.email : name;
}
