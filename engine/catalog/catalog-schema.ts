/*
 * The statements of most migrations; others are in files whose names end in `-schema.ts` and in files of resources. A statement never
 * changes once it has been released. The SQL is portable between SQLite and PostgreSQL: ids and times (milliseconds since 1970) are BIGINT,
 * booleans SMALLINT (in one table INTEGER) 0 or 1, JSON is TEXT; only triggers (index-schema.ts) and the JSON function of a view
 * (`commitVersionSchema`) are SQLite's. Columns that end in `_key` hold case-folded names (object-names.ts), which compare by code point;
 * PostgreSQL would need COLLATE "C".
 */

const statusColumn = `TEXT NOT NULL CHECK (status IN
  ('pending', 'queued', 'running', 'completed', 'failed', 'canceled'))`;

/** The columns that imports, exports, migrations, commits, snapshots and restores share. */
const jobColumns = `
  id BIGINT NOT NULL PRIMARY KEY,
  task_id BIGINT REFERENCES tasks (id) ON DELETE SET NULL,
  dataset_id BIGINT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
  user_id BIGINT NOT NULL REFERENCES users (id),
  status ${statusColumn},
  error_message TEXT,
  metadata TEXT NOT NULL,
  timestamps TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL`;

/** The tables of the first release. */
export const firstSchema: readonly string[] = [
  `CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)`,
  `INSERT INTO counters (name, value) VALUES
    ('account', 0), ('user', 0), ('token', 0), ('vault', 0), ('field', 0), ('large', 100000000000000)`,

  `CREATE TABLE accounts (
    id BIGINT NOT NULL PRIMARY KEY,
    domain TEXT NOT NULL,
    domain_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL)`,

  `CREATE TABLE users (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('member', 'admin', 'primary_owner')),
    is_active SMALLINT NOT NULL,
    created_at BIGINT NOT NULL)`,

  `CREATE TABLE tokens (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'read write')),
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT)`,
  `CREATE INDEX tokens_user ON tokens (user_id)`,

  `CREATE TABLE vaults (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT,
    vault_type TEXT NOT NULL CHECK (vault_type IN ('user', 'general')),
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    default_storage_class TEXT,
    is_public SMALLINT NOT NULL,
    versioning TEXT NOT NULL CHECK (versioning IN ('disabled', 'enabled', 'suspended')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (account_id, name_key))`,
  `CREATE INDEX vaults_user ON vaults (user_id)`,
  `CREATE TABLE vault_tags (
    vault_id BIGINT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (vault_id, tag))`,
  `CREATE TABLE vault_permissions (
    vault_id BIGINT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    level SMALLINT NOT NULL CHECK (level IN (1, 2, 3)),
    PRIMARY KEY (vault_id, user_id))`,
  `CREATE INDEX vault_permissions_user ON vault_permissions (user_id)`,

  `CREATE TABLE objects (
    id BIGINT NOT NULL PRIMARY KEY,
    vault_id BIGINT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
    parent_id BIGINT REFERENCES objects (id) ON DELETE CASCADE,
    ancestor_ids TEXT NOT NULL,
    object_type TEXT NOT NULL CHECK (object_type IN ('file', 'folder', 'dataset')),
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
    UNIQUE (vault_id, path_key))`,
  `CREATE INDEX objects_parent ON objects (parent_id)`,
  `CREATE TABLE object_tags (
    object_id BIGINT NOT NULL REFERENCES objects (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (object_id, tag))`,

  // Deleted datasets whose files have not been removed yet; if the process is killed before it has removed them, the next start does.
  `CREATE TABLE dropped_datasets (
    id BIGINT NOT NULL PRIMARY KEY,
    dropped_at BIGINT NOT NULL)`,
  `CREATE TABLE datasets (
    id BIGINT NOT NULL PRIMARY KEY REFERENCES objects (id) ON DELETE CASCADE,
    capacity TEXT NOT NULL,
    storage_class TEXT NOT NULL,
    availability TEXT NOT NULL,
    documents_count BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    genome_builds TEXT NOT NULL,
    log_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL)`,

  `CREATE TABLE fields (
    id BIGINT NOT NULL PRIMARY KEY,
    dataset_id BIGINT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    data_type TEXT NOT NULL,
    is_list SMALLINT,
    entity_type TEXT,
    expression TEXT,
    is_hidden SMALLINT NOT NULL,
    is_read_only SMALLINT NOT NULL,
    is_valid SMALLINT NOT NULL,
    ordering INTEGER,
    depends_on TEXT NOT NULL,
    url_template TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (dataset_id, path))`,

  `CREATE TABLE tasks (
    id BIGINT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    resource_id BIGINT NOT NULL,
    status ${statusColumn},
    description TEXT NOT NULL,
    priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    parent_id BIGINT REFERENCES tasks (id) ON DELETE SET NULL,
    user_id BIGINT NOT NULL REFERENCES users (id),
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    target_object_id BIGINT REFERENCES objects (id) ON DELETE CASCADE,
    source_object_id BIGINT REFERENCES objects (id) ON DELETE CASCADE,
    cancel_requested SMALLINT NOT NULL,
    is_publishing SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (kind, resource_id))`,
  `CREATE INDEX tasks_queue ON tasks (status, priority, id)`,
  `CREATE INDEX tasks_account ON tasks (account_id, id)`,
  `CREATE INDEX tasks_parent ON tasks (parent_id)`,
  `CREATE INDEX tasks_target ON tasks (target_object_id)`,
  `CREATE INDEX tasks_source ON tasks (source_object_id)`,

  `CREATE TABLE imports (${jobColumns},
    title TEXT NOT NULL,
    description TEXT,
    source TEXT NOT NULL,
    object_id BIGINT,
    manifest TEXT NOT NULL,
    commit_mode TEXT NOT NULL,
    target_fields TEXT NOT NULL,
    entity_params TEXT,
    reader_params TEXT,
    validation_params TEXT,
    annotator_params TEXT,
    include_errors SMALLINT NOT NULL,
    genome_build TEXT,
    priority INTEGER NOT NULL,
    commit_id BIGINT NOT NULL UNIQUE,
    tags TEXT NOT NULL)`,
  `CREATE INDEX imports_dataset ON imports (dataset_id, id)`,
  `CREATE INDEX imports_task ON imports (task_id)`,

  `CREATE TABLE exports (${jobColumns},
    format TEXT NOT NULL,
    params TEXT NOT NULL,
    target_fields TEXT,
    annotator_params TEXT,
    target_full_path TEXT,
    target_object_id BIGINT REFERENCES objects (id) ON DELETE SET NULL,
    send_email_on_completion SMALLINT NOT NULL,
    priority INTEGER NOT NULL,
    documents_count BIGINT,
    filename TEXT,
    bytes BIGINT,
    log_version BIGINT,
    expires_at BIGINT)`,
  `CREATE INDEX exports_dataset ON exports (dataset_id, id)`,
  `CREATE INDEX exports_task ON exports (task_id)`,
  `CREATE INDEX exports_target ON exports (target_object_id)`,

  `CREATE TABLE commits (${jobColumns},
    title TEXT NOT NULL,
    description TEXT,
    mode TEXT NOT NULL,
    parent_job_model TEXT NOT NULL,
    parent_job_id BIGINT NOT NULL,
    records_total BIGINT NOT NULL,
    records_modified BIGINT NOT NULL,
    fields TEXT NOT NULL,
    size BIGINT NOT NULL,
    log_version BIGINT NOT NULL,
    genome_build TEXT,
    UNIQUE (dataset_id, log_version))`,
  `CREATE INDEX commits_task ON commits (task_id)`,
  `CREATE INDEX commits_job ON commits (parent_job_id)`,
];

