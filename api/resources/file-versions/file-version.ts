import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  bodySchema,
  boolean,
  id,
  integer,
  nullable,
  nullableText,
  enumOf,
  withReader,
} from '../../http/json-schema.js';
import { timestampFields, userField, type WithUser } from '../shared/common-fields.js';
import { downloadParams, downloadSchema } from '../objects/objects.operations.js';

/** The data that the view of a version shows and its row does not have. */
interface FileVersionContext extends WithUser {
  /** Whether this version is the current content of the file. */
  readonly isCurrent: boolean;
}

/** A version of a file (contract 6.8). */
export const fileVersion = declareResource<FileVersionRow, FileVersionContext>({
  name: 'FileVersion',
  description: 'A version of a file.',
  fields: {
    class_name: constantField('FileVersion'),
    id: { type: integer, property: 'revision', description: 'Counts the versions of the file.', example: 2 },
    object_id: { type: id, example: 4811 },
    is_current: {
      type: boolean,
      description: 'Whether it is what downloads, queries and imports of the file read.',
      example: true,
      show: (_, { isCurrent }) => isCurrent,
    },
    is_deleted: { type: boolean, example: false, show: ({ deletedAt }) => deletedAt !== null },
    availability: {
      type: enumOf('unverified', 'available'),
      description: 'available once its bytes have arrived.',
      example: 'available',
    },
    size: { type: nullable(integer), description: 'Size of the file in bytes.', example: 48_112_901 },
    md5: { type: nullableText, example: '9e107d9d372bb6826bd81d3542a419d6' },
    mimetype: { type: nullableText, example: 'application/gzip' },
    user: userField,
    user_id: { type: id, description: 'Who created it.', example: 3 },
    ...timestampFields,
  },
}); // prettier-ignore

/** The body of a request that chooses the current version of a file. */
export const restoreVersionBody = bodySchema('FileVersionRestore', 'Names a version of a file.', {
  version_id: { type: withReader(integer, (form, key) => form.raw(key)), description: 'The `id` of the version.', example: 1, required: true },
}); // prettier-ignore

const versionPath: [string] = ['/v2/objects/:id/versions/:version'];

export const fileVersionOperations = declareOperations('fileVersions', 'Objects', {
  list: {
    method: 'GET',
    paths: ['/v2/objects/:id/versions'],
    summary: 'Lists the versions of a file, the newest first.',
    query: {
      show_deleted: { description: 'true: list deleted versions, too.', example: 'true' },
      ...pagingParams,
    },
    answer: { listOf: fileVersion.schema },
  },
  download: {
    method: 'GET',
    paths: versionPath,
    summary: 'Returns a signed address of the bytes of a version.',
    query: downloadParams,
    answer: downloadSchema,
  },
  undelete: {
    method: 'PUT',
    paths: versionPath,
    summary: 'Brings a deleted version back.',
    answer: fileVersion.schema,
  },
  delete: {
    method: 'DELETE',
    paths: versionPath,
    summary: 'Deletes a version; it can be brought back for some days.',
    answer: fileVersion.schema,
  },
  restore: {
    method: 'POST',
    paths: ['/v2/objects/:id/versions/current'],
    summary: 'Adds a version with the content of an earlier one, which is current then.',
    body: restoreVersionBody,
    answer: fileVersion.schema,
  },
});
