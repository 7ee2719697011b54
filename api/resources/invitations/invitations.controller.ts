import { Body, Controller, Query, Req } from '@nestjs/common';
import { acceptInvitation, invitationSubject } from '../../../engine/catalog/accept-invitation.js';
import { requireAdministrator, requireUserItself } from '../../../engine/catalog/access.js';
import { recordAudit } from '../../../engine/catalog/audit-log.js';
import {
  invitationStatus,
  type InvitationFilter,
  type InvitationRow,
  type NewInvitation,
} from '../../../engine/catalog/invitations.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Public, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Authenticator } from '../../http/authenticator.js';
import { Form } from '../../http/form.js';
import { choiceParams, omitUndefined, firstParamValue } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { presenterFor } from '../shared/presenter.js';
import { createdUser } from '../shared/user.js';
import { acceptanceBody, invitation, invitationLifetimeHours } from './invitation.js';

export const invitationOperations = declareOperations('invitations', 'Invitations', {
  create: {
    method: 'POST',
    paths: ['/v1/invitations'],
    summary: 'Invites somebody to the account; for its administrators. No mail is sent.',
    body: invitation.createSchema,
    status: 201,
    answer: invitation.schema,
  },
  list: {
    method: 'GET',
    paths: ['/v1/invitations'],
    summary: 'Lists the invitations of the account, newest first; for its administrators.',
    query: {
      status: 'open, accepted, revoked or expired.',
      email: 'Exact address, in any case.',
      ...pagingParams,
    },
    answer: { listOf: invitation.schema },
  },
  get: {
    method: 'GET',
    paths: ['/v1/invitations/:id'],
    summary: 'Returns an invitation; for administrators of the account.',
    answer: invitation.schema,
  },
  revoke: {
    method: 'DELETE',
    paths: ['/v1/invitations/:id'],
    summary: 'Revokes an open invitation; for administrators of the account.',
    answer: invitation.schema,
  },
  accept: {
    method: 'POST',
    paths: ['/v1/invitations/accept'],
    summary: 'Accepts an invitation: creates the user and returns a token. Needs no credentials.',
    body: acceptanceBody,
    answer: createdUser.schema,
  },
});

/** Invitations to the caller's account. */
@Controller()
export class InvitationsController {
  constructor(
    private readonly context: AppContext,
    private readonly authenticator: Authenticator,
  ) {}

  @CreateOperation(invitationOperations.create, async (context, caller, id, request) =>
    invitationView(
      context,
      request,
      await requireResource(context.catalog, caller, 'invitation', id, 'read'),
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    requireUserItself(caller);
    const { catalog, signingKey } = this.context;
    const { user, account } = caller;
    const form = new Form(body);
    const { expiresInHours, ...values } = invitation.readCreate(form);
    const expiresAt = Date.now() + checkLifetime(expiresInHours) * 3_600_000;
    await this.#check(caller, form, values);
    form.throwIfInvalid();
    const createdInvitation = await catalog.transaction(async (tx) => {
      const owner = { userId: user.id, accountId: account.id };
      const newInvitation = await tx.invitations.create(
        { ...values, ...owner, expiresAt },
        signingKey,
      );
      await recordAudit(tx, {
        actor: user,
        action: 'invitation.create',
        subject: invitationSubject(newInvitation.row),
        details: {
          role: newInvitation.row.role,
          group_ids: [...newInvitation.row.groupIds],
          vault_permissions: newInvitation.row.vaultPermissions.map(({ vaultId, permission }) => ({
            vault_id: vaultId,
            permission,
          })),
        },
      });
      return newInvitation;
    });
    return invitationView(this.context, request, createdInvitation.row, createdInvitation.code);
  }

  @Operation(invitationOperations.list)
  @Access('read')
  list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    const filter = {
      accountId: caller.account.id,
      ...omitUndefined<InvitationFilter>({
        status: choiceParams(query, 'status', ['open', 'accepted', 'revoked', 'expired'])?.[0],
        email: firstParamValue(query, 'email'),
      }),
    };
    return answerList<InvitationRow>(request, query, {
      rows: (page) => this.context.catalog.invitations.list(filter, page),
      views: (rows) => Promise.all(rows.map((row) => invitationView(this.context, request, row))),
    });
  }

