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

/*
 * After the restore of an older catalogue, a start may issue ids that newer files already have: files of objects, jobs and tasks that the
 * catalogue does not know. The counter `frozen` is the last id before the start, as long as the start runs. If the start could not move all
 * such files away, the ids after `doubtful-from`, up to `doubtful-to`, which it has issued, remain in doubt until a start can.
 */

/**
 * Whether an id is not greater than the last issued one. If it is the id of a file and no row has it, the object, job or task was deleted,
 * or its creation was rolled back. Ids since `freezeIssuedIds` do not count, nor those that `unfreezeIssuedIds` has left in doubt.
 */
export async function isIdIssued(db: Database, id: number): Promise<boolean> {
  const { large, frozen, from, to } = await idCounters(db);
  const isInDoubt = from !== undefined && to !== undefined && id > from && id <= to;
  return id <= Math.min(large, frozen ?? large) && !isInDoubt;
}

/**
 * Fixes the largest id that `isIdIssued` takes for issued, even if the process ends, until `unfreezeIssuedIds`. Has no effect if it is
 * fixed already.
 */
export async function freezeIssuedIds(db: Database): Promise<void> {
  await db.run(sql`INSERT INTO counters (name, value)
    SELECT 'frozen', value FROM counters WHERE name = 'large' ON CONFLICT (name) DO NOTHING`);
}

/**
 * Ends what `freezeIssuedIds` began. `hasMovedAll`: no file remains that is newer than the catalogue; otherwise the ids that were issued
 * since then remain in doubt.
 */
export async function unfreezeIssuedIds(db: Database, hasMovedAll: boolean): Promise<void> {
  await db.atomic(async (tx) => {
    const { large, frozen = large, from = frozen } = await idCounters(tx);
    if (hasMovedAll)
      await tx.run(sql`DELETE FROM counters WHERE name IN ('doubtful-from', 'doubtful-to')`);
    else if (large > frozen)
      await tx.run(sql`INSERT INTO counters (name, value) VALUES ('doubtful-from', ${from}), ('doubtful-to', ${large})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
    await tx.run(sql`DELETE FROM counters WHERE name = 'frozen'`);
  });
}

async function idCounters(db: Database) {
  const rows = await db.all(sql`SELECT name, value FROM counters
    WHERE name IN ('large', 'frozen', 'doubtful-from', 'doubtful-to')`);
  const byName = new Map(rows.map(({ name, value }) => [name, value as number]));
  return {
    large: byName.get('large')!,
    frozen: byName.get('frozen'),
    from: byName.get('doubtful-from'),
    to: byName.get('doubtful-to'),
  };
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
