import { Controller } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/request.js';
import { globalBeacon } from './global-beacon.js';

const paths: [string] = ['/v2/objects/:id/beacon'];

/** The operations on global beacons. */
export const globalBeaconOperations = declareOperations('globalBeacons', 'Search', {
  get: {
    method: 'GET',
    paths,
    summary: 'Returns the global beacon of a dataset; 404 without one.',
    answer: globalBeacon.schema,
  },
  enable: {
    method: 'POST',
    paths,
    summary: 'Includes a dataset in searches by entity. Repeating it changes nothing.',
    answer: globalBeacon.schema,
  },
  disable: {
    method: 'DELETE',
    paths,
    summary: 'Excludes a dataset from searches by entity.',
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
    if (row === undefined) throw none(id);
    return globalBeacon.view(row, { isDeleted: false });
  }

  @Operation(globalBeaconOperations.enable)
  @Access('write', 'dataset')
  async enable(@Resource() { id }: DatasetRow, @CurrentCaller() { user }: Caller): Promise<object> {
    const row = await this.context.catalog.globalBeacons.enable(id, user.id);
    return globalBeacon.view(row, { isDeleted: false });
  }

  @Operation(globalBeaconOperations.disable)
  @Access('write', 'dataset')
  async disable(@Resource() { id }: DatasetRow): Promise<object> {
    const row = await this.context.catalog.globalBeacons.disable(id);
    if (row === undefined) throw none(id);
    return globalBeacon.view(row, { isDeleted: true });
  }
}

function none(id: number): AppError {
  return new AppError('not-found', `No Global Beacon for Dataset:${id}`);
}
