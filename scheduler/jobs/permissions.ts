import type { TaskRow } from '../../engine/catalog/task-row.js';
import { fullName } from '../../engine/catalog/users.js';
import type { EvaluationContext } from '../expressions/columns/field-expressions.js';
import {
  loadPrincipal,
  requirePermission as requireAccess,
  type Principal,
} from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog-tables.js';
import type { Permission } from '../../engine/catalog/permission.js';
import { AppError } from '../../engine/core/errors.js';

/** Returns the principal of a task's user. Throws `forbidden` if the user is no longer active. */
export async function activePrincipal(tables: Tables, userId: number): Promise<Principal> {
  const principal = await loadPrincipal(tables, userId);
  if (principal !== undefined) return principal;
  throw new AppError('forbidden', 'the user who created this task is not active any more');
}

/** Throws if the user of a task lacks a permission. It may have been revoked since the task was created (threat A4). */
export async function checkPermission(
  tables: Tables,
  userId: number,
  kind: 'dataset' | 'object' | 'vault',
  id: number,
  level: Permission,
): Promise<void> {
  const principal = await activePrincipal(tables, userId);
  try {
    await requireAccess(tables, principal, kind, id, level);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const message =
      error.code === 'not-found'
        ? `the ${kind} is gone, or the user who created this task may not read it any more`
        : `the user who created this task has no ${level} permission on the ${kind} any more`;
    throw new AppError(error.code, message, undefined, error);
  }
}

/**
 * Returns the name and the email address of a task's user, and the time of the task's request. The time is the same in each attempt, and so
 * are results of expressions that depend on it.
 */
export async function evaluationOriginOf(
  { userId, createdAt }: Pick<TaskRow, 'userId' | 'createdAt'>,
  tables: Tables,
): Promise<EvaluationContext> {
  const user = await tables.users.get(userId);
  const namedUser = { name: user ? fullName(user) : '', email: user?.email ?? '' };
  return { user: namedUser, now: createdAt };
}
