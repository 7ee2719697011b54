/**
 * Adds groups, permissions of groups, invitations and the audit log. A row of `vault_permissions` belongs to a user or to a group; existing
 * rows get ids in the order of their vaults.
 */
export const sharingSchema: readonly string[] = [
  `CREATE TABLE user_groups (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (account_id, name_key))`,
  `CREATE TABLE group_members (
    group_id BIGINT NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id))`,
  `CREATE INDEX group_members_user ON group_members (user_id)`,

  `DROP INDEX vault_permissions_user`,
  `ALTER TABLE vault_permissions RENAME TO user_permissions`,
  `CREATE TABLE vault_permissions (
    id BIGINT NOT NULL PRIMARY KEY,
    vault_id BIGINT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
    user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
    group_id BIGINT REFERENCES user_groups (id) ON DELETE CASCADE,
    level SMALLINT NOT NULL CHECK (level IN (1, 2, 3)),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK ((user_id IS NULL) <> (group_id IS NULL)),
    UNIQUE (vault_id, user_id),
    UNIQUE (vault_id, group_id))`,
  `INSERT INTO vault_permissions (id, vault_id, user_id, group_id, level, created_at, updated_at)
    SELECT ROW_NUMBER() OVER (ORDER BY user_permissions.vault_id, user_permissions.user_id),
      user_permissions.vault_id, user_permissions.user_id, NULL, user_permissions.level,
      vaults.created_at, vaults.created_at
    FROM user_permissions JOIN vaults ON vaults.id = user_permissions.vault_id`,
  `DROP TABLE user_permissions`,
  `CREATE INDEX vault_permissions_user ON vault_permissions (user_id)`,
  `CREATE INDEX vault_permissions_group ON vault_permissions (group_id)`,

  `CREATE TABLE invitations (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    email TEXT,
    email_key TEXT,
    role TEXT NOT NULL CHECK (role IN ('member', 'admin')),
    group_ids TEXT NOT NULL,
    vault_permissions TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    accepted_at BIGINT,
    accepted_by BIGINT REFERENCES users (id),
    revoked_at BIGINT)`,
  `CREATE INDEX invitations_account ON invitations (account_id, id)`,

  `CREATE TABLE audit_log (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    actor_id BIGINT REFERENCES users (id),
    action TEXT NOT NULL,
    subject_type TEXT NOT NULL,
    subject_id BIGINT NOT NULL,
    subject_name TEXT NOT NULL,
    details TEXT NOT NULL,
    created_at BIGINT NOT NULL)`,
  `CREATE INDEX audit_log_account ON audit_log (account_id, id)`,
  `INSERT INTO counters (name, value)
    SELECT 'permission', COUNT(*) FROM vault_permissions`,
  `INSERT INTO counters (name, value) VALUES ('group', 0), ('invitation', 0), ('audit entry', 0)`,
];
