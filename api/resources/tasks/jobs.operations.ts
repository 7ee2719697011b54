import {
  declareOperations,
  pagingParams,
  type OperationDeclaration,
  type OperationRow,
} from '../../http/operation-row.js';
import { withReadOnlyKeys, type NamedSchema } from '../../http/json-schema.js';
import { commit } from '../commits/commit.js';
import { rollbackBody, rollbackCheck } from '../commits/rollback-check.js';
import { datasetPaths } from '../datasets/datasets.operations.js';
import { exportProvenance, exportResource, signedDownload } from '../exports/export.js';
import { importChangeBody, importResource } from '../imports/import.js';
import { createdMigrationSchema, migrationResource } from '../migrations/migration.js';
import { cancelBody } from './job-view.js';
import { task } from './task.js';

interface JobNames {
  /** The name of the kind of job in paths: `imports` in `/v2/dataset_imports`. */
  readonly name: string;
  readonly tag: string;
  readonly noun: string;
  readonly answer: NamedSchema;
  readonly body: NamedSchema;
  /** A note that is added to the summary of PUT and PATCH. */
  readonly note?: string;
  /** The summary of the operation that lists the jobs of one dataset. */
  readonly ofDataset?: string;
}

/** The query parameters of the lists of one dataset. */
const ownFilterParams = {
  id: 'One or several ids, separated by commas.',
  status: 'One or several statuses, separated by commas.',
  user_id: 'The user who started it.',
  user: { sameAs: 'user_id' },
  ...pagingParams,
};

/** The query parameters of the account-wide lists. */
export const jobFilterParams = {
  ...ownFilterParams,
  dataset_id: { description: 'One or several datasets, separated by commas.', example: '4812' },
  vault_id: { description: 'One or several vaults, separated by commas.', example: '12' },
};

/** The operations that imports, exports, migrations and commits have in common. */
export type JobAction = 'list' | 'ofDataset' | 'get' | 'put' | 'patch';

/** Declares the common operations of a kind of job, and the operations `more`. */
function jobOperations<K extends string>(
  { name, tag, noun, answer, body, note = '', ofDataset }: JobNames,
  more: Readonly<Record<K, OperationDeclaration>>,
): Readonly<Record<JobAction | K, OperationRow>> {
  const path = `/v2/dataset_${name}`;
  const change = withReadOnlyKeys(body, answer);
  const common: Readonly<Record<JobAction, OperationDeclaration>> = {
    list: {
      method: 'GET',
      paths: [path],
      summary: `Lists the ${name} of all datasets that the user may read.`,
      query: jobFilterParams,
      answer: { listOf: answer },
    },
    ofDataset: {
      method: 'GET',
      paths: datasetPaths(`/${name}`),
      summary: ofDataset ?? `Lists the ${name} of a dataset.`,
      query: ownFilterParams,
      answer: { listOf: answer },
    },
    get: { method: 'GET', paths: [`${path}/:id`], summary: `Returns ${noun}.`, answer },
    put: {
      method: 'PUT',
      // The specification spells the path of cancellation with `datasets_`.
      paths: [`${path}/:id`, `${path}/:id/cancel`, `/v2/datasets_${name}/:id/cancel`],
      summary: `Cancels ${noun}${note}.`,
      body: change,
      answer,
    },
    patch: {
      method: 'PATCH',
      paths: [`${path}/:id`],
      summary: `Cancels ${noun}${note}.`,
      body: change,
      answer,
    },
  };
  return declareOperations(name, tag, { ...common, ...more });
}

const redirectParam = {
  redirect: {
    description: 'false or empty: answer the address as JSON instead of a redirect.',
    example: 'false',
  },
};

