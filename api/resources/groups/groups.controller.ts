import { requireAdministrator, viewerOf } from '../../../engine/catalog/access.js';
import {
  recordAudit,
  auditDifferences,
  type AuditSubject,
} from '../../../engine/catalog/audit-log.js';
import type { GroupFilter, GroupRow, NewGroup } from '../../../engine/catalog/groups.js';
import { crudController } from '../../http/crud.js';
import { paramIds, idParam, omitUndefined, firstParamValue } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/api-request.js';
import { group, type GroupContext } from './group.js';

export const groupOperations = crudOperations('groups', {
  tag: 'Groups',
  path: '/v1/groups',
  noun: 'a group',
  resource: group,
  query: {
    id: 'One group.',
    name: 'Exact name, case-insensitive.',
    query: { description: 'Text in the name.', example: 'cardio' },
    user_id: { description: 'Groups that this user is in.', example: '3' },
  },
  summaries: {
    create: 'Creates a group; for administrators of the account.',
    list: 'Lists the groups of the account.',
    patch: 'Changes the name or the description; for administrators of the account.',
    delete:
      'Deletes a group with its permissions; its members stay. For administrators of the account.',
  },
});

/** Returns a group as the subject of an entry of the audit log. */
export function groupSubject({ id, name, accountId }: GroupRow): AuditSubject {
  return { type: 'group', id, name, accountId };
}

/**
 * Groups of users (contract 4.2).
 * Choice: every user of the account sees all its groups and their members, because users share vaults with groups; only administrators
 * change groups.
 */
export const GroupsController = crudController<'group', GroupContext, GroupFilter>({
  kind: 'group',
  operations: groupOperations,
  declaration: group,
  table: ({ groups }) => groups,
  filter: groupFilter,
  contexts: async ({ catalog }, { caller, origin }, rows) => {
    if (!caller) throw new Error('no caller: the handler is public');
    const ids = rows.map(({ id }) => id);
    const counts = await catalog.groups.counts(ids, viewerOf(caller));
    const isAdministrator = caller.user.role !== 'member';
    const noCounts = { members: 0, vaults: 0, isMember: false };
    return rows.map(({ id }) => ({ ...(counts.get(id) ?? noCounts), isAdministrator, origin }));
  },
  create: async ({ catalog }, { caller, form, values }) => {
    requireAdministrator(caller);
    form.throwIfInvalid();
    return catalog.transaction(async (tx) => {
      const row = await tx.groups.create({
        ...(values as NewGroup),
        accountId: caller.account.id,
      });
      await recordAudit(tx, {
        actor: caller.user,
        action: 'group.create',
        subject: groupSubject(row),
      });
      return row;
    });
  },
  update: async ({ catalog }, { caller: { user }, form, values }, { id }) => {
    form.throwIfInvalid();
    return catalog.transaction(async (tx) => {
      const previousRow = await tx.groups.get(id);
      const row = await tx.groups.update(id, values);
      if (row === undefined || previousRow === undefined) return undefined;
      const details = auditDifferences(previousRow, row, {
        name: 'name',
        description: 'description',
      });
      await recordAudit(tx, {
        actor: user,
        action: 'group.update',
        subject: groupSubject(row),
        details,
      });
      return row;
    });
  },
  delete: async ({ catalog }, row, { user }) =>
    catalog.transaction(async (tx) => {
      await tx.groups.delete(row.id);
      await recordAudit(tx, { actor: user, action: 'group.delete', subject: groupSubject(row) });
    }),
});

function groupFilter(query: QueryParams, caller: Caller): GroupFilter {
  return {
    accountId: caller.account.id,
    ...omitUndefined<GroupFilter>({
      ids: paramIds(query, 'id'),
      name: firstParamValue(query, 'name'),
      query: firstParamValue(query, 'query'),
      userId: idParam(query, 'user_id'),
    }),
  };
}
