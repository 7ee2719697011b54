import { viewerOf } from '../../../engine/catalog/access.js';
import type { AccountRow } from '../../../engine/catalog/accounts.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { Granularity } from '../../../engine/catalog/global-beacons.js';
import { wholeList } from '../../../engine/catalog/list-page.js';
import { anybody } from '../../../engine/catalog/permission.js';
import { notFound } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { readId } from '../../http/form.js';
import type { Caller } from '../../http/request.js';

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
 * The beacon of the account with a domain, with the datasets that the caller may read. Throws a 404 for an unknown domain and for a beacon that
 * the caller must not know of.
 *
 * Choice: the GA4GH beacon of an account has the datasets with a granularity that the caller may read. It may be asked without credentials: it
 * then has those in public vaults. Who does not belong to the account gets a 404 as long as it has no dataset for them, as if there were no such account.
 *
 * Choice: a beacon answers filters to callers with credentials, who may read the records in other ways, too. To others, only datasets that show
 * records do: by filters, a yes or no tells one value of a record after the other.
 */
export async function accountBeacon(
  { catalog }: AppContext,
  caller: Caller | undefined,
  domain: string,
): Promise<AccountBeacon> {
  const account = await catalog.accounts.byDomain(domain);
  if (account === undefined) throw notFound();
  const viewer = caller === undefined ? anybody : viewerOf(caller);
  const { rows } = await catalog.datasets.list({ viewer, beaconOf: account.id }, wholeList);
  if (rows.length === 0 && viewer.accountId !== account.id) throw notFound();
  const beacons = await catalog.globalBeacons.of(rows.map(({ id }) => id));
  const found = await Promise.all(
    rows.map(async (row): Promise<BeaconDataset[]> => {
      const object = await catalog.objects.get(row.id);
      const granularity = beacons.get(row.id)?.granularity ?? 'none';
      if (object === undefined || granularity === 'none') return []; // changed a moment ago
      const answersFilters = caller !== undefined || granularity === 'record';
      const { filename: name, description } = object;
      return [{ row, name, description, granularity, answersFilters }];
    }),
  );
  return { account, datasets: found.flat() };
}

/** The dataset of a beacon with this id; throws a 404 without one. */
export function datasetOf({ datasets }: AccountBeacon, id: string): BeaconDataset {
  const number = readId(id);
  const found = datasets.find(({ row }) => row.id === number);
  if (found === undefined) throw notFound();
  return found;
}
