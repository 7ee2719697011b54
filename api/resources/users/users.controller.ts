import { Controller, Param, Req } from '@nestjs/common';
import { notFound } from '../../../engine/core/errors.js';
import { Access, CurrentCaller } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { user as declared } from './user.js';
import { currentUserOperations, userOperations } from './users.operations.js';

/** The people of the caller's account. */
@Controller()
export class UsersController {
  constructor(private readonly context: AppContext) {}

  @Operation(currentUserOperations.get)
  @Access('read')
  current(@CurrentCaller() caller: Caller, @Req() request: ApiRequest): object {
    return declared.view(caller.user, { account: caller.account, origin: request.origin });
  }

  @Operation(userOperations.get)
  @Access('read')
  async get(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const user = await this.context.catalog.users.get(readId(id) ?? 0);
    // A user of another account does not exist for this one.
    if (!user || user.accountId !== caller.account.id) throw notFound();
    return declared.view(user, { account: caller.account, origin: request.origin });
  }
}
