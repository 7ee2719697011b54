import { join } from 'node:path';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { ObjectCopyRow } from '../../../engine/catalog/object-copies.js';
import type { ObjectRow, ObjectType } from '../../../engine/catalog/object-row.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { linkFile, removeFile, syncFolder } from '../../../engine/core/files.js';
import { checkPermission } from '../permissions.js';
import type { PublishContext, PublicationOutcome } from '../job.js';
import type { CopiedObject, CopyParams, CopyResult } from './copy-types.js';

const objectsPerPage = 1000;
/** Maximum number of objects of a copy: all become visible in one transaction, which should take at most a few seconds. */
const maxCopiedObjects = 100_000;

/** Checks the permissions on both vaults, and lists the objects to copy. */
export async function prepareCopy(task: TaskRow, { catalog }: PublishContext): Promise<CopyParams> {
  const copy = await requireAuthorizedCopy(task, catalog);
  const copiedObjects: CopiedObject[] = [];
  let skippedCount = 0;
  const add = (row: ObjectRow): void => {
    if (row.objectType === 'dataset') skippedCount++;
    else copiedObjects.push(copiedObjectOf(row));
    if (copiedObjects.length > maxCopiedObjects)
      throw new AppError('budget', `a copy takes at most ${maxCopiedObjects} files and folders: copy the folders one by one`); // prettier-ignore
  };
  const { sourceObjectId, sourceVaultId } = copy;
  if (sourceObjectId !== null) {
    const root = await catalog.objects.get(sourceObjectId);
    if (root?.vaultId !== sourceVaultId) throw notFoundError();
    add(root);
    if (root.objectType === 'file') return { objects: copiedObjects, skipped: skippedCount };
  }
  const filter = sourceObjectId === null ? { vaultIds: [sourceVaultId] } : { ancestorId: sourceObjectId }; // prettier-ignore
  for (let offset = 0; ; offset += objectsPerPage) {
    const { rows } = await catalog.objects.list(
      { viewer: null, ...filter },
      { limit: objectsPerPage, offset },
    );
    for (const row of rows) add(row);
    if (rows.length < objectsPerPage) break;
  }
  // The list is ordered by path, so a folder precedes its contents.
  return { objects: copiedObjects, skipped: skippedCount };
}

function copiedObjectOf(row: ObjectRow): CopiedObject {
  const { id, parentId, objectType, filename, path, description, metadata, tags } = row;
  const { mimetype, size, md5, revision, documentsCount, target } = row;
  return { id, parentId, objectType, filename, path, description, metadata, tags, mimetype, size, md5, revision, documentsCount, target }; // prettier-ignore
}

/** Creates the copies of the files, folders and shortcuts, and completes the task, in one transaction. */
export async function publishCopy(
  task: TaskRow,
  { objects, skipped }: CopyResult,
  { catalog, data, attempt, now }: PublishContext,
): Promise<PublicationOutcome> {
  const copy = await requireAuthorizedCopy(task, catalog);
  const scratch = data.taskScratch(task.id, attempt);
  const linkedPaths: string[] = [];
  const link = async (from: string, to: string): Promise<void> => {
    linkedPaths.push(to);
    await linkFile(from, to);
  };
  const completedCopy = catalog.transaction(async (tx) => {
    const parents = new Map<number, number>();
    for (const one of objects) {
      const parent = one.parentId === null ? undefined : parents.get(one.parentId);
      const createdObject = await tx.objects.create({
        vaultId: copy.targetVaultId,
        parentId: parent ?? copy.targetObjectId,
        objectType: one.objectType,
        filename: one.filename,
        userId: copy.userId,
        description: one.description,
        metadata: one.metadata,
        tags: one.tags,
        mimetype: one.mimetype,
        size: one.size,
        md5: one.md5,
        ...(one.target && { target: one.target }),
      });
      parents.set(one.id, createdObject.id);
      if (one.objectType !== 'file' || one.revision === 0) continue;
      await link(join(scratch, String(one.id)), data.object(createdObject.id, 1));
      const { size, md5, documentsCount } = one;
      await tx.fileVersions.publish(createdObject, { revision: 1, userId: copy.userId, size, md5, documentsCount }); // prettier-ignore
    }
    if (linkedPaths.length > 0) await syncFolder(data.objects);
    crashpoint('copy.linked');
    const count = (type: ObjectType): number => objects.filter(({ objectType }) => objectType === type).length; // prettier-ignore
    const files = count('file');
    const counts = { files, folders: count('folder'), shortcuts: count('shortcut'), datasets_skipped: skipped }; // prettier-ignore
    const progress = { percent: 100, processed_records: files, total_records: files };
    await tx.tasks.complete(task.id, { metadata: { progress, ...counts }, now: now() });
  });
  await completedCopy.catch(async (error: unknown) => {
    // A file that cannot be removed now is removed by the sweep at start.
    for (const blob of linkedPaths) await removeFile(blob).catch(() => undefined);
    throw error;
  });
  return 'published';
}

/**
 * Returns the copy that a task makes. Throws if the user of the task has lost the permission to read the source or to write the target, or
 * if the target folder is gone.
 */
async function requireAuthorizedCopy(task: TaskRow, tables: Tables): Promise<ObjectCopyRow> {
  const copy = await tables.objectCopies.get(task.resourceId);
  if (copy === undefined) throw notFoundError();
  await checkPermission(tables, task.userId, 'vault', copy.sourceVaultId, 'read');
  await checkPermission(tables, task.userId, 'vault', copy.targetVaultId, 'write');
  if (copy.targetObjectId === null) return copy;
  const folder = await tables.objects.get(copy.targetObjectId);
  if (folder?.objectType === 'folder' && folder.vaultId === copy.targetVaultId) return copy;
  throw new AppError('conflict', 'the folder that gets the copy is gone');
}
