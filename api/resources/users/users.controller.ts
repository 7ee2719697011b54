import { Controller, Param, Req } from '@nestjs/common';
import { notFound } from '../../../engine/core/errors.js';
import { Access, CurrentCaller } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { user } from './user.js';
import { declareOperations } from '../../http/operation-row.js';

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
  get: {
    method: 'GET',
    paths: ['/v1/users/:id'],
    summary: 'Returns a user of the same account.',
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
    return user.view(caller.user, { account: caller.account, origin: request.origin });
  }

  @Operation(userOperations.get)
  @Access('read')
  async get(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const row = await this.context.catalog.users.get(readId(id) ?? 0);
    // A user of another account does not exist for this one.
    if (!row || row.accountId !== caller.account.id) throw notFound();
    return user.view(row, { account: caller.account, origin: request.origin });
  }
}
