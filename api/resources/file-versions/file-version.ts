import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { constant, declareResource } from '../../http/resource.js';
import {
  bodySchema,
  boolean,
  id,
  integer,
  nullable,
  nullableText,
  oneOf,
} from '../../http/schema.js';
import { createdAndUpdated, userField, type WithUser } from '../common-fields.js';
import { download } from '../objects/objects.operations.js';

/** The data that the view of a version shows and its row does not have. */
export interface FileVersionContext extends WithUser {
  /** Whether this version is the current content of the file. */
  readonly isCurrent: boolean;
}

/** A version of a file (contract 6.8). */
export const fileVersion = declareResource<FileVersionRow, FileVersionContext>({
  name: 'FileVersion',
  description: 'A version of a file.',
  fields: {
    class_name: constant('FileVersion'),
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
      type: oneOf('unverified', 'available'),
      description: 'available once its bytes have arrived.',
      example: 'available',
    },
    size: { type: nullable(integer), description: 'Bytes.', example: 48_112_901 },
    md5: { type: nullableText, example: '9e107d9d372bb6826bd81d3542a419d6' },
    mimetype: { type: nullableText, example: 'application/gzip' },
    user: userField,
    user_id: { type: id, description: 'Who created it.', example: 3 },
    ...createdAndUpdated,
  },
}); // prettier-ignore

/** The body of a request that chooses the current version of a file. */
export const restoredVersion = bodySchema('FileVersionRestore', 'Names a version of a file.', {
  version_id: { type: integer, description: 'The `id` of the version.', example: 1, required: true },
}); // prettier-ignore

const onePath: [string] = ['/v2/objects/:id/versions/:version'];

/** The HTTP operations on versions of files. */
export const fileVersionOperations = declareOperations('fileVersions', 'Objects', {
  list: {
    method: 'GET',
    paths: ['/v2/objects/:id/versions'],
    summary: 'Lists the versions of a file, the newest first.',
    query: { show_deleted: 'true: list deleted versions, too.', ...pagingParams },
    answer: { listOf: fileVersion.schema },
  },
  download: {
    method: 'GET',
    paths: onePath,
    summary: 'Returns a signed address of the bytes of a version.',
    query: { redirect: 'true: answer 302 to the address.' },
    answer: download,
  },
  undelete: {
    method: 'PUT',
    paths: onePath,
    summary: 'Brings a deleted version back.',
    answer: fileVersion.schema,
  },
  delete: {
    method: 'DELETE',
    paths: onePath,
    summary: 'Deletes a version; it can be brought back for some days.',
    answer: fileVersion.schema,
  },
  restore: {
    method: 'POST',
    paths: ['/v2/objects/:id/versions/current'],
    summary: 'Adds a version with the content of an earlier one, which is current then.',
    body: restoredVersion,
    answer: fileVersion.schema,
  },
});
