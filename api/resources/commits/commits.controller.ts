import { jobController } from '../tasks/job.controller.js';
import { commitOperations } from '../tasks/jobs.operations.js';

/** Commits: what imports have changed (contract 16). */
export class CommitsController extends jobController({
  kind: 'commit',
  cancelPermission: 'read',
  operations: commitOperations,
  table: ({ commits }) => commits,
  view: (presenter, row) => presenter.ofCommit(row),
}) {}