/** Adds dry runs of imports. */
export const dryRunSchema: readonly string[] = [
  `ALTER TABLE imports ADD COLUMN is_dry_run SMALLINT NOT NULL DEFAULT 0`,
];

/**
 * Adds the classes of tasks, and background tasks, which the server creates itself and whose kind has no resource: compactions, and tables
 * of uploaded files.
 */
export const backgroundTaskSchema: readonly string[] = [
  `ALTER TABLE tasks ADD COLUMN class TEXT NOT NULL DEFAULT 'standard'`,
  `ALTER TABLE tasks ADD COLUMN params TEXT`,
  `ALTER TABLE tasks ADD COLUMN error_message TEXT`,
  `UPDATE tasks SET class = 'interactive' WHERE kind = 'import'
    AND resource_id IN (SELECT id FROM imports WHERE source = 'data_records')`,
];

/** Adds the results of tasks of kinds without a resource. */
export const taskResultSchema: readonly string[] = [`ALTER TABLE tasks ADD COLUMN result TEXT`];

/** The columns that the tables of saved resources share. */
const ownedColumns = `
  id BIGINT NOT NULL PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id),
  account_id BIGINT NOT NULL REFERENCES accounts (id),
  description TEXT,
  is_shared SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL`;

/** Returns the statements that add a table of saved resources; `columns` are the definitions of its further columns. */
export function savedResourceTableSchema(name: string, columns: string): readonly string[] {
  return [
    `CREATE TABLE ${name} (${ownedColumns},${columns})`,
    `CREATE INDEX ${name}_owner ON ${name} (account_id, user_id)`,
  ];
}

/** Adds saved queries, beacon sets and beacons. Beacons remain when their dataset is deleted; queries of them then fail. */
export const savedResourceSchema: readonly string[] = [
  `INSERT INTO counters (name, value) VALUES ('saved query', 0), ('beacon set', 0), ('beacon', 0)`,
  ...savedResourceTableSchema(
    'saved_queries',
    `
    name TEXT NOT NULL,
    params TEXT NOT NULL,
    dataset_id BIGINT`,
  ),
  ...savedResourceTableSchema(
    'beacon_sets',
    `
    title TEXT NOT NULL`,
  ),
  `CREATE TABLE beacons (
    id BIGINT NOT NULL PRIMARY KEY,
    beacon_set_id BIGINT NOT NULL REFERENCES beacon_sets (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id),
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    title TEXT NOT NULL,
    description TEXT,
    dataset_id BIGINT NOT NULL,
    params TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL)`,
  `CREATE INDEX beacons_set ON beacons (beacon_set_id)`,
  `CREATE INDEX beacons_dataset ON beacons (dataset_id)`,
];

