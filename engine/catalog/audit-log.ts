import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { conjunctionOf, isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';
import type { UserRow } from './users.js';

/** The changes that the audit log records. */
export const auditActions = [
  'permission.grant',
  'permission.change',
  'permission.revoke',
  'vault.publish',
  'vault.unpublish',
  'vault.transfer',
  'vault.delete',
  'group.create',
  'group.update',
  'group.delete',
  'group.add_member',
  'group.remove_member',
  'user.create',
  'user.update',
  'user.deactivate',
  'user.reactivate',
  'invitation.create',
  'invitation.revoke',
  'invitation.accept',
  'token.create',
  'token.revoke',
  'password.set',
  'application.create',
  'application.replace_secret',
  'application.update',
  'application.delete',
  'beacon.change',
] as const;
type AuditAction = (typeof auditActions)[number];

/** The resource that was changed. Its name is stored as well, because the resource may be deleted later. */
export interface AuditSubject {
  readonly type: 'vault' | 'group' | 'user' | 'invitation' | 'token' | 'application' | 'dataset';
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
}

/** A change to record. */
interface AuditEntry {
  /** The user who makes the change; null for a command on the data folder, and for the first start. */
  readonly actor: Pick<UserRow, 'id'> | null;
  readonly action: AuditAction;
  readonly subject: AuditSubject;
  /** The changes, as JSON with the keys of the interface; never a secret. */
  readonly details?: JsonObject;
}

export interface AuditRow {
  readonly id: number;
  readonly accountId: number;
  readonly actorId: number | null;
  readonly action: AuditAction;
  readonly subjectType: AuditSubject['type'];
  readonly subjectId: number;
  readonly subjectName: string;
  readonly details: JsonObject;
  readonly createdAt: Millis;
}

export interface AuditFilter {
  readonly accountId: number;
  readonly actions?: readonly AuditAction[];
  /** Restricts the list to changes by these users. */
  readonly actorIds?: readonly number[];
  readonly subjectType?: string;
  readonly subjectId?: number;
  /** Restricts the list to changes at this time or later. */
  readonly since?: Millis;
  /** Restricts the list to changes before this time. */
  readonly until?: Millis;
  /** Restricts the list to entries with smaller ids. */
  readonly beforeId?: number;
}

/** The audit log. Entries are added and never changed. */
export interface AuditLogTable {
  /** Lists the entries, newest first. */
  list(filter: AuditFilter, page: Page): Promise<ListedRows<AuditRow>>;
  add(entry: Omit<AuditRow, 'id' | 'createdAt'>): Promise<void>;
}

const auditEntries = tableCodec<AuditRow>(
  'auditLog',
  {
    id: 'plain',
    accountId: 'plain',
    actorId: 'plain',
    action: 'plain',
    subjectType: 'plain',
    subjectId: 'plain',
    subjectName: 'plain',
    details: 'json',
    createdAt: 'plain',
  },
  {},
);

/** Returns access to the audit log. */
export function auditLogTable(db: Database): AuditLogTable {
  return {
    list: (filter, page) =>
      listPage(
        db,
        auditEntries,
        {
          from: sql`audit_log`,
          where: conjunctionOf(auditConditions(filter)),
          orderBy: sql`audit_log.id DESC`,
        },
        page,
      ),
    add: async (entry) => {
      const id = await nextSmallId(db, 'audit entry');
      await db.run(auditEntries.insert({ ...entry, id, createdAt: Date.now() }));
    },
  };
}

/** Records a change in the audit log, in the transaction that makes the change. */
export async function recordAudit(
  tx: { readonly auditLog: AuditLogTable },
  { actor, action, subject, details = {} }: AuditEntry,
): Promise<void> {
  await tx.auditLog.add({
    accountId: subject.accountId,
    actorId: actor?.id ?? null,
    action,
    subjectType: subject.type,
    subjectId: subject.id,
    subjectName: subject.name,
    details,
  });
}

/** Returns the details of an update: for each property that differs, under its name in the interface, the values before and after. */
export function auditDifferences<R extends object>(
  before: R,
  after: R,
  names: { readonly [K in keyof R]?: string },
): JsonObject {
  const keys = (Object.keys(names) as (keyof R)[]).filter((key) => before[key] !== after[key]);
  const detail = (key: keyof R): JsonObject => ({ before: before[key], after: after[key] });
  return Object.fromEntries(keys.map((key) => [names[key], detail(key)]));
}

function auditConditions(filter: AuditFilter): Sql[] {
  const { actions, actorIds, subjectType, subjectId, since, until, beforeId } = filter;
  const clauses = [sql`audit_log.account_id = ${filter.accountId}`];
  if (actions) clauses.push(isOneOf(sql`audit_log.action`, actions));
  if (actorIds) clauses.push(isOneOf(sql`audit_log.actor_id`, actorIds));
  if (subjectType !== undefined) clauses.push(sql`audit_log.subject_type = ${subjectType}`);
  if (subjectId !== undefined) clauses.push(sql`audit_log.subject_id = ${subjectId}`);
  if (since !== undefined) clauses.push(sql`audit_log.created_at >= ${since}`);
  if (until !== undefined) clauses.push(sql`audit_log.created_at < ${until}`);
  if (beforeId !== undefined) clauses.push(sql`audit_log.id < ${beforeId}`);
  return clauses;
}
