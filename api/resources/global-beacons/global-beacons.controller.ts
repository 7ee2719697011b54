import { Body, Controller } from '@nestjs/common';
import { disableBeacon, enableGlobalBeacon } from '../../../engine/catalog/change-beacon.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import { AppContext } from '../../http/app-context.js';
import { Form } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import { globalBeacon } from '../shared/global-beacon.js';

const globalBeaconPaths: [string] = ['/v2/objects/:id/beacon'];

export const globalBeaconOperations = declareOperations('globalBeacons', 'Search', {
  get: {
    method: 'GET',
    paths: globalBeaconPaths,
    summary: 'Returns the global beacon of a dataset; 404 without one.',
    answer: globalBeacon.schema,
  },
  enable: {
    method: 'POST',
    paths: globalBeaconPaths,
    summary:
      'Includes a dataset in searches by entity, and with a granularity in the GA4GH beacon of the account. Repeating it changes nothing but a granularity that it gives.',
    body: globalBeacon.createSchema,
    answer: globalBeacon.schema,
  },
  disable: {
    method: 'DELETE',
    paths: globalBeaconPaths,
    summary: 'Excludes a dataset from searches by entity and from the GA4GH beacon.',
    answer: globalBeacon.schema,
  },
});

/** Global beacons: the datasets that searches by entity include (contract 14.4). */
@Controller()
export class GlobalBeaconsController {
  constructor(private readonly context: AppContext) {}

  @Operation(globalBeaconOperations.get)
  @Access('read', 'dataset')
  async get(@Resource() { id }: DatasetRow): Promise<object> {
    const row = (await this.context.catalog.globalBeacons.of([id])).get(id);
    if (row === undefined) throw noGlobalBeaconError(id);
    return globalBeacon.view(row, { isDeleted: false });
  }

  @Operation(globalBeaconOperations.enable)
  @Access('write', 'dataset')
  async enable(
    @Resource() { id }: DatasetRow,
    @Body() body: unknown,
    @CurrentCaller() { user }: Caller,
  ): Promise<object> {
    const form = new Form(body);
    const { granularity } = globalBeacon.readCreate(form);
    form.throwIfInvalid();
    const row = await this.context.catalog.transaction((tx) =>
      enableGlobalBeacon(tx, user, id, granularity),
    );
    return globalBeacon.view(row, { isDeleted: false });
  }

  @Operation(globalBeaconOperations.disable)
  @Access('write', 'dataset')
  async disable(
    @Resource() { id }: DatasetRow,
    @CurrentCaller() { user }: Caller,
  ): Promise<object> {
    const row = await this.context.catalog.transaction((tx) => disableBeacon(tx, user, id));
    if (row === undefined) throw noGlobalBeaconError(id);
    return globalBeacon.view(row, { isDeleted: true });
  }
}

function noGlobalBeaconError(id: number): AppError {
  return new AppError('not-found', `No Global Beacon for Dataset:${id}`);
}