/** Adds the numbers of records that commits added, changed and removed, and the version that an export was requested for. */
export const commitCountSchema: readonly string[] = [
  `ALTER TABLE commits ADD COLUMN records_added BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE commits ADD COLUMN records_changed BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE commits ADD COLUMN records_removed BIGINT NOT NULL DEFAULT 0`,
  `UPDATE commits SET records_added = records_modified WHERE mode = 'append'`,
  `ALTER TABLE exports ADD COLUMN as_of TEXT`,
];

/** Adds the commits whose rows users have deleted; their changes stay in the logs of their datasets. */
export const deletedCommitSchema: readonly string[] = [
  `CREATE TABLE deleted_commits (
    id BIGINT NOT NULL PRIMARY KEY,
    dataset_id BIGINT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    parent_job_id BIGINT NOT NULL)`,
  `CREATE INDEX deleted_commits_dataset ON deleted_commits (dataset_id)`,
];

/**
 * Keeps the log versions of deleted commits, and adds a view of the log versions of all completed commits, deleted ones included. A commit
 * that was deleted before this migration appears in the view once its version has been read from the log, when the server starts or the
 * dataset is restored. SQLite uses the indexes of both tables for the view only if their columns have the same types, hence the cast.
 */
export const commitVersionSchema: readonly string[] = [
  `ALTER TABLE deleted_commits ADD COLUMN parent_job_model TEXT`,
  `ALTER TABLE deleted_commits ADD COLUMN mode TEXT`,
  `ALTER TABLE deleted_commits ADD COLUMN records_total BIGINT`,
  `ALTER TABLE deleted_commits ADD COLUMN records_added BIGINT`,
  `ALTER TABLE deleted_commits ADD COLUMN log_version BIGINT`,
  `ALTER TABLE deleted_commits ADD COLUMN completed_at BIGINT`,
  `DROP INDEX deleted_commits_dataset`,
  `CREATE INDEX deleted_commits_version ON deleted_commits (dataset_id, log_version)`,
  `CREATE INDEX deleted_commits_job ON deleted_commits (parent_job_id)`,
  `CREATE VIEW commit_versions AS
    SELECT id, dataset_id, parent_job_model, parent_job_id, mode, records_total, records_added, log_version, created_at,
      CAST(json_extract(timestamps, '$[#-1][2]') AS BIGINT) AS completed_at
    FROM commits WHERE status = 'completed'
    UNION ALL
    SELECT id, dataset_id, parent_job_model, parent_job_id, mode, records_total, records_added, log_version, completed_at,
      completed_at
    FROM deleted_commits WHERE log_version IS NOT NULL`,
];

/** Adds the column that says whether the type of a field was declared or was found in data. Values widen only a type found in data. */
export const declaredFieldSchema: readonly string[] = [
  `ALTER TABLE fields ADD COLUMN is_declared SMALLINT NOT NULL DEFAULT 0`,
];

/** The columns that snapshots and restores share: the dataset's storage class before and after, and the archive that is written or read. */
const archiveColumns = `${jobColumns},
  storage_class TEXT NOT NULL,
  previous_class TEXT NOT NULL,
  log_version BIGINT,
  bytes BIGINT,
  checksum TEXT`;

/** Adds the fields by which imports identify the records that they change. */
export const importKeySchema: readonly string[] = [`ALTER TABLE imports ADD COLUMN id_fields TEXT`];

/** Adds the tables of the jobs that archive datasets and restore them from their archives. */
export const archiveSchema: readonly string[] = [
  `CREATE TABLE snapshots (${archiveColumns})`,
  `CREATE INDEX snapshots_dataset ON snapshots (dataset_id, id)`,
  `CREATE TABLE restores (${archiveColumns})`,
  `CREATE INDEX restores_dataset ON restores (dataset_id, id)`,
];

/** Adds migrations of datasets. When a source is deleted, the rows stay, but only the tasks of those being published stay. */
export const datasetMigrationSchema: readonly string[] = [
  `CREATE TABLE dataset_migrations (${jobColumns},
    source_id BIGINT NOT NULL,
    source_params TEXT NOT NULL,
    as_of TEXT,
    target_fields TEXT NOT NULL,
    commit_mode TEXT NOT NULL,
    id_fields TEXT,
    include_errors SMALLINT NOT NULL,
    entity_params TEXT,
    validation_params TEXT,
    annotator_params TEXT,
    priority INTEGER NOT NULL,
    commit_id BIGINT NOT NULL UNIQUE,
    is_dry_run SMALLINT NOT NULL,
    documents_count BIGINT)`,
  `CREATE INDEX dataset_migrations_dataset ON dataset_migrations (dataset_id, id)`,
  `CREATE INDEX dataset_migrations_source ON dataset_migrations (source_id, id)`,
  `CREATE INDEX dataset_migrations_task ON dataset_migrations (task_id)`,
];
