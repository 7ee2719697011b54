import type { CommitRow, ExportRow, ImportRow, JobRow, TaskKind, TaskRow } from './rows.js';
import { table, type TableShape } from './table.js';

const job = {
  id: 'plain',
  taskId: 'plain',
  datasetId: 'plain',
  userId: 'plain',
  status: 'plain',
  errorMessage: 'plain',
  metadata: 'json',
  timestamps: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

/** How imports are stored. */
export const imports = table<ImportRow>(
  'imports',
  {
    ...job,
    title: 'plain',
    description: 'plain',
    source: 'plain',
    objectId: 'plain',
    manifest: 'json',
    commitMode: 'plain',
    targetFields: 'json',
    entityParams: 'json',
    readerParams: 'json',
    validationParams: 'json',
    annotatorParams: 'json',
    includeErrors: 'flag',
    genomeBuild: 'plain',
    priority: 'plain',
    commitId: 'plain',
    isDryRun: 'flag',
    tags: 'json',
  },
  {},
);

/** How exports are stored. */
export const exports = table<ExportRow>(
  'exports',
  {
    ...job,
    format: 'plain',
    params: 'json',
    targetFields: 'json',
    annotatorParams: 'json',
    targetFullPath: 'plain',
    targetObjectId: 'plain',
    sendEmailOnCompletion: 'flag',
    priority: 'plain',
    documentsCount: 'plain',
    filename: 'plain',
    bytes: 'plain',
    logVersion: 'plain',
    expiresAt: 'plain',
  },
  {},
);

/** How commits are stored. */
export const commits = table<CommitRow>(
  'commits',
  {
    ...job,
    title: 'plain',
    description: 'plain',
    mode: 'plain',
    parentJobModel: 'plain',
    parentJobId: 'plain',
    recordsTotal: 'plain',
    recordsModified: 'plain',
    fields: 'json',
    size: 'plain',
    logVersion: 'plain',
    genomeBuild: 'plain',
  },
  {},
);

/** How tasks are stored. */
export const tasks = table<TaskRow>(
  'tasks',
  {
    id: 'plain',
    kind: 'plain',
    resourceId: 'plain',
    status: 'plain',
    description: 'plain',
    priority: 'plain',
    attempts: 'plain',
    parentId: 'plain',
    userId: 'plain',
    accountId: 'plain',
    targetObjectId: 'plain',
    sourceObjectId: 'plain',
    cancelRequested: 'flag',
    isPublishing: 'flag',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

/** The part that all jobs share, in each kind's table: enough to change a status without knowing the kind. */
export const jobs: Readonly<Record<TaskKind, TableShape<JobRow, object>>> = Object.freeze({
  import: table<JobRow>('imports', job, {}),
  export: table<JobRow>('exports', job, {}),
  commit: table<JobRow>('commits', job, {}),
});
