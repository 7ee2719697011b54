import { Controller } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { Operation } from '../../http/operation.js';
import { globalBeaconOperations } from './global-beacons.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/request.js';
import { globalBeacon } from './global-beacon.js';

/** Which datasets searches by entity look into (contract 14.4). */
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
