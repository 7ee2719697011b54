/**
 * Adds shortcuts, and versions of files. The tables `objects` and `multipart_uploads` are replaced, because SQLite cannot change the checks
 * and keys of a table. The content of each existing file, or the upload for which the file was created, becomes its only version.
 */
export const fileVersionSchema: readonly string[] = [
  `CREATE TABLE next_objects (
    id BIGINT NOT NULL PRIMARY KEY,
    vault_id BIGINT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
    parent_id BIGINT REFERENCES objects (id) ON DELETE CASCADE,
    ancestor_ids TEXT NOT NULL,
    object_type TEXT NOT NULL CHECK (object_type IN ('file', 'folder', 'dataset', 'shortcut')),
    filename TEXT NOT NULL,
    path TEXT NOT NULL,
    path_key TEXT NOT NULL,
    depth INTEGER NOT NULL,
    description TEXT,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    mimetype TEXT,
    size BIGINT,
    md5 TEXT,
    revision INTEGER NOT NULL,
    availability TEXT,
    documents_count BIGINT,
    user_id BIGINT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_revision INTEGER NOT NULL,
    target TEXT,
    UNIQUE (vault_id, path_key))`,
  `INSERT INTO next_objects (id, vault_id, parent_id, ancestor_ids, object_type, filename, path, path_key, depth, description, metadata,
      tags, mimetype, size, md5, revision, availability, documents_count, user_id, created_at, updated_at, last_revision, target)
    SELECT id, vault_id, parent_id, ancestor_ids, object_type, filename, path, path_key, depth, description, metadata,
      tags, mimetype, size, md5, revision, availability, documents_count, user_id, created_at, updated_at,
      CASE WHEN object_type <> 'file' THEN 0 WHEN revision = 0 THEN 1 ELSE revision END, NULL FROM objects`,
  `DROP TABLE objects`,
  `ALTER TABLE next_objects RENAME TO objects`,
  `CREATE INDEX objects_parent ON objects (parent_id)`,

  `CREATE TABLE file_versions (
    object_id BIGINT NOT NULL REFERENCES objects (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    user_id BIGINT NOT NULL REFERENCES users (id),
    mimetype TEXT,
    size BIGINT,
    md5 TEXT,
    availability TEXT NOT NULL CHECK (availability IN ('unverified', 'available')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    PRIMARY KEY (object_id, revision))`,
  `CREATE INDEX file_versions_deleted_at ON file_versions (deleted_at)`,
  `INSERT INTO file_versions (object_id, revision, user_id, mimetype, size, md5, availability, created_at, updated_at, deleted_at)
    SELECT id, last_revision, user_id, mimetype, size, md5, CASE WHEN revision = 0 THEN 'unverified' ELSE 'available' END,
      created_at, updated_at, NULL
    FROM objects WHERE object_type = 'file'`,

  `CREATE TABLE next_uploads (
    id BIGINT NOT NULL REFERENCES objects (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    upload_id TEXT NOT NULL UNIQUE,
    bytes BIGINT NOT NULL,
    part_bytes BIGINT NOT NULL,
    is_complete INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id, revision))`,
  `INSERT INTO next_uploads (id, revision, upload_id, bytes, part_bytes, is_complete, created_at, updated_at)
    SELECT id, 1, upload_id, bytes, part_bytes, is_complete, created_at, updated_at FROM multipart_uploads`,
  `DROP TABLE multipart_uploads`,
  `ALTER TABLE next_uploads RENAME TO multipart_uploads`,
  `CREATE INDEX multipart_uploads_updated_at ON multipart_uploads (updated_at)`,

  `CREATE TABLE import_files (
    import_id BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    object_id BIGINT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (import_id, object_id))`,
  `CREATE INDEX import_files_object ON import_files (object_id, revision)`,
];
