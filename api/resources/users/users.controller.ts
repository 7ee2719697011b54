import { Body, Controller, Query, Req } from '@nestjs/common';
import { requireAdministrator, requireUserItself } from '../../../engine/catalog/access.js';
import { changeUser, removeUser } from '../../../engine/catalog/change-user.js';
import { createUser } from '../../../engine/catalog/create-user.js';
import type { UserFilter, UserRow } from '../../../engine/catalog/users.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, readBoolean } from '../../http/form.js';
import { choiceParams, omitUndefined, firstParamValue } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { declareOperations, pagingParams, updateDescription } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { refuseChange } from '../shared/unchangeable.js';
import { createdUser, user } from '../shared/user.js';

/** The operation that confirms who the caller is. */
export const currentUserOperations = declareOperations('user', 'Users', {
  get: {
    method: 'GET',
    paths: ['/v1/user'],
    summary: 'Returns the current user with the account.',
    answer: user.schema,
  },
});

export const userOperations = declareOperations('users', 'Users', {
  list: {
    method: 'GET',
    paths: ['/v1/users'],
    summary: 'Lists the users of the account, removed ones too; for its administrators.',
    query: {
      email: 'Exact address, in any case.',
      role: 'member, admin or primary_owner.',
      is_active: 'false: only removed users.',
      ...pagingParams,
    },
    answer: { listOf: user.schema },
  },
  create: {
    method: 'POST',
    paths: ['/v1/users'],
    summary:
      'Creates a user of the account with a token, or brings a removed one back; for administrators.',
    body: user.createSchema,
    status: 201,
    answer: createdUser.schema,
  },
  put: {
    method: 'PUT',
    paths: ['/v1/users/:id'],
    summary: `${updateDescription} For administrators.`,
    body: user.updateSchema,
    answer: user.schema,
  },
  patch: {
    method: 'PATCH',
    paths: ['/v1/users/:id'],
    summary: `${updateDescription} For administrators.`,
    body: user.updateSchema,
    answer: user.schema,
  },
  get: {
    method: 'GET',
    paths: ['/v1/users/:id'],
    summary: 'Returns a user of the same account.',
    answer: user.schema,
  },
  delete: {
    method: 'DELETE',
    paths: ['/v1/users/:id'],
    summary:
      'Removes a user: their tokens are refused, and what they made stays; for administrators of the account.',
    answer: user.schema,
  },
});

/** The users of the caller's account. */
@Controller()
export class UsersController {
  constructor(private readonly context: AppContext) {}

  @Operation(currentUserOperations.get)
  @Access('read')
  current(@CurrentCaller() caller: Caller, @Req() request: ApiRequest): object {
    return userView(caller.user, caller, request);
  }

  @Operation(userOperations.list)
  @Access('read')
  async list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    const isActive = firstParamValue(query, 'is_active');
    const filter = omitUndefined<UserFilter>({
      accountId: caller.account.id,
      email: firstParamValue(query, 'email'),
      role: choiceParams(query, 'role', ['member', 'admin', 'primary_owner'])?.[0],
      isActive: isActive === undefined ? undefined : (readBoolean(isActive) ?? false),
    });
    return answerList<UserRow>(request, query, {
      rows: (page) => this.context.catalog.users.list(filter, page),
      views: async (rows) => rows.map((row) => userView(row, caller, request)),
    });
  }

  @CreateOperation(userOperations.create, async ({ catalog }, caller, id, { origin }) =>
    createdUser.view(await requireResource(catalog, caller, 'user', id, 'read'), {
      account: caller.account,
      origin,
      token: null,
    }),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() { origin }: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    requireUserItself(caller);
    const form = new Form(body);
    const { email = '', ...values } = user.readCreate(form);
    form.throwIfInvalid();
    const { account } = caller;
    const newUser = {
      ...values,
      email,
      domain: account.domain,
      token: { name: 'first token' },
      actor: caller.user,
    };
    const newRow = await this.context.catalog.transaction((tx) =>
      createUser(tx, newUser, this.context.signingKey),
    );
    return createdUser.view(newRow.user, {
      account,
      origin,
      token: newRow.token?.secret ?? null,
    });
  }

  @Operation(userOperations.put)
  @Access('write', 'user', 'admin')
  put(
    @Resource() row: UserRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, caller, request);
  }

  @Operation(userOperations.patch)
  @Access('write', 'user', 'admin')
  async patch(
    @Resource() { id, email }: UserRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const values = user.readUpdate(form);
    refuseChange(form, 'email', email, 'The address of a user cannot be changed.');
    form.throwIfInvalid();
    const changedUser = await this.context.catalog.transaction((tx) =>
      changeUser(tx, caller.user, id, values),
    );
    return userView(changedUser, caller, request);
  }

  @Operation(userOperations.get)
  @Access('read', 'user')
  get(
    @Resource() row: UserRow,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): object {
    return userView(row, caller, request);
  }

  @Operation(userOperations.delete)
  @Access('write', 'user', 'admin')
  async delete(
    @Resource() { id }: UserRow,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const removedUser = await this.context.catalog.transaction((tx) =>
      removeUser(tx, caller.user, id),
    );
    return userView(removedUser, caller, request);
  }
}

/** Returns the JSON of a user of the caller's account. */
function userView(row: UserRow, { account }: Caller, { origin }: ApiRequest): object {
  return user.view(row, { account, origin });
}
