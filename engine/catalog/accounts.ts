import { invalidError } from '../core/errors.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { foldName } from './object-names.js';
import { sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

export interface AccountRow {
  readonly id: number;
  readonly domain: string;
  readonly name: string;
  readonly createdAt: Millis;
}

/** Accounts (organisations). Domains are unique, ignoring case. */
interface AccountTable {
  get(id: number): Promise<AccountRow | undefined>;
  byDomain(domain: string): Promise<AccountRow | undefined>;
  create(account: { readonly domain: string; readonly name?: string }): Promise<AccountRow>;
}

const accounts = tableCodec<AccountRow, { domainKey: string }>(
  'accounts',
  { id: 'plain', domain: 'plain', name: 'plain', createdAt: 'plain' },
  { domainKey: 'plain' },
);

/** Returns access to the table of accounts. */
export function accountTable(db: Database): AccountTable {
  const cache = new RowCache<number, AccountRow>(db);
  const byDomain = async (domain: string): Promise<AccountRow | undefined> => {
    const row = await db.get(
      sql`SELECT ${accounts.columns} FROM accounts WHERE domain_key = ${foldName(domain)}`,
    );
    return row && accounts.parse(row);
  };
  return {
    byDomain,
    get: (id) =>
      cache.get(id, async () => {
        const row = await db.get(sql`SELECT ${accounts.columns} FROM accounts WHERE id = ${id}`);
        return row && accounts.parse(row);
      }),
    create: async ({ domain, name }) => {
      if (!/^[a-zA-Z0-9-]{1,100}$/.test(domain)) {
        throw invalidError('domain', 'A domain consists of letters, digits and hyphens.');
      }
      if ((await byDomain(domain)) !== undefined) {
        throw invalidError('domain', `An account with the domain ${domain} exists already.`);
      }
      const row = {
        id: await nextSmallId(db, 'account'),
        domain,
        name: name ?? domain,
        createdAt: Date.now(),
      };
      await db.run(accounts.insert({ ...row, domainKey: foldName(domain) }));
      return row;
    },
  };
}
