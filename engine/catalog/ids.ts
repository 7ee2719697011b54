import { randomInt } from 'node:crypto';
import type { Database } from './database.js';
import { sql } from './sql.js';

/** The largest id of 15 digits; no client loses precision on an id of this size (contract 1.7). The counter starts at 10^14. */
const maxLargeId = 10 ** 15 - 1;

/** Gaps make ids unguessable (threat A14); with gaps of mean size there are 18 billion ids. */
const maxIdGap = 100_000;

/**
 * Returns the next consecutive id of a kind of resource; the first one is 1. Ids are never reused, not even after a deletion. The name of a
 * kind never changes, because catalogues count by it.
 */
export async function nextSmallId(db: Database, kind: string): Promise<number> {
  return db.atomic(async (tx) => {
    await tx.run(sql`INSERT INTO counters (name, value) VALUES (${kind}, 1)
      ON CONFLICT (name) DO UPDATE SET value = value + 1`);
    const row = await tx.get(sql`SELECT value FROM counters WHERE name = ${kind}`);
    return row!['value'] as number;
  });
}

/**
 * Whether an object, job or task has ever had this id. If it has no row, it was deleted, or its creation was rolled back. Between
 * `freezeIssuedIds` and `unfreezeIssuedIds`, ids that were issued since the former do not count.
 */
export async function isIdIssued(db: Database, id: number): Promise<boolean> {
  const row = await db.get(
    sql`SELECT min(value) AS last FROM counters WHERE name IN ('large', 'frozen')`,
  );
  return id <= (row!['last'] as number);
}

/**
 * Fixes the largest id that `isIdIssued` takes for issued, even if the process ends, until `unfreezeIssuedIds`. Has no effect if it is
 * fixed already.
 */
export async function freezeIssuedIds(db: Database): Promise<void> {
  await db.run(sql`INSERT INTO counters (name, value)
    SELECT 'frozen', value FROM counters WHERE name = 'large' ON CONFLICT (name) DO NOTHING`);
}

export async function unfreezeIssuedIds(db: Database): Promise<void> {
  await db.run(sql`DELETE FROM counters WHERE name = 'frozen'`);
}

/**
 * Returns the next id of an object, job or task. These ids increase strictly, so that they sort by creation, with random gaps. They never
 * end in 0, because R prints such numbers in scientific notation (contract 1.7).
 */
export async function nextLargeId(db: Database): Promise<number> {
  return db.atomic(async (tx) => {
    const row = await tx.get(sql`SELECT value FROM counters WHERE name = 'large'`);
    const next = (row!['value'] as number) + randomInt(1, maxIdGap);
    const id = next % 10 === 0 ? next + 1 : next;
    if (id > maxLargeId) throw new Error('all 15-digit ids are used up');
    await tx.run(sql`UPDATE counters SET value = ${id} WHERE name = 'large'`);
    return id;
  });
}
