import { requireUserItself } from '../../../engine/catalog/access.js';
import { recordAudit } from '../../../engine/catalog/audit-log.js';
import { tokenSubject, type NewToken, type TokenFilter } from '../../../engine/catalog/tokens.js';
import { crudController } from '../../http/crud.js';
import { omitUndefined, firstParamValue } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import { timestamp } from '../../http/json-schema.js';
import { refuseChange } from '../shared/unchangeable.js';
import { token, type CreatedToken, type TokenContext } from './token.js';

export const tokenOperations = crudOperations('tokens', {
  tag: 'Tokens',
  path: '/v2/tokens',
  noun: 'a token',
  resource: token,
  query: { name: 'Exact name.' },
  summaries: {
    create: 'Creates a token or an API key, and shows its secret this once.',
    list: "Lists the user's tokens and API keys, newest first, without revoked ones.",
    patch: 'Renames a token.',
    delete:
      'Revokes a token: from the next request on it is refused. One of an application ends with all that it was granted with it.',
  },
});

/** The credentials of the caller (contract 2.1). */
export const TokensController = crudController<'token', TokenContext, TokenFilter>({
  kind: 'token',
  operations: tokenOperations,
  declaration: token,
  table: ({ tokens: { list, update } }) => ({ list, update }),
  filter: (query, { user }) => ({
    userId: user.id,
    isRevoked: false,
    ...omitUndefined<TokenFilter>({ name: firstParamValue(query, 'name') }),
  }),
  contexts: ({ catalog }, { origin }, rows) =>
    Promise.all(
      rows.map(async ({ grantId }) => {
        const grant = grantId === null ? undefined : await catalog.grants.get(grantId);
        return { origin, applicationId: grant?.applicationId ?? null };
      }),
    ),
  create: async ({ catalog, signingKey }, { caller, form, values }): Promise<CreatedToken> => {
    form.throwIfInvalid();
    requireUserItself(caller);
    const newToken = { ...(values as NewToken), userId: caller.user.id };
    return catalog.transaction(async (tx) => {
      const { row, secret } = await tx.tokens.create(newToken, signingKey);
      const subject = tokenSubject(row, caller.account.id);
      const details = { kind: row.kind, scope: row.scope };
      await recordAudit(tx, { actor: caller.user, action: 'token.create', subject, details });
      return { ...row, secret };
    });
  },
  resolve: async (_context, _caller, form, _values, row) => {
    const message = 'Only the name of a token can be changed; create another one and revoke this.';
    refuseChange(form, 'kind', row?.kind, message);
    refuseChange(form, 'scope', row?.scope, message);
    refuseChange(form, 'expires_at', timestamp.format?.(row?.expiresAt ?? null), message);
    return {};
  },
  delete: ({ catalog }, row, { user, account }) =>
    catalog.transaction(async (tx) => {
      await tx.tokens.revoke(row.id);
      const subject = tokenSubject(row, account.id);
      await recordAudit(tx, { actor: user, action: 'token.revoke', subject });
    }),
});