  @Operation(invitationOperations.get)
  @Access('read', 'invitation')
  get(@Resource() row: InvitationRow, @Req() request: ApiRequest): Promise<object> {
    return invitationView(this.context, request, row);
  }

  @Operation(invitationOperations.revoke)
  @Access('write', 'invitation')
  async revoke(
    @Resource() { id }: InvitationRow,
    @CurrentCaller() { user }: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const revokedInvitation = await this.context.catalog.transaction(async (tx) => {
      const row = (await tx.invitations.get(id))!;
      const status = invitationStatus(row);
      if (status !== 'open')
        throw new AppError(
          'conflict',
          `The invitation is ${status}; only an open one can be revoked.`,
        );
      await tx.invitations.revoke(id);
      await recordAudit(tx, {
        actor: user,
        action: 'invitation.revoke',
        subject: invitationSubject(row),
      });
      return (await tx.invitations.get(id))!;
    });
    return invitationView(this.context, request, revokedInvitation);
  }

  @Operation(invitationOperations.accept)
  @Public()
  async accept(@Body() body: unknown, @Req() request: ApiRequest): Promise<object> {
    const acceptance = acceptanceBody.parse(body);
    const { catalog, signingKey } = this.context;
    const { user, account, token } = await catalog
      .transaction((tx) => acceptInvitation(tx, acceptance, signingKey))
      .catch((error: unknown) => {
        // A wrong code counts like a failed login (threat A9).
        if (error instanceof AppError && error.fields?.['code'])
          this.authenticator.countFailure(request);
        throw error;
      });
    const secret = token?.secret ?? null;
    return createdUser.view(user, { account, origin: request.origin, token: secret });
  }

  /**
   * Adds an error to the form for each group that does not belong to the account, for each vault that the caller may not read, and for the
   * email address of an active user or of a user of another account. Throws `forbidden` for a vault that the caller may read but not
   * administer.
   */
  async #check(
    caller: Caller,
    form: Form,
    {
      email,
      groupIds,
      vaultPermissions,
    }: Pick<NewInvitation, 'email' | 'groupIds' | 'vaultPermissions'>,
  ): Promise<void> {
    const { catalog } = this.context;
    const existingUser = email ? await catalog.users.byEmail(email) : undefined;
    if (existingUser && (existingUser.isActive || existingUser.accountId !== caller.account.id))
      form.fail('email', `A user with the email ${email} exists already.`);
    for (const id of groupIds ?? []) {
      const group = await catalog.groups.get(id);
      if (group?.accountId !== caller.account.id)
        form.fail('group_ids', `The account has no group ${id}.`);
    }
    for (const { vaultId } of vaultPermissions ?? []) {
      try {
        await requireResource(catalog, caller, 'vault', vaultId, 'admin');
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'not-found') throw error;
        form.fail('vault_permissions', `There is no vault ${vaultId}.`);
      }
    }
  }
}

/** Returns the hours for which an invitation is open. Throws a 400 if they are not within the limits. */
function checkLifetime(hours: number): number {
  if (hours >= 1 && hours <= invitationLifetimeHours.most) return hours;
  throw invalidError(
    'expires_in_hours',
    `An invitation is open for 1 to ${invitationLifetimeHours.most} hours, not ${hours}.`,
  );
}

async function invitationView(
  context: AppContext,
  request: ApiRequest,
  row: InvitationRow,
  code: string | null = null,
): Promise<object> {
  const user = await presenterFor(context, request).loadUser(row.userId);
  return invitation.view(row, { user, origin: request.origin, code });
}
