import { jobListController } from '../jobs/job.controller.js';
import {
  restoreOperations,
  restoreTask,
  snapshotOperations,
  snapshotTask,
} from './archive-task.js';

/** Tasks that archive datasets. */
export class SnapshotsController extends jobListController({
  kind: 'snapshot',
  operations: snapshotOperations,
  table: ({ snapshots }) => snapshots,
  view: async (presenter, row) => snapshotTask.view(row, await presenter.loadJobContext(row)),
}) {}

/** Tasks that restore datasets from their archives. */
export class RestoresController extends jobListController({
  kind: 'restore',
  operations: restoreOperations,
  table: ({ restores }) => restores,
  view: async (presenter, row) => restoreTask.view(row, await presenter.loadJobContext(row)),
}) {}
