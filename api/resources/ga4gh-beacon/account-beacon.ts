import { viewerOf } from '../../../engine/catalog/access.js';
import type { AccountRow } from '../../../engine/catalog/accounts.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { Granularity } from '../../../engine/catalog/global-beacons.js';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import { anonymousViewer } from '../../../engine/catalog/permission.js';
import { notFoundError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { readId } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';

/** A dataset of the beacon, with the granularity of its answers. */
export interface BeaconDataset {
  readonly row: DatasetRow;
  readonly name: string;
  readonly description: string | null;
  readonly granularity: Exclude<Granularity, 'none'>;
  /** Whether requests with filters are answered for the dataset. */
  readonly answersFilters: boolean;
}

/** The beacon of an account, as one caller sees it. */
export interface AccountBeacon {
  readonly account: AccountRow;
  readonly datasets: readonly BeaconDataset[];
}

/**
 * Returns the beacon of the account with this domain, with the datasets that the caller may read. Throws a 404 for an unknown domain and
 * for a beacon whose existence the caller must not learn.
 * Choice: the GA4GH beacon of an account has the datasets that have a granularity and that the caller may read; without credentials, those
 * in public vaults. A caller who does not belong to the account and may read none of them gets a 404, as if the account did not exist.
 * Choice: the GA4GH beacon of an account answers filters to callers with credentials, who may read the records in other ways, too. For
 * other callers, it answers filters only for datasets that show records, because with filters a series of yes-or-no answers discloses the
 * values of a record.
 */
export async function loadAccountBeacon(
  { catalog }: AppContext,
  caller: Caller | undefined,
  domain: string,
): Promise<AccountBeacon> {
  const account = await catalog.accounts.byDomain(domain);
  if (account === undefined) throw notFoundError();
  const viewer = caller === undefined ? anonymousViewer : viewerOf(caller);
  const { rows } = await catalog.datasets.list({ viewer, beaconOf: account.id }, unlimitedPage);
  if (rows.length === 0 && viewer.accountId !== account.id) throw notFoundError();
  const beacons = await catalog.globalBeacons.of(rows.map(({ id }) => id));
  const datasetLists = await Promise.all(
    rows.map(async (row): Promise<BeaconDataset[]> => {
      const object = await catalog.objects.get(row.id);
      const granularity = beacons.get(row.id)?.granularity ?? 'none';
      if (object === undefined || granularity === 'none') return []; // the dataset was changed a moment ago
      const answersFilters = caller !== undefined || granularity === 'record';
      const { filename: name, description } = object;
      return [{ row, name, description, granularity, answersFilters }];
    }),
  );
  return { account, datasets: datasetLists.flat() };
}

/** Returns the dataset of a beacon with this id; throws a 404 if the beacon has none. */
export function requireBeaconDataset({ datasets }: AccountBeacon, id: string): BeaconDataset {
  const datasetId = readId(id);
  const dataset = datasets.find(({ row }) => row.id === datasetId);
  if (dataset === undefined) throw notFoundError();
  return dataset;
}
