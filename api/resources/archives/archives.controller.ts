import { jobListController } from '../tasks/job.controller.js';
import { restoreOperations, snapshotOperations } from './archive-task.js';

/** Tasks that archive datasets. */
export class SnapshotsController extends jobListController({
  kind: 'snapshot',
  operations: snapshotOperations,
  table: ({ snapshots }) => snapshots,
  view: (presenter, row) => presenter.snapshotView(row),
}) {}

/** Tasks that restore datasets from their archives. */
export class RestoresController extends jobListController({
  kind: 'restore',
  operations: restoreOperations,
  table: ({ restores }) => restores,
  view: (presenter, row) => presenter.restoreView(row),
}) {}
