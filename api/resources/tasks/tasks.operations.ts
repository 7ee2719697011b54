import { withReadOnlyKeys } from '../../http/json-schema.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { cancelBody } from '../jobs/job-view.js';
import { task } from './task.js';

const taskPath: [string] = ['/v2/tasks/:id'];

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