/** The HTTP operations on imports. */
export const importOperations = jobOperations(
  {
    name: 'imports',
    tag: 'Imports',
    noun: 'an import',
    answer: importResource.schema,
    body: importChangeBody,
    note: ', or changes its description, metadata and tags',
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_imports'],
      summary: 'Imports an uploaded file, the files of a manifest, or records of the request.',
      body: importResource.createSchema,
      status: 201,
      answer: importResource.schema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_imports/:id'],
      summary:
        'Deletes an import, canceling it first if it runs. Imported records stay. Discouraged: nothing tells where they came from any more.',
      answer: importResource.schema,
    },
    rejected: {
      method: 'GET',
      paths: ['/v2/dataset_imports/:id/rejected'],
      summary:
        'Redirects (302) to the records that an import rejected, with the reasons; 404 without any.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

/** The HTTP operations on exports. */
export const exportOperations = jobOperations(
  {
    name: 'exports',
    tag: 'Exports',
    noun: 'an export',
    answer: exportResource.schema,
    body: cancelBody,
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_exports'],
      summary: 'Writes the records that a query finds to a file.',
      body: exportResource.createSchema,
      status: 201,
      answer: exportResource.schema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_exports/:id'],
      summary: 'Deletes an export and its file.',
      answer: exportResource.schema,
    },
    provenance: {
      method: 'GET',
      paths: ['/v2/dataset_exports/:id/provenance'],
      summary:
        'Returns where the records of a completed export come from, and the checksum of its file.',
      answer: exportProvenance,
    },
    download: {
      method: 'GET',
      paths: ['/v2/dataset_exports/:id/download'],
      summary: 'Redirects (302) to the file of an export.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

/** The HTTP operations on migrations. */
export const migrationOperations = jobOperations(
  {
    name: 'migrations',
    tag: 'Migrations',
    noun: 'a migration',
    answer: migrationResource.schema,
    body: cancelBody,
    ofDataset: 'Lists the migrations whose source is the dataset.',
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_migrations'],
      summary: 'Copies the records that a query finds to another dataset, or deletes them there.',
      body: migrationResource.createSchema,
      status: 201,
      answer: createdMigrationSchema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_migrations/:id'],
      summary:
        'Deletes a migration, canceling it first if it runs. Its records stay. Discouraged: nothing tells where they came from any more.',
      answer: migrationResource.schema,
    },
    rejected: {
      method: 'GET',
      paths: ['/v2/dataset_migrations/:id/rejected'],
      summary:
        'Redirects (302) to the records that a migration rejected, with the reasons; 404 without any.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

const rollbackParams = {
  mode: { description: 'records or strict; records unless given.', example: 'records' },
};

/** The HTTP operations on commits. */
export const commitOperations = jobOperations(
  {
    name: 'commits',
    tag: 'Commits',
    noun: 'a commit',
    answer: commit.schema,
    body: cancelBody,
    note: '; 400 once it has completed',
  },
  {
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_commits/:id'],
      summary:
        'Deletes the entry of a commit; its changes stay. Discouraged: it cannot be rolled back any more, and nothing tells where its records came from.',
      answer: commit.schema,
    },
    download: {
      method: 'GET',
      paths: ['/v2/dataset_commits/:id/download'],
      summary:
        'Redirects (302) to the records of a commit, in JSON lines: those that it wrote, or those that it removed. Waits until the file is written.',
      query: redirectParam,
      answer: signedDownload,
    },
    checkRollback: {
      method: 'GET',
      paths: ['/v2/dataset_commits/:id/rollback'],
      summary:
        'Returns whether a commit can be rolled back, and which later commits stand in the way.',
      query: rollbackParams,
      answer: rollbackCheck,
    },
    rollback: {
      method: 'POST',
      paths: ['/v2/dataset_commits/:id/rollback'],
      summary:
        'Rolls a commit back by a new commit: records that it added go, records that it removed come back. 400 with the check if that is blocked.',
      query: rollbackParams,
      body: rollbackBody,
      status: 201,
      answer: commit.schema,
    },
  },
);

const taskPath: [string] = ['/v2/tasks/:id'];

/** The HTTP operations on tasks. */
export const taskOperations = declareOperations('tasks', 'Tasks', {
  list: {
    method: 'GET',
    paths: ['/v2/tasks'],
    summary: 'Lists the tasks of the account that the user may read, newest first.',
    query: {
      id: 'One or several ids, separated by commas.',
      status: 'One or several statuses, separated by commas.',
      task_type: 'For example datasets.DatasetImport.',
      class: {
        description:
          'One or several of interactive, standard and background, separated by commas; unless given, all with task_type, and otherwise interactive and standard. Only administrators see background tasks.',
        example: 'interactive,standard',
      },
      target_object_id: {
        description: 'The dataset that is written; one or several, separated by commas.',
        example: '4812',
      },
      source_object_id: {
        description: 'The object that is read; one or several, separated by commas.',
        example: '4811',
      },
      parent_task_id: {
        description: 'Tasks that this task, or one of several separated by commas, created.',
        example: '5100',
      },
      user_id: 'The user who started it.',
      user: { sameAs: 'user_id' },
      ordering: {
        description: 'created_at, updated_at, priority or status; `-` in front for descending.',
        example: '-created_at',
      },
      ...pagingParams,
    },
    answer: { listOf: task.schema },
  },
  get: {
    method: 'GET',
    paths: taskPath,
    summary:
      'Returns a task with the import, export, migration, commit, snapshot or restore that it runs.',
    answer: task.schema,
  },
  put: {
    method: 'PUT',
    paths: taskPath,
    summary: 'Cancels a task.',
    body: withReadOnlyKeys(cancelBody, task.schema),
    answer: task.schema,
  },
  patch: {
    method: 'PATCH',
    paths: taskPath,
    summary: 'Cancels a task.',
    body: withReadOnlyKeys(cancelBody, task.schema),
    answer: task.schema,
  },
});
