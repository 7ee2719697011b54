import type { NewObjectCopy, ObjectCopyRow } from '../../../engine/catalog/object-copies.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { constantField, declareResource } from '../../http/resource.js';
import { id, jsonObject, nullable, nullableText, enumOf, text } from '../../http/json-schema.js';
import { timestampFields, userField, type WithUser } from '../shared/common-fields.js';
import type { JobPresenter } from '../jobs/job-presenter.js';
import { taskStatuses } from '../jobs/job-view.js';

/** The data that the views of copies show and their rows do not have. */
interface ObjectCopyContext extends WithUser {
  readonly origin: string;
}

/** A copy of objects (contract 6.9). */
export const objectCopy = declareResource<ObjectCopyRow, ObjectCopyContext, Partial<NewObjectCopy>>(
  {
    name: 'ObjectCopyTask',
    description: 'The work of copying a file, a folder or a vault; datasets are skipped.',
    fields: {
      class_name: constantField('ObjectCopyTask'),
      id: { type: id, example: 5107 },
      task_id: { type: nullable(id), example: 5108 },
      url: {
        type: text,
        example: 'http://localhost:7878/v2/object_copy_tasks/5107',
        show: (row, { origin }) => `${origin}/v2/object_copy_tasks/${row.id}`,
      },
      status: { type: enumOf(...taskStatuses), example: 'completed' },
      error_message: { type: nullableText, example: null },
      source_vault_id: {
        type: id,
        lookup: true,
        description: 'The vault that holds what is copied.',
        example: 12,
        create: 'required',
      },
      target_vault_id: {
        type: id,
        lookup: true,
        description: 'The vault that gets the copy; it may be the same.',
        example: 12,
        create: 'required',
      },
      source_object_id: {
        type: nullable(id),
        lookup: true,
        description: 'A file or a folder; null copies the whole vault.',
        example: 4811,
        create: 'optional',
      },
      target_object_id: {
        type: nullable(id),
        lookup: true,
        description: 'The folder that gets the copy; null copies into the root.',
        example: null,
        create: 'optional',
      },
      metadata: {
        type: jsonObject,
        description:
          '`progress`, and at the end the numbers of `files`, `folders` and `datasets_skipped`.',
        example: { progress: { percent: 100 }, files: 3, folders: 1, datasets_skipped: 0 },
      },
      user: userField,
      user_id: { type: id, example: 3 },
      ...timestampFields,
    },
  },
);

export const objectCopyOperations = declareOperations<'create' | 'list' | 'get'>(
  'objectCopies',
  'Objects',
  {
    create: {
      method: 'POST',
      paths: ['/v2/object_copy_tasks'],
      summary: 'Copies a file, a folder or a vault.',
      body: objectCopy.createSchema,
      answer: objectCopy.schema,
      status: 201,
    },
    list: {
      method: 'GET',
      paths: ['/v2/object_copy_tasks'],
      summary: 'Lists the copies that the user has asked for.',
      query: {
        id: 'One copy.',
        status: 'Status.',
        ...pagingParams,
      },
      answer: { listOf: objectCopy.schema },
    },
    get: {
      method: 'GET',
      paths: ['/v2/object_copy_tasks/:id'],
      summary: 'Returns a copy that the user has asked for.',
      answer: objectCopy.schema,
    },
  },
);

/** Returns the view of a copy. */
export async function objectCopyView(presenter: JobPresenter, row: ObjectCopyRow): Promise<object> {
  return objectCopy.view(row, {
    user: await presenter.loadUser(row.userId),
    origin: presenter.origin,
  });
}
