import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import type { SavedQueryRow } from '../../../engine/catalog/saved-queries.js';
import type { AppContext } from '../../http/app-context.js';
import { beaconSetView, beaconView, savedQueryView } from './saved-resource-views.js';
import type { ApiRequest } from '../../http/request.js';

/** Shows saved queries, beacon sets and beacons with what stands around them. */
export class QuestionPresenter {
  constructor(
    readonly context: AppContext,
    readonly request: ApiRequest,
  ) {}

  async savedQuery(row: SavedQueryRow): Promise<object> {
    const user = await this.context.catalog.users.get(row.userId);
    return savedQueryView(row, user, this.request.origin);
  }

  async set(row: BeaconSetRow): Promise<object> {
    const { users, beacons } = this.context.catalog;
    const inSet = { access: null, beaconSetId: row.id };
    const { total } = await beacons.list(inSet, { limit: 1, offset: 0 });
    return beaconSetView(row, await users.get(row.userId), total, this.request.origin);
  }

  async beacon(row: BeaconRow): Promise<object> {
    const object = await this.context.catalog.objects.get(row.datasetId);
    return beaconView(row, object?.vaultId ?? null, this.request.origin);
  }
}
