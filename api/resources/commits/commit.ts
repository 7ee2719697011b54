import type { CommitRow } from '../../../engine/catalog/commits.js';
import {
  constantField,
  declareResource,
  emptyField,
  type ResourceField,
} from '../../http/resource.js';
import {
  id,
  integer,
  nullable,
  nullableText,
  enumOf,
  text,
  type ValueType,
} from '../../http/json-schema.js';
import type { JobPresenter } from '../jobs/job-presenter.js';
import { jobFields, type JobContext } from '../jobs/job-view.js';

const newFieldsType: ValueType = {
  schema: {
    type: 'array',
    items: {
      type: 'object',
      properties: { name: { type: 'string' }, is_new: { type: 'boolean' } },
      required: ['name', 'is_new'],
    },
  },
};

/** The data that the views of commits show and their rows do not have. */
interface CommitContext extends JobContext {
  /** The commit that this rollback reverts; undefined for other commits. */
  readonly revertedCommit: CommitRow | undefined;
  /** The id of the rollback that reverts this commit, also if its entry was deleted; undefined if there is none. */
  readonly rollbackId: number | undefined;
  /** The rollback that reverts this commit; undefined if there is none or its entry was deleted. */
  readonly rollback: CommitRow | undefined;
}

/** The resource of a commit: one change of a dataset, which makes a version when it completes (contract 16). */
export const commit = declareResource<CommitRow, CommitContext>({
  name: 'DatasetCommit',
  description: 'A commit: one change of the records of a dataset.',
  fields: {
    class_name: constantField('DatasetCommit'),
    ...(jobFields as Readonly<Record<string, ResourceField<CommitRow, CommitContext>>>),
    url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_commits/5109',
      show: (row, { origin }) => `${origin}/v2/dataset_commits/${row.id}`,
    },
    title: { type: text, example: 'Import of family-17.vcf.gz' },
    description: { type: nullableText, example: null },
    mode: {
      type: enumOf('append', 'overwrite', 'upsert', 'delete', 'rollback'),
      example: 'append',
    },
    parent_job_model: { type: text, example: 'datasets.DatasetImport' },
    parent_job_id: { type: id, example: 5107 },
    parent_commit_id: {
      type: nullable(id),
      description: 'On a rollback: the commit that it took back.',
      example: null,
      show: ({ mode, parentJobId }) => (mode === 'rollback' ? parentJobId : null),
    },
    parent_commit_job_id: {
      type: nullable(id),
      description: 'On a rollback: the task of the commit that it took back.',
      example: null,
      show: (_, { revertedCommit }) => revertedCommit?.taskId ?? null,
    },
    rollback_commit_id: {
      type: nullable(id),
      description: 'The commit that took this one back.',
      example: null,
      show: (_, { rollbackId }) => rollbackId ?? null,
    },
    rollback_commit_job_id: {
      type: nullable(id),
      description: 'The task of the commit that took this one back.',
      example: null,
      show: (_, { rollback }) => rollback?.taskId ?? null,
    },
    records_total: {
      type: integer,
      description: 'Records of the dataset after the commit.',
      example: 1204,
    },
    records_modified: { type: integer, example: 1204 },
    records_added: { type: integer, example: 1204 },
    records_changed: { type: integer, example: 0 },
    records_removed: { type: integer, example: 0 },
    fields: {
      type: newFieldsType,
      description:
        'The fields of the records that it added or changed, with those that an upsert left as they were.',
      example: [{ name: 'gene', is_new: true }],
    },
    size: { type: integer, description: 'Bytes that it added.', example: 88_120 },
    md5: constantField(null),
    genome_build: { type: nullableText, example: 'GRCh38' },
    tags: emptyField([]),
  },
});

/** Returns the view of a commit, with the rollback that took it back, and of a rollback with the commit that it took back. */
export async function commitView(presenter: JobPresenter, row: CommitRow): Promise<object> {
  const { commits } = presenter.tables;
  const revertedCommit = row.mode === 'rollback' ? await commits.get(row.parentJobId) : undefined;
  const rollbackId = (await commits.rollbackOf(row.id))?.id;
  const rollback = rollbackId === undefined ? undefined : await commits.get(rollbackId);
  return commit.view(row, {
    ...(await presenter.loadJobContext(row)),
    revertedCommit,
    rollbackId,
    rollback,
  });
}
