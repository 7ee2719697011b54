import { BeaconsController } from './beacons/beacons.controller.js';
import { CommitsController } from './commits/commits.controller.js';
import { DataController } from './records/records.controller.js';
import { DatasetsController } from './datasets/datasets.controller.js';
import { DownloadsController } from './downloads/downloads.controller.js';
import { ExportsController } from './exports/exports.controller.js';
import { FieldsController } from './fields/fields.controller.js';
import { GlobalBeaconsController } from './global-beacons/global-beacons.controller.js';
import { ImportsController } from './imports/imports.controller.js';
import { ObjectsController } from './objects/objects.controller.js';
import { RootController } from './service/service.controller.js';
import { SavedQueriesController } from './saved-queries/saved-queries.controller.js';
import { SearchController } from './search/search.controller.js';
import { TasksController } from './tasks/tasks.controller.js';
import { UploadsController } from './uploads/uploads.controller.js';
import { UsersController } from './users/users.controller.js';
import { VaultsController } from './vaults/vaults.controller.js';

/** Every controller of the interface. */
export const controllers = [
  RootController,
  UsersController,
  VaultsController,
  ObjectsController,
  UploadsController,
  DownloadsController,
  DatasetsController,
  DataController,
  SearchController,
  GlobalBeaconsController,
  FieldsController,
  ImportsController,
  ExportsController,
  CommitsController,
  TasksController,
  SavedQueriesController,
  BeaconsController,
] as const;
