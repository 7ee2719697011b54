import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { TaskStatus } from '../../../engine/catalog/task-row.js';
import type { ImportReport } from '../../../scheduler/jobs/import/import-report.js';
import type { ResourceField } from '../../http/resource.js';
import {
  bodySchema,
  id,
  integer,
  jsonObject,
  nullable,
  nullableText,
  enumOf,
  withReader,
  reference,
  type ValueType,
} from '../../http/json-schema.js';
import { timestampFields, userField, type WithUser } from '../shared/common-fields.js';
import { dataset } from '../shared/dataset.js';

/** The data that the views of jobs on datasets, such as imports and commits, show and their rows do not have. */
export interface JobContext extends WithUser {
  /** The view of the dataset; null once it has been deleted (contract 15.5). */
  readonly dataset: object | null;
  readonly vaultId: number | null;
  readonly origin: string;
}

/** The statuses of tasks and jobs (contract 15.3). */
export const taskStatuses: readonly TaskStatus[] = [
  'pending',
  'queued',
  'running',
  'completed',
  'failed',
  'canceled',
];

const timestampsType: ValueType = {
  schema: {
    type: 'array',
    items: { type: 'array', items: { type: 'string' }, minItems: 3, maxItems: 3 },
  },
};

/** The key by which a request cancels a job or task. */
export const cancelProperty = {
  status: {
    type: withReader(enumOf('canceled'), (form, key) => {
      const status = form.text(key);
      if (status === undefined || status === 'canceled') return status;
      return form.fail(key, 'The status can only be set to "canceled".');
    }),
    description: 'canceled: cancels it.',
    example: 'canceled',
  },
};

/** The body of a request that cancels a job or task; if the path ends in `/cancel`, it needs no status. */
export const cancelBody = bodySchema('Cancel', 'Cancels the work.', cancelProperty);

/** The priority of a task: a lower number runs first. */
export const priorityType = withReader(integer, (form, key) => {
  const number = form.integer(key);
  if (number === undefined || Math.abs(number) <= 1_000_000) return number;
  return form.fail(key, 'Must be between -1,000,000 and 1,000,000.');
});

/** The fields of imports, exports, migrations, commits and archive tasks; migrations do not have `dataset` and `dataset_id`. */
export const jobFields: Readonly<Record<string, ResourceField<JobRow, JobContext>>> = {
  id: { type: id, example: 5107 },
  task_id: { type: nullable(id), example: 5108 },
  status: { type: enumOf(...taskStatuses), example: 'completed' },
  error_message: { type: nullableText, example: null },
  dataset: {
    type: nullable(reference('Dataset')),
    description: 'null once the dataset has been deleted.',
    example: dataset.schema.example,
    show: (_, context) => context.dataset,
  },
  dataset_id: { type: id, example: 4812 },
  vault_id: { type: nullable(id), example: 12, show: (_, { vaultId }) => vaultId },
  metadata: {
    type: jsonObject,
    description: '`progress` and, for imports, `validation`.',
    example: { progress: { processed_records: 1204 } },
  },
  timestamps: {
    type: timestampsType,
    description: 'The changes of status: previous status, new status, time.',
    example: [
      ['queued', 'running', '2026-03-02T09:15:01.000Z'],
      ['running', 'completed', '2026-03-02T09:20:41.120Z'],
    ],
    show: (row) => row.timestamps.map(([from, to, at]) => [from, to, new Date(at).toISOString()]),
  },
  user: userField,
  user_id: { type: id, example: 3 },
  ...timestampFields,
};

/** Returns the field of imports and migrations that has the address of their rejected records. */
export function rejectedUrlField(
  path: 'dataset_imports' | 'dataset_migrations',
): ResourceField<JobRow, JobContext> {
  return {
    type: nullableText,
    description: 'Where the rejected records can be downloaded; null if there are none.',
    example: null,
    show: ({ id, metadata }, { origin }) => {
      const receipt = metadata['receipt'] as Pick<ImportReport, 'rejected_file'> | undefined;
      return receipt?.rejected_file ? `${origin}/v2/${path}/${id}/rejected` : null;
    },
  };
}
