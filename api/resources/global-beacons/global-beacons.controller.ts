import { Controller } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import { Access, Subject, Who } from '../../http/access.js';
import { Operation } from '../../http/operation.js';
import { Parts } from '../../http/app-context.js';
import type { Caller } from '../../http/request.js';
import { globalBeaconView } from '../views.js';

/** Which datasets searches by entity look into (contract 14.4). */
@Controller()
export class GlobalBeaconsController {
  constructor(private readonly parts: Parts) {}

  @Operation('globalBeacons.get')
  @Access('read', 'dataset')
  async get(@Subject() { id }: DatasetRow): Promise<object> {
    const row = (await this.parts.catalog.globalBeacons.of([id])).get(id);
    if (row === undefined) throw none(id);
    return globalBeaconView(row);
  }

  @Operation('globalBeacons.enable')
  @Access('write', 'dataset')
  async enable(@Subject() { id }: DatasetRow, @Who() { user }: Caller): Promise<object> {
    return globalBeaconView(await this.parts.catalog.globalBeacons.enable(id, user.id));
  }

  @Operation('globalBeacons.disable')
  @Access('write', 'dataset')
  async disable(@Subject() { id }: DatasetRow): Promise<object> {
    const row = await this.parts.catalog.globalBeacons.disable(id);
    if (row === undefined) throw none(id);
    return globalBeaconView(row, true);
  }
}

function none(id: number): AppError {
  return new AppError('not-found', `No Global Beacon for Dataset:${id}`);
}
