/**
 * Adds passwords, sign-ins at the authorization page, applications, and what users have granted to applications. Secrets are stored only as
 * keyed hashes, or not at all; passwords have a hash format of their own.
 */
export const authenticationSchema: readonly string[] = [
  `CREATE TABLE passwords (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    changed_at BIGINT NOT NULL)`,
  `CREATE TABLE sign_ins (
    hash TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('link', 'session')),
    expires_at BIGINT NOT NULL)`,
  `CREATE INDEX sign_ins_user ON sign_ins (user_id)`,
  `INSERT INTO counters (name, value) VALUES ('application', 0), ('grant', 0)`,
  `CREATE TABLE applications (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id),
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    description TEXT,
    is_shared SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    name TEXT NOT NULL,
    client_type TEXT NOT NULL CHECK (client_type IN ('confidential', 'public')),
    redirect_uris TEXT NOT NULL,
    scopes TEXT NOT NULL CHECK (scopes IN ('read', 'read write')),
    web_url TEXT,
    help_url TEXT,
    source_url TEXT,
    tags TEXT NOT NULL,
    is_public SMALLINT NOT NULL,
    secret_version INTEGER NOT NULL)`,
  `CREATE INDEX applications_owner ON applications (account_id, user_id)`,
  `CREATE TABLE grants (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'read write')),
    redirect_uri TEXT NOT NULL,
    code_challenge TEXT,
    code_hash TEXT NOT NULL UNIQUE,
    code_used_at BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL)`,
  `CREATE INDEX grants_user ON grants (user_id, application_id)`,
  `CREATE INDEX grants_application ON grants (application_id)`,
  `CREATE INDEX grants_expiry ON grants (expires_at)`,
  `CREATE TABLE refresh_tokens (
    hash TEXT NOT NULL PRIMARY KEY,
    grant_id BIGINT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    used_at BIGINT)`,
  `CREATE INDEX refresh_tokens_grant ON refresh_tokens (grant_id)`,
  `ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token' CHECK (kind IN ('token', 'api_key'))`,
  `ALTER TABLE tokens ADD COLUMN grant_id BIGINT REFERENCES grants (id) ON DELETE CASCADE`,
  `CREATE INDEX tokens_grant ON tokens (grant_id)`,
];
