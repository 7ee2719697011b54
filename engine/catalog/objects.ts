import { invalidError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { collectDeletion, type Deletion } from './deletion.js';
import {
  setVersionMediaType,
  fileVersionTable,
  insertVersion,
  keepsVersions,
  type FileVersionRow,
} from './file-versions.js';
import { pathSegments, normalizePath } from './full-path.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextLargeId } from './ids.js';
import type { ListedRows, Page } from './list-page.js';
import { checkFilename, foldName, numberedName } from './object-names.js';
import { listObjects, type ObjectFilter } from './object-list.js';
import {
  isBelow,
  objects,
  type ObjectRow,
  type ObjectType,
  type ShortcutTarget,
} from './object-row.js';
import { sql, type Sql } from './sql.js';
import { encodeIds } from './table-codec.js';
import { normalizeTags, indexObjectTags } from './tags.js';

/** An object to create. A dataset is created by `datasets.create`, which also adds its row. */
export interface NewObject {
  readonly vaultId: number;
  readonly parentId: number | null;
  readonly objectType: ObjectType;
  /** The name; if it is taken in the folder, a number is added to it (`numberedName`). */
  readonly filename: string;
  readonly userId: number;
  readonly description?: string | null;
  readonly metadata?: JsonObject;
  readonly tags?: readonly string[];
  readonly mimetype?: string | null;
  readonly size?: number | null;
  readonly md5?: string | null;
  /** The target, for a shortcut. */
  readonly target?: ShortcutTarget;
}

/** A change of `filename` or `parentId` also changes the paths of all descendants. */
export type ObjectPatch = Partial<
  Pick<ObjectRow, 'filename' | 'parentId' | 'description' | 'metadata' | 'tags' | 'mimetype'>
>;

/** A file whose content is announced: a new file, or an existing file that gets another version. */
interface AnnouncedFile {
  readonly object: ObjectRow;
  readonly version: FileVersionRow;
}

/** Numbers of objects below an object; `children` and `folders` count only those directly in it. */
interface DescendantCounts {
  readonly children: number;
  readonly folders: number;
  readonly descendants: number;
}

/** Objects: the tree of folders, files, datasets and shortcuts of each vault. Paths are unique in a vault, ignoring case. */
interface ObjectTable {
  get(id: number): Promise<ObjectRow | undefined>;
  byPath(vaultId: number, path: string): Promise<ObjectRow | undefined>;
  /** Lists the objects, ordered by vault name and then by path. */
  list(filter: ObjectFilter, page: Page): Promise<ListedRows<ObjectRow>>;
  create(object: NewObject): Promise<ObjectRow>;
  /** Creates a file. In a vault that keeps versions, a file of the same name gets another version instead. */
  createFile(file: Omit<NewObject, 'objectType'>): Promise<AnnouncedFile>;
  /**
   * Returns the folder at a path, which is created with its parents if it is missing; null for the root. Throws if a component is not a
   * folder.
   */
  ensureFolder(vaultId: number, path: string, userId: number): Promise<ObjectRow | null>;
  update(id: number, patch: ObjectPatch): Promise<ObjectRow | undefined>;
  /** Stores the number of records in a version of a file, if it is the current version. This does not count as a change of the file. */
  setDocumentsCount(id: number, revision: number, documents: number): Promise<void>;
  /** Deletes the object and its descendants. */
  delete(id: number): Promise<Deletion>;
  counts(ids: readonly number[]): Promise<ReadonlyMap<number, DescendantCounts>>;
}

/** Returns access to the table of objects. */
export function objectTable(db: Database): ObjectTable {
  const objectWhere = async (where: Sql): Promise<ObjectRow | undefined> => {
    const row = await db.get(sql`SELECT ${objects.columns} FROM objects WHERE ${where}`);
    return row && objects.parse(row);
  };
  const cache = new RowCache<number, ObjectRow>(db);
  const get = (id: number): Promise<ObjectRow | undefined> =>
    cache.get(id, () => objectWhere(sql`id = ${id}`));
  const byPath = (vaultId: number, path: string): Promise<ObjectRow | undefined> =>
    objectWhere(sql`vault_id = ${vaultId} AND path_key = ${foldName(normalizePath(path))}`);

  return {
    get,
    byPath,
    list: (filter, page) => listObjects(db, filter, page),
    create: (object) => db.atomic((tx) => insertObject(tx, object)),
    createFile: (file) => db.atomic((tx) => announceFile(tx, file)),
    ensureFolder: (vaultId, path, userId) =>
      db.atomic(async (tx) => {
        let parent: ObjectRow | null = null;
        for (const filename of pathSegments(path)) {
          parent = await ensureChildFolder(tx, { vaultId, parent, filename, userId });
        }
        return parent;
      }),
    update: (id, patch) =>
      db.atomic(async (tx) => {
        const before = await objectTable(tx).get(id);
        if (before === undefined) return undefined;
        const { filename, parentId, ...rest } = patch;
        await relocateObject(tx, before, filename ?? before.filename, parentId);
        const tags = rest.tags && normalizeTags(rest.tags);
        const change = objects.update(id, {
          ...rest,
          ...(tags && { tags }),
          updatedAt: Date.now(),
        });
        if (change !== undefined) await tx.run(change);
        if (tags !== undefined) await indexObjectTags(tx, id, tags);
        if (rest.mimetype !== undefined) await setVersionMediaType(tx, before, rest.mimetype);
        return objectTable(tx).get(id);
      }),
    setDocumentsCount: async (id, revision, documents) => {
      await db.run(sql`UPDATE objects SET documents_count = ${documents}
        WHERE id = ${id} AND revision = ${revision} AND object_type = 'file'`);
    },
    delete: (id) =>
      db.atomic(async (tx) => {
        const deletion = await collectDeletion(tx, sql`(objects.id = ${id} OR ${isBelow(id)})`);
        await tx.run(sql`DELETE FROM objects WHERE id = ${id}`);
        return deletion;
      }),
    counts: async (ids) => {
      const counts = new Map<number, DescendantCounts>();
      for (const id of ids) counts.set(id, await countDescendants(db, id));
      return counts;
    },
  };
}

/** Inserts an object, inside an open transaction. */
export async function insertObject(tx: Database, object: NewObject): Promise<ObjectRow> {
  checkFilename('filename', object.filename);
  const parent = await findParentFolder(tx, object.vaultId, object.parentId);
  const isFile = object.objectType === 'file';
  const filename = await findFreeFilename(tx, { ...object, parent, isFile, exceptId: null });
  const now = Date.now();
  const row: ObjectRow = {
    id: await nextLargeId(tx),
    vaultId: object.vaultId,
    parentId: object.parentId,
    objectType: object.objectType,
    filename,
    ...childLocation(parent, filename),
    description: object.description ?? null,
    metadata: object.metadata ?? {},
    tags: normalizeTags(object.tags ?? []),
    mimetype: object.mimetype ?? null,
    size: isFile ? (object.size ?? null) : null,
    md5: isFile ? (object.md5 ?? null) : null,
    revision: 0,
    lastRevision: isFile ? 1 : 0,
    availability: initialAvailability[object.objectType],
    documentsCount: object.objectType === 'dataset' ? 0 : null,
    target: object.target ?? null,
    userId: object.userId,
    createdAt: now,
    updatedAt: now,
  };
  await tx.run(objects.insert({ ...row, pathKey: foldName(row.path) }));
  await indexObjectTags(tx, row.id, row.tags);
  if (isFile) await insertVersion(tx, { ...row, objectId: row.id, revision: 1 });
  await recordCreatedId(tx, row.id);
  return row;
}

const initialAvailability = {
  file: 'unverified',
  dataset: 'available',
  folder: null,
  shortcut: null,
};

/**
 * Choice: a request that adds a version to a file keeps the file's description, metadata and tags if it gives none or empty ones, because
 * clients always send these keys.
 */
async function announceFile(
  tx: Database,
  file: Omit<NewObject, 'objectType'>,
): Promise<AnnouncedFile> {
  const { vaultId, parentId, filename, userId, mimetype = null, size = null, md5 = null } = file;
  const parent = await findParentFolder(tx, vaultId, parentId);
  const path = `${parent?.path ?? ''}/${filename}`;
  const existing = await objectTable(tx).byPath(vaultId, path);
  if (existing?.objectType !== 'file' || !(await keepsVersions(tx, vaultId))) {
    const object = await insertObject(tx, { ...file, objectType: 'file' });
    return { object, version: (await fileVersionTable(tx).get(object.id, 1))! };
  }
  const { description, metadata, tags = [] } = file;
  const patch: ObjectPatch = {
    ...(description != null && description !== '' && { description }),
    ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
    ...(tags.length > 0 && { tags }),
  };
  const isChanged = Object.keys(patch).length > 0;
  if (isChanged) await objectTable(tx).update(existing.id, patch);
  const version = await fileVersionTable(tx).announce(existing, { userId, mimetype, size, md5 });
  await recordCreatedId(tx, existing.id);
  return { object: (await objectTable(tx).get(existing.id))!, version };
}

async function ensureChildFolder(
  tx: Database,
  child: {
    readonly vaultId: number;
    readonly parent: ObjectRow | null;
    readonly filename: string;
    readonly userId: number;
  },
): Promise<ObjectRow> {
  const { parent, ...names } = child;
  const existing = await objectTable(tx).byPath(
    child.vaultId,
    `${parent?.path ?? ''}/${child.filename}`,
  );
  if (existing === undefined) {
    return insertObject(tx, { ...names, parentId: parent?.id ?? null, objectType: 'folder' });
  }
  if (existing.objectType === 'folder') return existing;
  throw invalidError('path', `${existing.path} is a ${existing.objectType}, not a folder.`);
}

async function findParentFolder(
  tx: Database,
  vaultId: number,
  parentId: number | null,
): Promise<ObjectRow | null> {
  if (parentId === null) return null;
  const parent = await objectTable(tx).get(parentId);
  if (parent === undefined || parent.vaultId !== vaultId || parent.objectType !== 'folder') {
    throw invalidError('parent_object_id', 'The parent must be a folder in the same vault.');
  }
  return parent;
}

function childLocation(
  parent: ObjectRow | null,
  filename: string,
): Pick<ObjectRow, 'path' | 'depth' | 'ancestorIds'> {
  return parent === null
    ? { path: `/${filename}`, depth: 0, ancestorIds: [] }
    : {
        path: `${parent.path}/${filename}`,
        depth: parent.depth + 1,
        ancestorIds: [...parent.ancestorIds, parent.id],
      };
}

/** Returns the name if no object in the folder has it, else the first free name with a number (contract 6.4). */
async function findFreeFilename(
  tx: Database,
  wanted: {
    readonly vaultId: number;
    readonly parent: ObjectRow | null;
    readonly filename: string;
    readonly isFile: boolean;
    readonly exceptId: number | null;
  },
): Promise<string> {
  for (let number = 0; ; number++) {
    const name =
      number === 0 ? wanted.filename : numberedName(wanted.filename, number, wanted.isFile);
    const objectAtPath = await objectTable(tx).byPath(
      wanted.vaultId,
      `${wanted.parent?.path ?? ''}/${name}`,
    );
    if (objectAtPath === undefined || objectAtPath.id === wanted.exceptId) return name;
  }
}

/**
 * Renames or moves an object. One statement updates path, depth and ancestors of all descendants by replacing the prefixes of
 * the stored strings.
 * Choice: a name that is taken gets a number, as on creation.
 */
async function relocateObject(
  tx: Database,
  object: ObjectRow,
  filename: string,
  parentId: number | null = object.parentId,
): Promise<void> {
  if (filename === object.filename && parentId === object.parentId) return;
  checkFilename('filename', filename);
  const { id, vaultId } = object;
  const parent = await findParentFolder(tx, vaultId, parentId);
  if (parent !== null && (parent.id === id || parent.ancestorIds.includes(id))) {
    throw invalidError('parent_object_id', 'A folder cannot be moved into itself.');
  }
  const isFile = object.objectType === 'file';
  const name = await findFreeFilename(tx, { vaultId, parent, filename, isFile, exceptId: id });
  const to = childLocation(parent, name);
  await tx.run(
    objects.update(id, { filename: name, parentId, ...to, pathKey: foldName(to.path) })!,
  );
  const oldIds = encodeIds([...object.ancestorIds, id]);
  const newIds = encodeIds([...to.ancestorIds, id]);
  await tx.run(sql`UPDATE objects SET
      path = ${to.path} || SUBSTR(path, LENGTH(${object.path}) + 1),
      path_key = ${foldName(to.path)} || SUBSTR(path_key, LENGTH(${foldName(object.path)}) + 1),
      ancestor_ids = ${newIds} || SUBSTR(ancestor_ids, LENGTH(${oldIds}) + 1),
      depth = depth + ${to.depth - object.depth}
    WHERE vault_id = ${vaultId}
      AND path_key > ${`${foldName(object.path)}/`} AND path_key < ${`${foldName(object.path)}0`}`);
}

async function countDescendants(db: Database, id: number): Promise<DescendantCounts> {
  const direct = await db.get(sql`SELECT COUNT(*) AS children,
      COALESCE(SUM(CASE WHEN object_type = 'folder' THEN 1 ELSE 0 END), 0) AS folders
    FROM objects WHERE parent_id = ${id}`);
  const children = direct!['children'] as number;
  const folders = direct!['folders'] as number;
  if (folders === 0) return { children, folders, descendants: children };
  const descendantCount = await db.get(
    sql`SELECT COUNT(*) AS descendants FROM objects WHERE ${isBelow(id)}`,
  );
  return { children, folders, descendants: descendantCount!['descendants'] as number };
}
