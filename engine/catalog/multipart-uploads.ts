import type { Database } from './database.js';
import { sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The upload of a version of a file in parts (contract 6.5). It is deleted with the file. */
export interface MultipartUploadRow {
  /** The id of the file. */
  readonly id: number;
  /** The number of the version of the file. */
  readonly revision: number;
  readonly uploadId: string;
  /** The size of the version in bytes. */
  readonly bytes: number;
  /** The size in bytes of every part but the last. */
  readonly partBytes: number;
  readonly isComplete: boolean;
  readonly createdAt: Millis;
  /** When the upload began, last received a part, or was completed, whichever was last. */
  readonly updatedAt: Millis;
}

const uploads = tableCodec<MultipartUploadRow>(
  'multipartUploads',
  {
    id: 'plain',
    revision: 'plain',
    uploadId: 'plain',
    bytes: 'plain',
    partBytes: 'plain',
    isComplete: 'flag',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

/** Adds uploads in parts. */
export const multipartUploadSchema: readonly string[] = [
  `CREATE TABLE multipart_uploads (
    id BIGINT NOT NULL PRIMARY KEY REFERENCES objects (id) ON DELETE CASCADE,
    upload_id TEXT NOT NULL UNIQUE,
    bytes BIGINT NOT NULL,
    part_bytes BIGINT NOT NULL,
    is_complete INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL)`,
  `CREATE INDEX multipart_uploads_updated_at ON multipart_uploads (updated_at)`,
];

/** Uploads in parts. */
export interface MultipartUploadTable {
  /** Returns the upload of a version; undefined if it has none. */
  get(objectId: number, revision: number): Promise<MultipartUploadRow | undefined>;
  /** The incomplete upload of a file with the greatest `revision`; undefined if no upload of the file is incomplete. */
  open(objectId: number): Promise<MultipartUploadRow | undefined>;
  byUploadId(uploadId: string): Promise<MultipartUploadRow | undefined>;
  create(
    upload: Pick<MultipartUploadRow, 'id' | 'revision' | 'uploadId' | 'bytes' | 'partBytes'>,
  ): Promise<void>;
  /** Records that a part has just arrived. */
  touch(upload: UploadKey): Promise<void>;
  complete(upload: UploadKey): Promise<void>;
  delete(upload: UploadKey): Promise<void>;
  /** The uploads to which nothing has been sent since this time. */
  idleSince(time: Millis): Promise<readonly MultipartUploadRow[]>;
  /** Deletes an upload if nothing has been sent to it since this time; returns whether it was deleted. */
  deleteIdle(upload: UploadKey, time: Millis): Promise<boolean>;
}

type UploadKey = Pick<MultipartUploadRow, 'id' | 'revision'>;

/** Returns access to the table of uploads in parts. */
export function multipartUploadTable(db: Database): MultipartUploadTable {
  const select = async (where: Sql): Promise<readonly MultipartUploadRow[]> => {
    const rows = await db.all(sql`SELECT ${uploads.columns} FROM multipart_uploads WHERE ${where} ORDER BY id, revision DESC`); // prettier-ignore
    return rows.map((row) => uploads.parse(row));
  };
  return {
    get: async (id, revision) => (await select(isSameUpload({ id, revision })))[0],
    open: async (id) => (await select(sql`id = ${id} AND is_complete = 0`))[0],
    byUploadId: async (uploadId) => (await select(sql`upload_id = ${uploadId}`))[0],
    create: async (upload) => {
      const now = Date.now();
      await db.run(
        uploads.insert({ ...upload, isComplete: false, createdAt: now, updatedAt: now }),
      );
    },
    touch: async (upload) => {
      await db.run(sql`UPDATE multipart_uploads SET updated_at = ${Date.now()} WHERE ${isSameUpload(upload)}`); // prettier-ignore
    },
    complete: async (upload) => {
      await db.run(sql`UPDATE multipart_uploads SET is_complete = 1, updated_at = ${Date.now()}
        WHERE ${isSameUpload(upload)}`);
    },
    delete: async (upload) => {
      await db.run(sql`DELETE FROM multipart_uploads WHERE ${isSameUpload(upload)}`);
    },
    idleSince: (time) => select(sql`updated_at < ${time}`),
    deleteIdle: async (upload, time) =>
      (await db.run(sql`DELETE FROM multipart_uploads WHERE ${isSameUpload(upload)} AND updated_at < ${time}`)) > 0, // prettier-ignore
  };
}

function isSameUpload({ id, revision }: UploadKey): Sql {
  return sql`id = ${id} AND revision = ${revision}`;
}
