import type { ObjectRow } from '../../../engine/catalog/object-row.js';

/** The objects to copy; parents precede their children. */
export interface CopyParams {
  readonly objects: readonly CopiedObject[];
  /** Number of datasets among the objects, which are not copied. */
  readonly skipped: number;
}

/** An object that is copied, as it was when the task began. */
export type CopiedObject = Pick<
  ObjectRow,
  | 'id'
  | 'parentId'
  | 'objectType'
  | 'filename'
  | 'path'
  | 'description'
  | 'metadata'
  | 'tags'
  | 'mimetype'
  | 'size'
  | 'md5'
  | 'revision'
  | 'documentsCount'
  | 'target'
>;

/** The result of a copy; the scratch folder holds the content of each copied file that has one, under the id of its object. */
export type CopyResult = CopyParams;
