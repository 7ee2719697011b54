import type { Database } from './database.js';
import { sql } from './sql.js';
import { table, type Millis } from './table.js';

/** The upload of a file in parts (contract 6.5). A file has at most one; it ends with the file. */
export interface MultipartUploadRow {
  /** The id of the file. */
  readonly id: number;
  readonly uploadId: string;
  /** Size of the file. */
  readonly bytes: number;
  /** Size of every part but the last. */
  readonly partBytes: number;
  readonly isComplete: boolean;
  readonly createdAt: Millis;
  /** When the last part arrived. */
  readonly updatedAt: Millis;
}

const uploads = table<MultipartUploadRow>(
  'multipartUploads',
  {
    id: 'plain',
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
  /** The upload of a file. */
  get(objectId: number): Promise<MultipartUploadRow | undefined>;
  byUploadId(uploadId: string): Promise<MultipartUploadRow | undefined>;
  create(
    upload: Pick<MultipartUploadRow, 'id' | 'uploadId' | 'bytes' | 'partBytes'>,
  ): Promise<void>;
  /** Notes that a part has arrived now. */
  touch(objectId: number): Promise<void>;
  complete(objectId: number): Promise<void>;
  delete(objectId: number): Promise<void>;
  /** The files to whose uploads nothing has been sent since a time. */
  idleSince(time: Millis): Promise<readonly number[]>;
}

/** Statements over uploads in parts. */
export function multipartUploadTable(db: Database): MultipartUploadTable {
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${uploads.columns} FROM multipart_uploads WHERE id = ${id}`); // prettier-ignore
      return row && uploads.parse(row);
    },
    byUploadId: async (uploadId) => {
      const row = await db.get(sql`SELECT ${uploads.columns} FROM multipart_uploads WHERE upload_id = ${uploadId}`); // prettier-ignore
      return row && uploads.parse(row);
    },
    create: async (upload) => {
      const now = Date.now();
      await db.run(
        uploads.insert({ ...upload, isComplete: false, createdAt: now, updatedAt: now }),
      );
    },
    touch: async (id) => {
      await db.run(uploads.update(id, { updatedAt: Date.now() })!);
    },
    complete: async (id) => {
      await db.run(uploads.update(id, { isComplete: true, updatedAt: Date.now() })!);
    },
    delete: async (id) => {
      await db.run(sql`DELETE FROM multipart_uploads WHERE id = ${id}`);
    },
    idleSince: async (time) => {
      const rows = await db.all(sql`SELECT id FROM multipart_uploads WHERE updated_at < ${time} ORDER BY id`); // prettier-ignore
      return rows.map((row) => row['id'] as number);
    },
  };
}
