import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { isOneOf, sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/**
 * The levels of detail in the answers of an account's GA4GH beacon about a dataset, in ascending order: nothing, whether there are matches,
 * their number, or the records.
 */
export const granularities = ['none', 'boolean', 'count', 'record'] as const;
export type Granularity = (typeof granularities)[number];

/** The mark of a dataset that searches by entity include, with the granularity of its answers in the account's GA4GH beacon. */
export interface GlobalBeaconRow {
  readonly id: number;
  readonly datasetId: number;
  readonly granularity: Granularity;
  /** The user who enabled the global beacon. */
  readonly userId: number;
  readonly createdAt: Millis;
}

/** Adds global beacons: the datasets that a search by entity includes. */
export const globalBeaconSchema: readonly string[] = [
  `INSERT INTO counters (name, value) VALUES ('global beacon', 0)`,
  `CREATE TABLE global_beacons (
    id BIGINT NOT NULL PRIMARY KEY,
    dataset_id BIGINT NOT NULL UNIQUE REFERENCES datasets (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL)`,
];

/** Adds the granularity of a dataset in the account's GA4GH beacon: `none` by default. */
export const granularitySchema: readonly string[] = [
  `ALTER TABLE global_beacons ADD COLUMN granularity TEXT NOT NULL DEFAULT 'none'
    CHECK (granularity IN ('none', 'boolean', 'count', 'record'))`,
];

/** Global beacons: the datasets that searches by entity include (contract 14.4). */
interface GlobalBeaconTable {
  /** The global beacons of these datasets, by dataset id. */
  of(datasetIds: readonly number[]): Promise<ReadonlyMap<number, GlobalBeaconRow>>;
  /** Ids of all datasets with a global beacon, ascending, regardless of permissions. */
  all(): Promise<readonly number[]>;
  /**
   * Creates the global beacon of a dataset, or changes the granularity of the existing one. If no granularity is given, an existing global
   * beacon stays as it is, and a new one gets `none`.
   */
  enable(datasetId: number, userId: number, granularity?: Granularity): Promise<GlobalBeaconRow>;
  /** Deletes and returns the global beacon of a dataset; undefined if it had none. */
  disable(datasetId: number): Promise<GlobalBeaconRow | undefined>;
}

const globalBeacons = tableCodec<GlobalBeaconRow>(
  'globalBeacons',
  { id: 'plain', datasetId: 'plain', granularity: 'plain', userId: 'plain', createdAt: 'plain' },
  {},
);

/** Returns access to the table of global beacons. */
export function globalBeaconTable(db: Database): GlobalBeaconTable {
  const ofDatasets: GlobalBeaconTable['of'] = async (datasetIds) => {
    const rows = await db.all(sql`SELECT ${globalBeacons.columns} FROM global_beacons
      WHERE ${isOneOf(sql`global_beacons.dataset_id`, datasetIds)}`);
    return new Map(rows.map(globalBeacons.parse).map((row) => [row.datasetId, row]));
  };
  return {
    of: ofDatasets,
    all: async () => {
      const rows = await db.all(
        sql`SELECT dataset_id AS "datasetId" FROM global_beacons ORDER BY dataset_id`,
      );
      return rows.map((row) => row['datasetId'] as number);
    },
    enable: (datasetId, userId, granularity) =>
      db.atomic(async (tx) => {
        const knownBeacon = (await globalBeaconTable(tx).of([datasetId])).get(datasetId);
        if (knownBeacon !== undefined) {
          const row = { ...knownBeacon, granularity: granularity ?? knownBeacon.granularity };
          const change = globalBeacons.update(knownBeacon.id, { granularity: row.granularity });
          if (change !== undefined && row.granularity !== knownBeacon.granularity)
            await tx.run(change);
          return row;
        }
        const id = await nextSmallId(tx, 'global beacon');
        const row = {
          id,
          datasetId,
          granularity: granularity ?? ('none' as const),
          userId,
          createdAt: Date.now(),
        };
        await tx.run(globalBeacons.insert(row));
        return row;
      }),
    disable: (datasetId) =>
      db.atomic(async (tx) => {
        const knownBeacon = (await globalBeaconTable(tx).of([datasetId])).get(datasetId);
        await tx.run(sql`DELETE FROM global_beacons WHERE dataset_id = ${datasetId}`);
        return knownBeacon;
      }),
  };
}
