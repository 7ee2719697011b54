/**
 * Adds what keeps the cost of the queue and of lists independent of the number of finished tasks and commits: indexes in the order of
 * lists, indexes of active and background tasks, of which there are few, and a table of counts that triggers maintain, also when tasks are
 * deleted with their object.
 */
export const indexSchema: readonly string[] = [
  `DROP INDEX tasks_parent`,
  `CREATE INDEX tasks_parent ON tasks (parent_id, id)`,
  `DROP INDEX tasks_target`,
  `CREATE INDEX tasks_target ON tasks (target_object_id, id)`,
  `DROP INDEX tasks_source`,
  `CREATE INDEX tasks_source ON tasks (source_object_id, id)`,
  `CREATE INDEX snapshots_task ON snapshots (task_id)`,
  `CREATE INDEX restores_task ON restores (task_id)`,
  `CREATE INDEX tasks_active_account ON tasks (account_id, id)
    WHERE status IN ('pending', 'queued', 'running') OR class = 'background'`,
  `CREATE INDEX tasks_active_target_object ON tasks (target_object_id, id)
    WHERE status IN ('pending', 'queued', 'running') OR class = 'background'`,
  `CREATE INDEX tasks_active_source_object ON tasks (source_object_id, id)
    WHERE status IN ('pending', 'queued', 'running') OR class = 'background'`,
  `CREATE TABLE task_counts (
    account_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    class TEXT NOT NULL,
    kind TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (account_id, status, class, kind))`,
  `INSERT INTO task_counts (account_id, status, class, kind, count)
    SELECT account_id, status, class, kind, COUNT(*) FROM tasks GROUP BY account_id, status, class, kind`,
  `CREATE TRIGGER tasks_count_insert AFTER INSERT ON tasks BEGIN
    INSERT INTO task_counts (account_id, status, class, kind, count)
      VALUES (NEW.account_id, NEW.status, NEW.class, NEW.kind, 1)
      ON CONFLICT (account_id, status, class, kind) DO UPDATE SET count = count + 1;
  END`,
  `CREATE TRIGGER tasks_count_update AFTER UPDATE OF status ON tasks BEGIN
    UPDATE task_counts SET count = count - 1
      WHERE account_id = OLD.account_id AND status = OLD.status AND class = OLD.class AND kind = OLD.kind;
    INSERT INTO task_counts (account_id, status, class, kind, count)
      VALUES (NEW.account_id, NEW.status, NEW.class, NEW.kind, 1)
      ON CONFLICT (account_id, status, class, kind) DO UPDATE SET count = count + 1;
  END`,
  `CREATE TRIGGER tasks_count_delete AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET count = count - 1
      WHERE account_id = OLD.account_id AND status = OLD.status AND class = OLD.class AND kind = OLD.kind;
  END`,
  `CREATE INDEX commits_dataset ON commits (dataset_id, id)`,
];

/**
 * Adds the indexes by which lists of imports, exports, commits and migrations, of one dataset or all, are filtered by status. Lists of
 * migrations name the source.
 */
export const statusIndexSchema: readonly string[] = [
  `CREATE INDEX imports_status ON imports (status, id)`,
  `CREATE INDEX imports_dataset_status ON imports (dataset_id, status, id)`,
  `CREATE INDEX exports_status ON exports (status, id)`,
  `CREATE INDEX exports_dataset_status ON exports (dataset_id, status, id)`,
  `CREATE INDEX commits_status ON commits (status, id)`,
  `CREATE INDEX commits_dataset_status ON commits (dataset_id, status, id)`,
  `CREATE INDEX dataset_migrations_status ON dataset_migrations (status, id)`,
  `CREATE INDEX dataset_migrations_dataset_status ON dataset_migrations (source_id, status, id)`,
];

/** Adds the index of all commits in the order of their list. All commits are completed, so that no index of their statuses is needed. */
export const commitOrderSchema: readonly string[] = [
  `DROP INDEX commits_status`,
  `DROP INDEX commits_dataset_status`,
  `DROP INDEX commits_dataset`,
  `CREATE INDEX commits_created ON commits (created_at, id)`,
];
