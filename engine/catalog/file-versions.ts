import { AppError } from '../core/errors.js';
import type { Database } from './database.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { objects, type ObjectRow } from './object-row.js';
import { isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/**
 * A version of a file: a content that an upload, an export, a copy, or the restoration of an earlier version gave it. Versions of a file
 * are numbered from 1.
 */
export interface FileVersionRow {
  readonly objectId: number;
  /** The number of the version. The content is stored under this number, which no later version of the file gets again. */
  readonly revision: number;
  readonly userId: number;
  readonly mimetype: string | null;
  /** The size in bytes; until the content has arrived, the announced size. */
  readonly size: number | null;
  /** The MD5 in hexadecimal; until the content has arrived, the announced MD5. */
  readonly md5: string | null;
  /** Whether the content has arrived: `unverified` until then. */
  readonly availability: 'unverified' | 'available';
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
  /** When the version was deleted; null if it was not. The content of a deleted version is kept for some days. */
  readonly deletedAt: Millis | null;
}

/** A version to announce; its content follows. */
type NewFileVersion = Pick<FileVersionRow, 'userId' | 'mimetype' | 'size' | 'md5'>;

/** The stored content of a version. */
interface FileContent {
  readonly revision: number;
  readonly userId: number;
  readonly size: number | null;
  readonly md5: string | null;
  readonly mimetype?: string | null;
  /** The number of records in the file, if known. */
  readonly documentsCount?: number | null;
}

interface FileVersionTable {
  get(objectId: number, revision: number): Promise<FileVersionRow | undefined>;
  /** Lists the versions, newest first; deleted versions only on request. */
  list(filter: FileVersionFilter, page: Page): Promise<ListedRows<FileVersionRow>>;
  /** The number of versions of each file, without deleted ones. */
  counts(objectIds: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** All versions of all files whose content is stored, including deleted versions. */
  stored(): Promise<readonly FileVersionRow[]>;
  /** Announces a new version of a file, whose content follows. */
  announce(object: ObjectRow, version: NewFileVersion): Promise<FileVersionRow>;
  /**
   * Returns the number under which a new content of a file is stored: that of the version for which it was announced, or a new number if
   * that version already has its content or was removed. Undefined if the version is marked as deleted or never existed.
   */
  numberFor(object: ObjectRow, revision: number): Promise<number | undefined>;
  /**
   * Makes a stored content a version of the file; it becomes the current version unless a newer version that is not deleted has content.
   * In a vault that keeps no versions, returns the number of the version that it replaces, whose content is to be removed; undefined if it
   * replaces none, as always with `addsVersion`, or if an import still reads the replaced version.
   */
  publish(
    object: ObjectRow,
    content: FileContent,
    addsVersion?: boolean,
  ): Promise<number | undefined>;
  /**
   * Deletes a version, or restores a deleted one. Throws `conflict` for deleting the last version of a file, or the last one with content.
   */
  setDeleted(version: FileVersionRow, isDeleted: boolean): Promise<FileVersionRow>;
  /** Deletes the rows of versions that were deleted before this time, except versions that an import still reads; returns the rows. */
  forgetDeleted(before: Millis): Promise<readonly FileVersionRow[]>;
}

interface FileVersionFilter {
  readonly objectId: number;
  readonly showDeleted: boolean;
}

const versions = tableCodec<FileVersionRow>(
  'fileVersions',
  {
    objectId: 'plain',
    revision: 'plain',
    userId: 'plain',
    mimetype: 'plain',
    size: 'plain',
    md5: 'plain',
    availability: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
    deletedAt: 'plain',
  },
  {},
);

/**
 * Returns access to the table of versions of files.
 * Choice: the current version of a file is the newest version that has its content and is not deleted. Therefore, deleting the current
 * version makes the preceding one current, and restoring it makes it current again; of versions uploaded at the same time, the one that was
 * begun last becomes current.
 */
export function fileVersionTable(db: Database): FileVersionTable {
  const select = (where: Sql): Promise<readonly FileVersionRow[]> => selectFileVersions(db, where);
  const get = async (objectId: number, revision: number): Promise<FileVersionRow | undefined> =>
    (await select(isSameVersion({ objectId, revision })))[0];
  return {
    get,
    list: ({ objectId, showDeleted }, page) => {
      const where = sql`object_id = ${objectId} AND (deleted_at IS NULL OR ${showDeleted} = 1)`;
      const orderBy = sql`revision DESC`;
      return listPage(db, versions, { from: sql`file_versions`, where, orderBy }, page);
    },
    counts: async (objectIds) => {
      const rows = await db.all(sql`SELECT object_id, COUNT(*) AS versions FROM file_versions
        WHERE deleted_at IS NULL AND ${isOneOf(sql`object_id`, objectIds)} GROUP BY object_id`);
      return new Map(rows.map((row) => [row['object_id'] as number, row['versions'] as number]));
    },
    stored: () => select(sql`availability = 'available'`),
    announce: (object, version) =>
      db.atomic(async (tx) => {
        const revision = object.lastRevision + 1;
        await tx.run(objects.update(object.id, { lastRevision: revision })!);
        return insertVersion(tx, { ...version, objectId: object.id, revision });
      }),
    numberFor: async (object, revision) => {
      const version = await get(object.id, revision);
      if (revision > object.lastRevision || (version?.deletedAt ?? null) !== null) return undefined;
      return version?.availability === 'unverified' ? revision : object.lastRevision + 1;
    },
    publish: (object, content, addsVersion = false) =>
      db.atomic(async (tx) => {
        await storeContent(tx, object, content);
        await updateCurrentVersion(tx, object.id, content.documentsCount ?? null);
        const before = object.revision;
        if (addsVersion || before === 0 || before > content.revision) return undefined;
        if (await keepsVersions(tx, object.vaultId)) return undefined;
        return (await replaceVersion(tx, object.id, before)) ? before : undefined;
      }),
    setDeleted: (version, isDeleted) =>
      db.atomic(async (tx) => {
        const { objectId, revision } = version;
        const now = Date.now();
        const deletedAt = isDeleted ? (version.deletedAt ?? now) : null;
        await tx.run(sql`UPDATE file_versions SET deleted_at = ${deletedAt}, updated_at = ${now}
          WHERE ${isSameVersion(version)}`);
        if (isDeleted) await requireContent(tx, version);
        await updateCurrentVersion(tx, objectId, null);
        return (await fileVersionTable(tx).get(objectId, revision))!;
      }),
    forgetDeleted: (before) =>
      db.atomic(async (tx) => {
        const unusedVersion = sql`deleted_at < ${before} AND NOT ${isReadByImport}`;
        const forgottenVersions = await selectFileVersions(tx, unusedVersion);
        if (forgottenVersions.length > 0)
          await tx.run(sql`DELETE FROM file_versions WHERE ${unusedVersion}`);
        return forgottenVersions;
      }),
  };
}

/** Inserts a version whose content is still to arrive. Requires an open transaction. */
export async function insertVersion(
  tx: Database,
  version: NewFileVersion & Pick<FileVersionRow, 'objectId' | 'revision'>,
): Promise<FileVersionRow> {
  const now = Date.now();
  const row: FileVersionRow = {
    ...version,
    availability: 'unverified',
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  await tx.run(versions.insert(row));
  return row;
}

/** Sets the media type of the current version of a file; if no version has content yet, that of the first version. */
export async function setVersionMediaType(
  tx: Database,
  { id, revision }: ObjectRow,
  mimetype: string | null,
): Promise<void> {
  const shownVersion = { objectId: id, revision: Math.max(revision, 1) };
  await tx.run(
    sql`UPDATE file_versions SET mimetype = ${mimetype} WHERE ${isSameVersion(shownVersion)}`,
  );
}

/**
 * Whether a vault keeps the version that a new content of a file replaces.
 * Choice: `versioning: suspended` acts like `disabled`: existing versions of files stay, and uploads add none.
 */
export async function keepsVersions(db: Database, vaultId: number): Promise<boolean> {
  const row = await db.get(sql`SELECT versioning FROM vaults WHERE id = ${vaultId}`);
  return row?.['versioning'] === 'enabled';
}

/** The versions that satisfy a condition, by file, the newest version first. */
async function selectFileVersions(db: Database, where: Sql): Promise<readonly FileVersionRow[]> {
  const rows = await db.all(sql`SELECT ${versions.columns} FROM file_versions WHERE ${where} ORDER BY object_id, revision DESC`); // prettier-ignore
  return rows.map((row) => versions.parse(row));
}

/** True for a version that an unfinished import reads. */
const isReadByImport = sql`EXISTS (SELECT 1 FROM import_files JOIN imports ON imports.id = import_files.import_id
  WHERE import_files.object_id = file_versions.object_id AND import_files.revision = file_versions.revision
    AND imports.status IN ('pending', 'queued', 'running'))`;

function isSameVersion({ objectId, revision }: Pick<FileVersionRow, 'objectId' | 'revision'>): Sql {
  return sql`object_id = ${objectId} AND revision = ${revision}`;
}

async function storeContent(tx: Database, object: ObjectRow, content: FileContent): Promise<void> {
  const { revision, userId, size, md5, mimetype = object.mimetype } = content;
  const version = { objectId: object.id, revision };
  if ((await fileVersionTable(tx).get(object.id, revision)) === undefined)
    await insertVersion(tx, { ...version, userId, mimetype, size, md5 });
  await tx.run(sql`UPDATE file_versions
    SET availability = 'available', size = ${size}, md5 = ${md5}, updated_at = ${Date.now()}
    WHERE ${isSameVersion(version)}`);
  if (revision > object.lastRevision)
    await tx.run(objects.update(object.id, { lastRevision: revision })!);
}

const isReadableVersion = sql`availability = 'available' AND deleted_at IS NULL`;

/** Sets the content of the object to that of the newest version of the file that has its content and is not deleted. */
async function updateCurrentVersion(
  tx: Database,
  objectId: number,
  documentsCount: number | null,
): Promise<void> {
  const [row] = await tx.all(sql`SELECT ${versions.columns} FROM file_versions
    WHERE object_id = ${objectId} AND ${isReadableVersion} ORDER BY revision DESC LIMIT 1`);
  if (row === undefined) return;
  const { revision, size, md5, mimetype } = versions.parse(row);
  const change = { revision, size, md5, ...(mimetype !== null && { mimetype }) };
  const [before] = await tx.all(sql`SELECT revision FROM objects WHERE id = ${objectId}`);
  if (before?.['revision'] === revision) return;
  const updatedAt = Date.now();
  await tx.run(objects.update(objectId, { ...change, availability: 'available', documentsCount, updatedAt })!); // prettier-ignore
}

/**
 * Removes the version that a new content replaces; returns whether its content may be removed, too.
 * Choice: in a vault that keeps no versions, a replaced content stays as a deleted version as long as an import that was created with it is
 * waiting or running.
 */
async function replaceVersion(tx: Database, objectId: number, revision: number): Promise<boolean> {
  const version = { objectId, revision };
  const removedCount = await tx.run(
    sql`DELETE FROM file_versions WHERE ${isSameVersion(version)} AND NOT ${isReadByImport}`,
  );
  if (removedCount > 0) return true;
  const now = Date.now();
  await tx.run(sql`UPDATE file_versions SET deleted_at = ${now}, updated_at = ${now} WHERE ${isSameVersion(version)}`); // prettier-ignore
  return false;
}

async function requireContent(tx: Database, { objectId, revision }: FileVersionRow): Promise<void> {
  const rowsLeft = await tx.get(sql`SELECT COUNT(*) AS versions,
      COALESCE(SUM(availability = 'available'), 0) AS stored
    FROM file_versions WHERE object_id = ${objectId} AND deleted_at IS NULL`);
  const fileRow = await tx.get(sql`SELECT revision FROM objects WHERE id = ${objectId}`);
  const hasContent = fileRow?.['revision'] !== 0;
  if ((rowsLeft!['versions'] as number) > 0 && (!hasContent || (rowsLeft!['stored'] as number) > 0))
    return;
  throw new AppError(
    'conflict',
    `Version ${revision} is the last ${hasContent ? 'with content ' : ''}of the file: delete the file instead.`,
  );
}
