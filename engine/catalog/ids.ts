import { randomInt } from 'node:crypto';
import type { Database } from './database.js';
import { sql } from './sql.js';

/** Where large ids begin and end: 15 digits, so that no client loses precision (contract 1.7). */
export const firstLargeId = 10 ** 14;
export const lastLargeId = 10 ** 15 - 1;

/** Room for 18 billion ids at the mean gap, while nobody can guess a neighbour's (threats A14). */
const largestGap = 100_000;

/** What counts by one: ids that people read. */
export type SmallIdKind =
  | 'account'
  | 'user'
  | 'token'
  | 'vault'
  | 'field'
  | 'saved query'
  | 'beacon set'
  | 'beacon'
  | 'global beacon';

/** The next small id of its kind; never given twice, not even after a deletion. */
export async function nextSmallId(db: Database, kind: SmallIdKind): Promise<number> {
  const row = await db.atomic(async (tx) => {
    await tx.run(sql`UPDATE counters SET value = value + 1 WHERE name = ${kind}`);
    return tx.get(sql`SELECT value FROM counters WHERE name = ${kind}`);
  });
  return row!['value'] as number;
}

/**
 * The next id for objects, jobs and tasks: strictly increasing, so that ids sort by creation, with a random gap and a last
 * digit that is never 0 (R prints such numbers in scientific notation, contract 1.7).
 */
export async function nextLargeId(db: Database): Promise<number> {
  return db.atomic(async (tx) => {
    const row = await tx.get(sql`SELECT value FROM counters WHERE name = 'large'`);
    const next = (row!['value'] as number) + randomInt(1, largestGap);
    const id = next % 10 === 0 ? next + 1 : next;
    if (id > lastLargeId) throw new Error('the ids are used up');
    await tx.run(sql`UPDATE counters SET value = ${id} WHERE name = 'large'`);
    return id;
  });
}
