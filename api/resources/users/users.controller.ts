import { Controller, Param, Req } from '@nestjs/common';
import { notFound } from '../../../engine/core/errors.js';
import { Access, CurrentCaller } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { userView } from '../views.js';

/** The people of the caller's account. */
@Controller()
export class UsersController {
  constructor(private readonly context: AppContext) {}

  @Operation('user.get')
  @Access('read')
  current(@CurrentCaller() caller: Caller, @Req() request: ApiRequest): object {
    return userView(caller.user, caller.account, request.origin);
  }

  @Operation('users.get')
  @Access('read')
  async get(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const user = await this.context.catalog.users.get(readId(id) ?? 0);
    // People of other accounts do not exist for this one.
    if (!user || user.accountId !== caller.account.id) throw notFound();
    return userView(user, caller.account, request.origin);
  }
}
