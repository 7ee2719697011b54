import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { isOneOf, sql } from './sql.js';
import { table, type Millis } from './table.js';

/** Says that searches by entity look into a dataset. */
export interface GlobalBeaconRow {
  readonly id: number;
  readonly datasetId: number;
  /** Who enabled it. */
  readonly userId: number;
  readonly createdAt: Millis;
}

/** Which datasets searches by entity look into (contract 14.4). */
export interface GlobalBeaconTable {
  /** Those of these datasets that have one, by the dataset's id. */
  of(datasetIds: readonly number[]): Promise<ReadonlyMap<number, GlobalBeaconRow>>;
  /** Every dataset that has one, oldest first, whoever may read it. */
  all(): Promise<readonly number[]>;
  /** Leaves one that is there as it is. */
  enable(datasetId: number, userId: number): Promise<GlobalBeaconRow>;
  /** What there was, if anything. */
  disable(datasetId: number): Promise<GlobalBeaconRow | undefined>;
}

const globalBeacons = table<GlobalBeaconRow>(
  'globalBeacons',
  { id: 'plain', datasetId: 'plain', userId: 'plain', createdAt: 'plain' },
  {},
);

/** The global beacons of a catalogue. */
export function globalBeaconTable(db: Database): GlobalBeaconTable {
  const of: GlobalBeaconTable['of'] = async (datasetIds) => {
    const rows = await db.all(sql`SELECT ${globalBeacons.columns} FROM global_beacons
      WHERE ${isOneOf(sql`global_beacons.dataset_id`, datasetIds)}`);
    return new Map(rows.map(globalBeacons.parse).map((row) => [row.datasetId, row]));
  };
  return {
    of,
    all: async () => {
      const rows = await db.all(
        sql`SELECT dataset_id AS "datasetId" FROM global_beacons ORDER BY dataset_id`,
      );
      return rows.map((row) => row['datasetId'] as number);
    },
    enable: (datasetId, userId) =>
      db.atomic(async (tx) => {
        const known = (await globalBeaconTable(tx).of([datasetId])).get(datasetId);
        if (known !== undefined) return known;
        const id = await nextSmallId(tx, 'global beacon');
        const row = { id, datasetId, userId, createdAt: Date.now() };
        await tx.run(globalBeacons.insert(row));
        return row;
      }),
    disable: (datasetId) =>
      db.atomic(async (tx) => {
        const known = (await globalBeaconTable(tx).of([datasetId])).get(datasetId);
        await tx.run(sql`DELETE FROM global_beacons WHERE dataset_id = ${datasetId}`);
        return known;
      }),
  };
}
