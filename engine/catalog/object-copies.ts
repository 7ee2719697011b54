import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextLargeId } from './ids.js';
import { newStatus, statusColumns, type StatusRow } from './jobs.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { conjunctionOf, isOneOf, sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import type { TaskRow, TaskStatus } from './task-row.js';
import { insertTask } from './task-status.js';

/** A copy of a file, a folder or a whole vault (specification "Object copy task"). It belongs to the user who requested it. */
export interface ObjectCopyRow extends StatusRow {
  readonly accountId: number;
  readonly sourceVaultId: number;
  readonly targetVaultId: number;
  /** The object to copy; null for the whole vault. */
  readonly sourceObjectId: number | null;
  /** The folder that receives the copy; null for the root of the vault. */
  readonly targetObjectId: number | null;
}

export type NewObjectCopy = Pick<
  ObjectCopyRow,
  'userId' | 'accountId' | 'sourceVaultId' | 'targetVaultId' | 'sourceObjectId' | 'targetObjectId'
>;

const objectCopies = tableCodec<ObjectCopyRow>(
  'objectCopies',
  {
    ...statusColumns,
    accountId: 'plain',
    sourceVaultId: 'plain',
    targetVaultId: 'plain',
    sourceObjectId: 'plain',
    targetObjectId: 'plain',
  },
  {},
);

/** Adds copies of objects. The row of a copy stays when the objects that it names are deleted. */
export const objectCopySchema: readonly string[] = [
  `CREATE TABLE object_copies (
    id BIGINT NOT NULL PRIMARY KEY,
    task_id BIGINT REFERENCES tasks (id) ON DELETE SET NULL,
    user_id BIGINT NOT NULL REFERENCES users (id),
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    status TEXT NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'completed', 'failed', 'canceled')),
    error_message TEXT,
    metadata TEXT NOT NULL,
    timestamps TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    source_vault_id BIGINT NOT NULL,
    target_vault_id BIGINT NOT NULL,
    source_object_id BIGINT,
    target_object_id BIGINT)`,
  `CREATE INDEX object_copies_user ON object_copies (user_id, id)`,
  `CREATE INDEX object_copies_task ON object_copies (task_id)`,
];

interface ObjectCopyFilter {
  readonly userId: number;
  readonly ids?: readonly number[];
  readonly statuses?: readonly TaskStatus[];
}

/** Copies of objects. The status of a copy follows that of its task. */
interface ObjectCopyTable {
  get(id: number): Promise<ObjectCopyRow | undefined>;
  /** Lists the copies, newest first. */
  list(filter: ObjectCopyFilter, page: Page): Promise<ListedRows<ObjectCopyRow>>;
  /** Creates the copy and queues its task. */
  create(copy: NewObjectCopy): Promise<{ readonly row: ObjectCopyRow; readonly task: TaskRow }>;
}

const copyPriority = 20; // the same as for exports

/** Returns access to the table of copies of objects. */
export function objectCopyTable(db: Database): ObjectCopyTable {
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${objectCopies.columns} FROM object_copies WHERE id = ${id}`); // prettier-ignore
      return row && objectCopies.parse(row);
    },
    list: ({ userId, ids, statuses }, page) => {
      const clauses = [sql`object_copies.user_id = ${userId}`];
      if (ids) clauses.push(isOneOf(sql`object_copies.id`, ids));
      if (statuses) clauses.push(isOneOf(sql`object_copies.status`, statuses));
      const query = {
        from: sql`object_copies`,
        where: conjunctionOf(clauses),
        orderBy: sql`object_copies.id DESC`,
      };
      return listPage(db, objectCopies, query, page);
    },
    create: (copy) =>
      db.atomic(async (tx) => {
        const id = await nextLargeId(tx);
        const task = await insertTask(tx, {
          kind: 'copy',
          resourceId: id,
          description: 'Copy objects',
          priority: copyPriority,
          userId: copy.userId,
          accountId: copy.accountId,
          targetObjectId: copy.targetObjectId,
          sourceObjectId: copy.sourceObjectId,
        });
        const row: ObjectCopyRow = { ...newStatus(id, task), ...copy };
        await tx.run(objectCopies.insert(row));
        await recordCreatedId(tx, id);
        return { row, task };
      }),
  };
}
