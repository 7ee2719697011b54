import { randomInt } from 'node:crypto';
import type { Database } from './database.js';
import { sql } from './sql.js';

/** The largest id of 15 digits, which no client loses precision on (contract 1.7); the counter starts at 10^14. */
const lastLargeId = 10 ** 15 - 1;

/** Gaps make ids unguessable (threats A14); at the mean gap there are 18 billion ids. */
const largestGap = 100_000;

/** Resources with consecutive ids. */
export type SmallIdKind =
  | 'account'
  | 'user'
  | 'token'
  | 'vault'
  | 'field'
  | 'saved query'
  | 'template'
  | 'beacon set'
  | 'beacon'
  | 'global beacon'
  | 'group'
  | 'permission'
  | 'invitation'
  | 'audit entry';

/** The next consecutive id of its kind. Ids are never reused, not even after a deletion. */
export async function nextSmallId(db: Database, kind: SmallIdKind): Promise<number> {
  const row = await db.atomic(async (tx) => {
    await tx.run(sql`UPDATE counters SET value = value + 1 WHERE name = ${kind}`);
    return tx.get(sql`SELECT value FROM counters WHERE name = ${kind}`);
  });
  if (row === undefined)
    throw new Error(`no row '${kind}' in counters: a migration has to insert it`);
  return row['value'] as number;
}

/** Whether an object, job or task has ever had this id. One without a row was deleted, or its creation was rolled back. */
export async function isIssued(db: Database, id: number): Promise<boolean> {
  const row = await db.get(sql`SELECT value FROM counters WHERE name = 'large'`);
  return id <= (row!['value'] as number);
}

/**
 * The next id of an object, job or task. These ids increase strictly, so that they sort by creation, with random gaps, and never
 * end in 0, because R prints such numbers in scientific notation (contract 1.7).
 */
export async function nextLargeId(db: Database): Promise<number> {
  return db.atomic(async (tx) => {
    const row = await tx.get(sql`SELECT value FROM counters WHERE name = 'large'`);
    const next = (row!['value'] as number) + randomInt(1, largestGap);
    const id = next % 10 === 0 ? next + 1 : next;
    if (id > lastLargeId) throw new Error('all 15-digit ids are used up');
    await tx.run(sql`UPDATE counters SET value = ${id} WHERE name = 'large'`);
    return id;
  });
}
