import { BeaconsController } from './beacons.controller.js';
import { CommitsController } from './commits.controller.js';
import { DataController } from './data.controller.js';
import { DatasetsController } from './datasets.controller.js';
import { DownloadsController } from './downloads.controller.js';
import { ExportsController } from './exports.controller.js';
import { FieldsController } from './fields.controller.js';
import { GlobalBeaconsController } from './global-beacons.controller.js';
import { ImportsController } from './imports.controller.js';
import { ObjectsController } from './objects.controller.js';
import { RootController } from './root.controller.js';
import { SavedQueriesController } from './saved-queries.controller.js';
import { SearchController } from './search.controller.js';
import { TasksController } from './tasks.controller.js';
import { UploadsController } from './uploads.controller.js';
import { UsersController } from './users.controller.js';
import { VaultsController } from './vaults.controller.js';

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
