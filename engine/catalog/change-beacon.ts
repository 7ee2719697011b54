import { recordAudit } from './audit-log.js';
import type { Tables } from './catalog-tables.js';
import type { GlobalBeaconRow, Granularity } from './global-beacons.js';
import type { UserRow } from './users.js';

/**
 * Creates the global beacon of a dataset, or changes the granularity of the existing one, if a granularity is given. Must run inside
 * `catalog.transaction`.
 */
export async function enableGlobalBeacon(
  tx: Tables,
  actor: Pick<UserRow, 'id'>,
  datasetId: number,
  granularity?: Granularity,
): Promise<GlobalBeaconRow> {
  const before = (await tx.globalBeacons.of([datasetId])).get(datasetId);
  const row = await tx.globalBeacons.enable(datasetId, actor.id, granularity);
  await auditGranularityChange(
    tx,
    actor,
    datasetId,
    before?.granularity ?? 'none',
    row.granularity,
  );
  return row;
}

/** Deletes and returns the global beacon of a dataset; undefined if it had none. Must run inside `catalog.transaction`. */
export async function disableBeacon(
  tx: Tables,
  actor: Pick<UserRow, 'id'>,
  datasetId: number,
): Promise<GlobalBeaconRow | undefined> {
  const row = await tx.globalBeacons.disable(datasetId);
  if (row !== undefined)
    await auditGranularityChange(tx, actor, datasetId, row.granularity, 'none');
  return row;
}

/** Records in the audit log a change of what the GA4GH beacon, which may be public, shows of a dataset. */
async function auditGranularityChange(
  tx: Tables,
  actor: Pick<UserRow, 'id'>,
  datasetId: number,
  before: Granularity,
  after: Granularity,
): Promise<void> {
  if (before === after) return;
  const object = await tx.objects.get(datasetId);
  const vault = object && (await tx.vaults.get(object.vaultId));
  if (vault === undefined) return; // the dataset was deleted meanwhile, and its beacon with it
  await recordAudit(tx, {
    actor,
    action: 'beacon.change',
    subject: {
      type: 'dataset',
      id: datasetId,
      name: `${vault.name}:${object!.path}`,
      accountId: vault.accountId,
    },
    details: { before, after },
  });
}
