import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { AppError, notFound } from '../../engine/core/errors.js';
import { accessKey, type AccessRule } from './access.js';
import { Authenticator } from './authenticator.js';
import { readId } from './form.js';
import { AppContext } from './app-context.js';
import type { ApiRequest } from './request.js';
import { requireResource } from './require-resource.js';

/** Authenticates the caller and applies the handler's access rule; a handler without a rule is refused. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly context: AppContext,
    private readonly authenticator: Authenticator,
  ) {}

  async canActivate(execution: ExecutionContext): Promise<boolean> {
    const request = execution.switchToHttp().getRequest<ApiRequest>();
    const rule: AccessRule | undefined = Reflect.getMetadata(accessKey, execution.getHandler());
    if (!rule) throw new AppError('forbidden', 'This route has no access rule.');
    if (rule.kind === 'public') {
      this.authenticator.admitAnyone(request);
      return true;
    }
    const caller = await this.authenticator.admit(request);
    if (rule.kind === 'resource') {
      const id = readId((request.params as Record<string, unknown>)['id']);
      if (id === undefined) throw notFound();
      const { catalog } = this.context;
      request.resource = await requireResource(catalog, caller, rule.resource, id, rule.level);
    }
    if (rule.scope === 'write' && caller.scope === 'read') {
      throw new AppError('forbidden', 'This token has the scope read; a change needs read write.');
    }
    return true;
  }
}
