import { jobs } from '../../../scheduler/jobs/index.js';
import type { Job } from '../../../scheduler/jobs/job.js';
import { isActiveStatus, type TaskRow } from '../../../engine/catalog/task-row.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  boolean,
  id,
  integer,
  jsonObject,
  nullable,
  enumOf,
  reference,
  strings,
  text,
} from '../../http/json-schema.js';
import { timestampFields, ownerFields, type WithUser } from '../shared/common-fields.js';
import { objectSummary } from '../shared/object.js';
import { vaultSummary } from '../shared/vault.js';
import { taskStatuses } from '../jobs/job-view.js';

/**
 * The resources that a task works on, as they are shown with the task; null for those that have been deleted or that the caller may not
 * read.
 */
interface TaskContext extends WithUser {
  readonly targetObject: object | null;
  readonly targetVault: object | null;
  readonly sourceObject: object | null;
  readonly sourceVault: object | null;
  /** Whether the task is that of a commit that can be rolled back, unless later commits prevent it. */
  readonly offersRollback: boolean;
  /** The view of the job that the task executes; undefined where the answer leaves it out. */
  readonly taskObject?: object | null;
  readonly origin: string;
}

type TaskType = Pick<Job, 'type' | 'displayName' | 'standalone' | 'requiresIdleTarget'>;

/** The declaration of each kind of task; `type` has the form `<anything>.<class name>` (contract 15.1). */
export const taskTypeByKind: ReadonlyMap<string, TaskType> = new Map<string, TaskType>([
  ...jobs.map((job) => [job.kind, job] as const),
  ['commit', { type: 'datasets.DatasetCommit', displayName: 'Dataset Commit' }] as const,
]);

const objectType = nullable(reference('ObjectSummary'));
const vaultType = nullable(reference('VaultSummary'));

/** A task (contract 15.1). */
export const task = declareResource<TaskRow, TaskContext>({
  name: 'Task',
  description:
    'A task of the queue, with the job that it executes: an import or an export, for example.',
  fields: {
    class_name: constantField('ECSTask'),
    id: { type: id, example: 5108 },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/tasks/5108',
      show: (row, { origin }) => `${origin}/v2/tasks/${row.id}`,
    },
    task_type: {
      type: text,
      example: 'datasets.DatasetImport',
      show: ({ kind }) => taskTypeByKind.get(kind)?.type ?? kind,
    },
    task_display_name: {
      type: text,
      example: 'Dataset Import',
      show: ({ kind }) => taskTypeByKind.get(kind)?.displayName ?? kind,
    },
    task_id: {
      type: id,
      property: 'resourceId',
      description: 'The import, export, commit, snapshot or restore that the task runs.',
      example: 5107,
    },
    status: { type: enumOf(...taskStatuses), example: 'running' },
    description: { type: text, example: 'Validate and transform uploaded file' },
    priority: { type: integer, description: 'A lower number runs first.', example: 0 },
    parent_id: {
      type: nullable(id),
      description: 'The task that created it.',
      example: null,
    },
    available_actions: {
      type: strings,
      example: ['cancel'],
      show: ({ status }, { offersRollback }) =>
        isActiveStatus(status) ? ['cancel'] : offersRollback ? ['rollback'] : [],
    },
    target_object: {
      type: objectType,
      description: 'The dataset that is written.',
      example: objectSummary.schema.example,
      show: (_, { targetObject }) => targetObject,
    },
    target_vault: {
      type: vaultType,
      example: vaultSummary.schema.example,
      show: (_, { targetVault }) => targetVault,
    },
    source_object: {
      type: objectType,
      description: 'The object that is read.',
      example: null,
      show: (_, { sourceObject }) => sourceObject,
    },
    source_vault: {
      type: vaultType,
      example: null,
      show: (_, { sourceVault }) => sourceVault,
    },
    require_idle_source: constantField(false),
    require_idle_target: {
      type: boolean,
      description: 'It begins when no other task works on its target.',
      example: false,
      show: ({ kind }) => taskTypeByKind.get(kind)?.requiresIdleTarget === true,
    },
    schedule_info: constantField(null),
    cron_schedule: constantField(null),
    ...ownerFields,
    ...timestampFields,
    task_object: {
      type: nullable(jsonObject),
      description: 'What the task runs; only in the answer for a single task.',
      example: null,
      show: (_, { taskObject }) => taskObject,
      optional: true,
    },
  },
});
