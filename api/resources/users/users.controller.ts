import { Controller, Query, Req } from '@nestjs/common';
import { requireAdministrator } from '../../../engine/catalog/access.js';
import { removeUser } from '../../../engine/catalog/remove-user.js';
import type { UserFilter, UserRow } from '../../../engine/catalog/users.js';
import { Access, CurrentCaller, Resource } from '../../http/access.js';
import { AppContext } from '../../http/app-context.js';
import { omitUndefined, value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, paging } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { user } from './user.js';

/** The operation that confirms who the caller is. */
export const currentUserOperations = declareOperations('user', 'Users', {
  get: {
    method: 'GET',
    paths: ['/v1/user'],
    summary: 'Returns the current user with the account.',
    answer: user.schema,
  },
});

/** The operations on users. */
export const userOperations = declareOperations('users', 'Users', {
  list: {
    method: 'GET',
    paths: ['/v1/users'],
    summary: 'Lists the users of the account, removed ones too; for its administrators.',
    query: { email: 'Exact address, in any case.', ...paging },
    answer: { listOf: user.schema },
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
    return view(caller.user, caller, request);
  }

  @Operation(userOperations.list)
  @Access('read')
  async list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    const email = value(query, 'email');
    const filter = omitUndefined<UserFilter>({ accountId: caller.account.id, email });
    return answerList<UserRow>(request, query, {
      rows: (page) => this.context.catalog.users.list(filter, page),
      views: async (rows) => rows.map((row) => view(row, caller, request)),
    });
  }

  @Operation(userOperations.get)
  @Access('read', 'user')
  get(
    @Resource() row: UserRow,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): object {
    return view(row, caller, request);
  }

  @Operation(userOperations.delete)
  @Access('write', 'user', 'admin')
  async delete(
    @Resource() { id }: UserRow,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const removed = await this.context.catalog.transaction((tx) => removeUser(tx, id));
    return view(removed, caller, request);
  }
}

/** The JSON of a user of the caller's account. */
function view(row: UserRow, { account }: Caller, { origin }: ApiRequest): object {
  return user.view(row, { account, origin });
}
