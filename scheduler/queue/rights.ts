import {
  principalOf,
  require as requireAccess,
  type Principal,
} from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { Permission } from '../../engine/catalog/permission.js';
import { AppError } from '../../engine/core/errors.js';

/** On whose behalf a task runs; throws if that user may not use the server any more. */
export async function activePrincipal(tables: Tables, userId: number): Promise<Principal> {
  const principal = await principalOf(tables, userId);
  if (principal !== undefined) return principal;
  throw new AppError('forbidden', 'the user who created this task is not active any more');
}

/**
 * Rights are looked at when a task is created, started and published, because they may be taken away in between
 * (threats A4): the task then fails.
 */
export async function checkRights(
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
